// The agent's own secrets: whether connections are given what stands in the file.

import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { type Check, fail } from "./check.ts";

/** None where there is no such file, or nobody else may read it. */
export async function checkSecrets(agentDir: string): Promise<Check[]> {
  const file = await lstat(join(agentDir, ".secrets", ".env")).catch(() => undefined);
  if (file === undefined || process.platform === "win32" || !file.isFile()) return [];
  if ((file.mode & 0o077) === 0) return [];
  return [
    fail(
      "secrets",
      ".secrets/.env can be read by other users, so that connections get nothing of it",
      "run `chmod 600 .secrets/.env` in the agent's folder",
    ),
  ];
}
