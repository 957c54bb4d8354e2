// Ends processes of a session that its store does not know any more, by the session that they were told to be. Only Linux
// tells of that; elsewhere they have lost their input with their machine, and end by that.

import { readdir, readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";

const lookMs = 10;
const goneMs = 5_000;

/** Settles when none runs. Throws where one still does after five seconds. */
export async function endProcessesOf(session: string): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += lookMs) {
    const left = await processesOf(session);
    if (left.length === 0) return;
    if (waitedMs >= goneMs)
      throw new Error(
        `${left.length} processes of session ${session}, which was deleted, could not be ended: end them, then start again.`,
      );
    for (const pid of left) kill(pid);
    await wait(lookMs);
  }
}

async function processesOf(session: string): Promise<number[]> {
  const names = await readdir("/proc").catch(() => []);
  const found = await Promise.all(
    names.map(async (name) => {
      if (!/^\d+$/.test(name)) return [];
      const environment = await readFile(`/proc/${name}/environ`, "latin1").catch(() => "");
      return environment.split("\0").includes(`LICHEN_SESSION=${session}`) ? [Number(name)] : [];
    }),
  );
  return found.flat();
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}
