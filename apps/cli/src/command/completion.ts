// `lichen completion`: the script that makes a shell's Tab key ask lichen what can come next. What is offered stands in the
// table of commands alone, so a script is right for every later version too.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type Input, UsageError } from "../command.ts";
import { nearest } from "@lichen/server/nearest";
import type { Terminal } from "../terminal.ts";

const shells = ["bash", "zsh", "fish"];

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const shell = input.argument("shell") ?? "";
  if (!shells.includes(shell)) {
    const meant = nearest(shell, shells);
    const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
    throw new UsageError(
      `completion: <shell> is bash, zsh or fish, not "${shell}"${hint}`,
      "completion",
    );
  }
  const script = fileURLToPath(import.meta.resolve(`../completion/lichen.${shell}`));
  terminal.answer(await readFile(script, "utf8"));
  return 0;
}
