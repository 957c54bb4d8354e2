// Processes of a machine's sessions, as the computer shows them.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The processes that were told to be this session. */
export function processesOf(id: string): string[] {
  return readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false;
    try {
      return readFileSync(join("/proc", pid, "environ"), "latin1").includes(
        `LICHEN_SESSION=${id}\0`,
      );
    } catch {
      // It ended, or is not ours.
      return false;
    }
  });
}
