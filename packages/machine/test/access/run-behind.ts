// Runs a script of the shell as a process of an agent.

import { spawn } from "node:child_process";
import type { MachineWall } from "../../src/access/index.ts";

export interface Said {
  readonly out: string;
  readonly code: number | null;
}

export function runBehind(
  wall: MachineWall,
  { id, dir, cwd = dir }: { readonly id: string; readonly dir: string; readonly cwd?: string },
  script: string,
): Promise<Said> {
  const walled = wall.around({ id, dir })(["sh", "-c", script]);
  const [file = "", ...argv] = walled.argv;
  const child = spawn(file, argv, { cwd, env: { PATH: process.env["PATH"] }, stdio: "pipe" });
  let out = "";
  for (const pipe of [child.stdout, child.stderr])
    pipe.on("data", (chunk: Buffer) => (out += chunk.toString()));
  return new Promise((resolve) => {
    child.on("close", (code) => {
      walled.release();
      resolve({ out, code });
    });
  });
}
