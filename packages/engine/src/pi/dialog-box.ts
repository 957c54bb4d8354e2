// The dialogs of a turn that wait for a person.
//
//   PI9  A dialog is answered once: by a person, by its own time, or by the end of its turn. Each is told to pi, and each
//        leaves no question behind. A turn that is stopped is stopped first: what only waited for its answer does not run.
//   PI25 Where the log cannot be written, pi is told nothing: it would go on.

import type { Run } from "@lichen/runtime";
import type { JsonObject } from "@lichen/wire";
import { isUnwritable } from "../harness/stopping.ts";
import type { Dialog } from "./codec.ts";
import { cancelled, optionalIn, questionOf, replyTo } from "./dialogs.ts";

/** Before pi's own time is over, so that no answer is taken that pi no longer waits for. */
const aheadMs = 100;

interface DialogHouse {
  tell(line: JsonObject): Promise<void>;
  after(ms: number, wake: () => void): () => void;
  report(error: unknown): void;
}

export class DialogBox {
  readonly #run: Run;
  readonly #house: DialogHouse;
  /** Settles when pi was told to stop, or is gone. */
  readonly #stopped = Promise.withResolvers<void>();
  readonly #open = new Map<string, { readonly dialog: Dialog; readonly done: Promise<void> }>();

  constructor(run: Run, house: DialogHouse) {
    this.#run = run;
    this.#house = house;
  }

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  open(dialog: Dialog): void {
    const done = this.#ask(dialog)
      .catch((error: unknown) => {
        if (!this.#run.signal.aborted) this.#house.report(error);
      })
      .finally(() => this.#open.delete(dialog.id));
    this.#open.set(dialog.id, { dialog, done });
  }

  /** pi is told to stop, or is gone: from now on a turn's end may take back its questions. */
  noteStopped(): void {
    this.#stopped.resolve();
  }

  /** Settles when none waits any more. */
  async decided(): Promise<void> {
    while (this.#open.size > 0) await Promise.all([...this.#open.values()].map(({ done }) => done));
  }

  /** Nobody waits for their answers any more. */
  async close(reason: string): Promise<void> {
    const open = [...this.#open.values()];
    for (const { dialog } of open)
      await this.#run.withdrawQuestion(keyOf(dialog), reason).catch(() => {});
    await Promise.all(open.map(({ done }) => done));
  }

  async #ask(dialog: Dialog): Promise<void> {
    const key = keyOf(dialog);
    const { timeoutMs } = dialog;
    const cancel =
      timeoutMs === undefined
        ? undefined
        : this.#house.after(Math.max(timeoutMs - aheadMs, timeoutMs / 2), () => {
            this.#run
              .withdrawQuestion(key, "pi waits no longer: the time of its dialog is over")
              .catch((error: unknown) => this.#house.report(error));
          });
    let reply = cancelled(dialog);
    try {
      const answer = await this.#run.ask({
        key,
        prompt: key,
        kind: "question",
        questions: [questionOf(dialog)],
        optional: optionalIn(dialog),
      });
      reply = replyTo(dialog, answer);
    } finally {
      cancel?.();
      if (this.#run.signal.aborted) await this.#stopped.promise;
      // One that is gone waits for nothing.
      if (!isUnwritable(this.#run.signal)) await this.#house.tell(reply).catch(() => {});
    }
  }
}

function keyOf({ id }: Dialog): string {
  return `ui-${id}`;
}
