// Kills a host of these tests in the middle of its work.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Rig } from "./rig.ts";

/** Prompts the rig's agent in a host of its own, which is killed at this moment. */
export async function killInMidRun(
  rig: Rig,
  moment: "process" | "prompt" | "joined",
  ...lines: string[]
): Promise<void> {
  const program = join(import.meta.dirname, "killed-host.ts");
  const child = spawn(process.execPath, [program, rig.folder, moment, lines.join("\n")], {
    env: { PATH: process.env["PATH"] ?? "", HOME: rig.folder },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [, signal] = await once(child, "exit");
  if (signal !== "SIGKILL") throw new Error("The host ended before it was killed.");
}
