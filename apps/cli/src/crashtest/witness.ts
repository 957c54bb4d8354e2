// The witness: what the outside world saw of the lives of one copy, in a file that outlives each of them.
//
// A line stands in the file before its writer does anything else, so that a SIGKILL in the next instant loses none.

import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import type { Label } from "@lichen/wire";

export type Seen =
  /** A command was answered. `answer` is the same for every answer to the same request. */
  | { readonly saw: "receipt"; readonly requestId: string; readonly answer: string }
  /** An entry was delivered. */
  | {
      readonly saw: "entry";
      readonly epoch: string;
      readonly seq: number;
      readonly kind: string;
      readonly text: string;
    }
  | ({ readonly saw: "effect" } & EffectName & {
        readonly label: Label;
        readonly replaySafe: boolean;
      })
  /** The tool's function ended. `hasChanged`: it had ended before, and this time the folder was another one afterwards. */
  | ({ readonly saw: "return" } & EffectName & { readonly hasChanged: boolean });

interface EffectName {
  /** The call's own key. */
  readonly call: string;
  readonly tool: string;
}

export class Witness {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, "a", 0o600);
  }

  saw(seen: Seen): void {
    writeSync(this.#file, `${JSON.stringify(seen)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}

/** All that was seen, in its order. A last line that its writer died in was not seen. */
export function readWitness(path: string): Seen[] {
  const lines = readFileSync(path, { encoding: "utf8", flag: "a+" }).split("\n");
  return lines.slice(0, -1).map((line) => JSON.parse(line) as Seen);
}
