// Kills a host of these tests in the middle of its work.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { RealName } from "./real.ts";
import type { Rig } from "./rig.ts";

/**
 * Prompts the rig's agent in a host of its own, which is killed at this moment (see `killed-host.ts`); without lines it
 * goes on with what an earlier one left.
 */
export function killInMidRun(rig: Rig, moment: string, ...lines: string[]): Promise<void> {
  return kill([rig.folder, moment, lines.join("\n")], rig.folder);
}

/** The same of a real agent, whose provider is at `url`. */
export function killRealInMidRun(
  rig: Rig,
  moment: string,
  { prompt, agent, url }: { prompt: string; agent: RealName; url: string },
): Promise<void> {
  return kill([rig.folder, moment, prompt, agent, url], rig.folder);
}

async function kill(args: readonly string[], home: string): Promise<void> {
  const program = join(import.meta.dirname, "killed-host.ts");
  const child = spawn(process.execPath, [program, ...args], {
    env: { PATH: process.env["PATH"] ?? "", HOME: home },
    stdio: ["ignore", "inherit", "inherit"],
  });
  const [, signal] = await once(child, "exit");
  if (signal !== "SIGKILL") throw new Error("The host ended before it was killed.");
}
