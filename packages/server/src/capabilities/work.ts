// What is being done so that one capability is as it is declared.

import type { Diagnostic } from "../folder/definition.ts";

export class Work {
  /** How the capability is declared; empty where it is not. */
  readonly text: string;
  /** Never rejects. */
  readonly done: Promise<void>;
  /** What could not be done; until it is over, what could not the last time. */
  wrong: readonly Diagnostic[];
  /** A turn has waited for it in vain: the next ones do not. */
  isGivenUp: boolean;
  #isOver = false;

  /** `begin` is called once this is made, and never rejects. */
  constructor(
    text: string,
    begin: () => Promise<readonly Diagnostic[]>,
    last: Pick<Work, "wrong" | "isGivenUp"> = { wrong: [], isGivenUp: false },
  ) {
    this.text = text;
    this.wrong = last.wrong;
    this.isGivenUp = last.isGivenUp;
    this.done = Promise.resolve()
      .then(begin)
      .then((wrong) => {
        this.wrong = wrong;
        this.#isOver = true;
      });
  }

  get isOver(): boolean {
    return this.#isOver;
  }
}
