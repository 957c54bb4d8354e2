// Where this computer's machine keeps its state.

import { join, resolve } from "node:path";
import { hostsDir } from "@lichen/server/node";
import type { Input } from "../command.ts";

/** `--state`, else LICHEN_STATE_DIR, else `machine` beside the states of this user's hosts. Touches no disk. */
export function machineDirOf(input: Pick<Input, "value">): string {
  const named = input.value("state") ?? process.env["LICHEN_STATE_DIR"];
  return named !== undefined && named !== "" ? resolve(named) : join(hostsDir(), "machine");
}
