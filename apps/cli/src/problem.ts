// What is wrong with an agent folder and did not stop the rest of it: one line each, told when it comes and not again.

import type { Diagnostic } from "@lichen/server";
import type { Level, Log } from "./log.ts";
import { oneLine } from "./printable.ts";

export function describeProblem({ severity, file, problem, fix }: Diagnostic): [Level, string] {
  return [severity === "error" ? "error" : "warn", oneLine(`${file}: ${problem}; ${fix}`, 1_000)];
}

/** Tells a person what is wrong, whoever finds it, once for as long as it stays. */
export class Problems {
  readonly #log: Log;
  #told: ReadonlySet<string> = new Set();

  constructor(log: Log) {
    this.#log = log;
  }

  /** `diagnostics` is all that is wrong now. */
  tell(diagnostics: readonly Diagnostic[]): void {
    const before = this.#told;
    const found = new Map(
      diagnostics.map((diagnostic) => [JSON.stringify(diagnostic), diagnostic]),
    );
    for (const [key, diagnostic] of found)
      if (!before.has(key)) this.#log(...describeProblem(diagnostic));
    if (before.size > 0 && found.size === 0) this.#log("info", "the folder is in order again");
    this.#told = new Set(found.keys());
  }
}
