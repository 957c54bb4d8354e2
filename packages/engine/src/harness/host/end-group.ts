// Ends a harness's process group that was recorded, and what left it, also one that an earlier host left behind.
//
//   HK2  A group is killed only where boot, number and start time are those that were recorded.
//   HK3  It settles once nothing of the group runs, nor what began from it, nor anything that carries its mark.
//
// Elsewhere than on Linux marks cannot be read. What is lost there: what has left the group and whose parent is gone; and
// the rest of a group whose leader is gone, since its number alone does not say that it is still the same.

import type { EntryData } from "@lichen/wire";
import { bootId, isMarked, type ProcessInfo, processes } from "./processes.ts";

export type GroupIdentity = EntryData["harness.process"];

const goneMs = 5_000;
const lookMs = 10;

/**
 * Kills the group and waits until it is gone. `mark`: processes that carry it belong to the harness too, wherever they
 * have gone to. Throws where something of it still runs after five seconds.
 */
export async function endGroup(group: GroupIdentity, mark: string): Promise<void> {
  if ((await bootId()) !== group.boot) return;
  const end = performance.now() + goneMs;
  for (;;) {
    const isLate = performance.now() > end;
    // Without a file handle to look with, one may be free in a moment.
    const all = await processes().catch((error: unknown) => {
      if (isLate) throw error;
      return undefined;
    });
    const left = all && membersOf(all, group, mark);
    if (left?.length === 0) return;
    if (left && isLate)
      throw new Error(
        `Process group ${group.group} of a coding agent could not be ended: ${left.length} of its processes still run. End them, then try again.`,
      );
    for (const { pid } of left ?? []) kill(pid);
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

/** @internal Exported for its tests. */
export function membersOf(
  all: readonly ProcessInfo[],
  group: GroupIdentity,
  mark: string,
): ProcessInfo[] {
  const leader = all.find(({ pid }) => pid === group.group);
  // A number is not given out again while a group of it lives, so a leader of that start still leads its own.
  const isOurs = leader?.startedAt === group.startedAt;
  const living = all.filter((one) => !one.isDead && one.pid !== process.pid);
  const members = new Map<number, ProcessInfo>();
  for (const one of living)
    if ((isOurs && one.group === group.group) || isMarked(one.pid, mark)) members.set(one.pid, one);
  for (let known = -1; known < members.size;) {
    known = members.size;
    for (const one of living) if (members.has(one.parent)) members.set(one.pid, one);
  }
  return [...members.values()];
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
