// An approval on its way to be whole, as a panel shows it: read, or why not.

import type { Approval } from "@lichen/wire";
import { isWhole, type ReadBlob, wholeApproval } from "../../whole-approval.ts";

export class Whole {
  readonly #given: Approval;
  readonly #blob: ReadBlob;
  readonly #changed: () => void;
  #approval: Approval | undefined;
  #trouble: string | undefined;

  /** Reads at once where something is to be read; `changed` is told when that ended, either way. */
  constructor(given: Approval, blob: ReadBlob, changed: () => void) {
    this.#given = given;
    this.#blob = blob;
    this.#changed = changed;
    if (isWhole(given)) this.#approval = given;
    else this.read();
  }

  /** Undefined until it is whole. */
  get approval(): Approval | undefined {
    return this.#approval;
  }

  /** Why it is not whole, as a sentence; undefined while it is being read. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Reads again what could not be read. */
  read(): void {
    this.#trouble = undefined;
    const end = (approval: Approval | undefined, trouble: string | undefined): void => {
      this.#approval = approval;
      this.#trouble = trouble;
      this.#changed();
    };
    wholeApproval(this.#given, this.#blob).then(
      (approval) => end(approval, undefined),
      (error: unknown) => end(undefined, error instanceof Error ? error.message : String(error)),
    );
  }
}
