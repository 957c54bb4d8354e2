// Ends a harness's process group that was recorded, and what left it, also one that an earlier host left behind.
//
//   HK2  A group is killed only where boot, number and start time are those that were recorded.
//   HK3  It settles once nothing of the group runs, nor anything that carries its mark.

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
    const left = membersOf(await processes(), group, mark);
    if (left.length === 0) return;
    if (performance.now() > end)
      throw new Error(
        `Process group ${group.group} of a coding agent could not be ended: ${left.length} of its processes still run. End them, then try again.`,
      );
    for (const { pid } of left) kill(pid);
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

function membersOf(all: readonly ProcessInfo[], group: GroupIdentity, mark: string) {
  const leader = all.find(({ pid }) => pid === group.group);
  // A number is not given out again while a group of it lives, so a leader of that start still leads its own.
  const isOurs = leader?.startedAt === group.startedAt;
  return all.filter(
    (one) =>
      !one.isDead &&
      one.pid !== process.pid &&
      ((isOurs && one.group === group.group) || isMarked(one.pid, mark)),
  );
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
