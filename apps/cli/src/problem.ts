// One line for something that is wrong with an agent folder and did not stop the rest of it.

import type { Diagnostic } from "@lichen/server";
import type { Level } from "./log.ts";
import { oneLine } from "./printable.ts";

export function describeProblem({ severity, file, problem, fix }: Diagnostic): [Level, string] {
  return [severity === "error" ? "error" : "warn", oneLine(`${file}: ${problem}; ${fix}`, 1_000)];
}
