// One session as it is followed: the view of it now, older pages on demand, and whether it exists yet.
//
//   A session comes to be with its first message: until then there is nothing to watch, and that is no fault.

import { type Session, type View, ViewFold } from "@lichen/client";
import { Fault } from "@lichen/wire";

export type Standing = "opening" | "absent" | "open" | "deleted" | "refused";

export class Following {
  readonly session: Session;
  readonly #changed: () => void;
  readonly #fold = new ViewFold();
  readonly #end = new AbortController();
  #begun = Promise.withResolvers<void>();
  #earlier: Promise<void> | undefined;
  #standing: Standing = "opening";
  #refusal: string | undefined;
  #outage: View["outage"];
  readonly #opened = Promise.withResolvers<void>();
  /** Settles when nothing is followed any more. */
  readonly ended: Promise<void>;

  constructor(session: Session, changed: () => void) {
    this.session = session;
    this.#changed = changed;
    this.ended = this.#follow();
  }

  get view(): View | undefined {
    return this.#fold.view;
  }

  /** Since when the connection is gone, also where there is no view yet. */
  get outage(): View["outage"] {
    return this.#outage;
  }

  get standing(): Standing {
    return this.#standing;
  }

  /** Why the session cannot be followed, where it was refused. */
  get refusal(): string | undefined {
    return this.#refusal;
  }

  /** Settles when it is known whether the session exists, and how it stands. */
  get opened(): Promise<void> {
    return this.#opened.promise;
  }

  get isLoading(): boolean {
    return this.#earlier !== undefined;
  }

  /** The session may exist by now: a message was accepted into it. */
  begin(): void {
    this.#begun.resolve();
  }

  /** The whole text of a command that waits or was cancelled, as its entry holds it. */
  queuedEntry(commandId: string) {
    return this.#fold.entries.findLast(
      (entry) => entry.kind === "command.queued" && entry.commandId === commandId,
    );
  }

  /** Takes in the page before the oldest entry that is known; calls that come together share one. */
  loadEarlier(): Promise<void> {
    return (this.#earlier ??= this.#readEarlier().finally(() => {
      this.#earlier = undefined;
    }));
  }

  /** Loads older pages until the entry at `seq` is known, or there are none: at most `pages` of them. */
  async reach(seq: number, pages: number): Promise<boolean> {
    for (let page = 0; page < pages; page++) {
      if ((this.#fold.entries[0]?.seq ?? 0) <= seq) return true;
      if (this.view?.more !== true) return false;
      await this.loadEarlier();
    }
    return (this.#fold.entries[0]?.seq ?? 0) <= seq;
  }

  close(): Promise<void> {
    this.#end.abort();
    this.#begun.resolve();
    this.#opened.resolve();
    return this.ended;
  }

  async #readEarlier(): Promise<void> {
    const oldest = this.#fold.entries[0]?.seq;
    if (oldest === undefined || this.view?.more !== true) return;
    this.#fold.earlier(await this.session.read({ limit: 200, before: oldest }));
    this.#changed();
  }

  async #follow(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        for await (const frame of this.session.watch({ signal })) {
          this.#fold.take(frame);
          if (frame.type === "outage")
            this.#outage = { since: frame.data.since, reason: frame.data.reason.message };
          else {
            this.#outage = undefined;
            this.#stand("open");
          }
          this.#changed();
        }
        if (!signal.aborted) this.#stand("deleted");
        return;
      } catch (error) {
        if (signal.aborted) return;
        if (!Fault.is(error) || error.code !== "unknown_session") {
          this.#refusal = error instanceof Error ? error.message : String(error);
          this.#stand("refused");
          if (!Fault.is(error)) throw error;
          return;
        }
      }
      this.#outage = undefined;
      this.#stand("absent");
      await this.#begun.promise;
      this.#begun = Promise.withResolvers();
    }
  }

  #stand(standing: Standing): void {
    this.#opened.resolve();
    if (this.#standing === standing) return;
    this.#standing = standing;
    this.#changed();
  }
}
