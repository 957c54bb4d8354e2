// Kills a host of the tests in the middle of its work.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";

/** Runs a program of this folder on the store, and kills it as soon as it says anything on stdout. */
export async function killInMidRun(program: string, store: string, url: string): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, program), store, url], {
    env: { PATH: process.env["PATH"] ?? "", HOME: dirname(store) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  await Promise.race([once(child.stdout, "data"), exited]);
  child.kill("SIGKILL");
  const [, signal] = await exited;
  if (signal !== "SIGKILL") throw new Error("The host ended before it was killed.");
}
