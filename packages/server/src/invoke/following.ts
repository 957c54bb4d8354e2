// Follows one command through its session's stream and hands its events to a sink at the sink's pace.
//
//   Frames go into an inbox that a slow sink fills to a bound; past it the session holds frames back, and what a reset
//   left out is read from the log page by page. Entries are taken by their seq, each once.
//   After the terminal event, or a close, nothing is delivered and the subscription is gone.

import type { Frame, Session, Subscription } from "@lichen/runtime";
import { type AgentEvent, type Baseline, type Entry, Fault, type Partial } from "@lichen/wire";
import { CommandEvents } from "./command-events.ts";
import { interruptedCode } from "./contract.ts";
import { stepOf } from "./step.ts";

export interface EventSink {
  /** Takes one event; must not throw. False: hold the next until `resume()`. */
  event(event: AgentEvent): boolean;
  /** After the terminal event. Not called when the caller left first. */
  end(): void;
}

type Item =
  | { readonly type: "entry"; readonly entry: Entry }
  | { readonly type: "partial"; readonly partial: Partial }
  /** Entries after `after` and before `before` that the stream did not bring. */
  | { readonly type: "gap"; readonly after: number; readonly before: number }
  | { readonly type: "cut"; readonly event: AgentEvent };

const inboxItems = 64;
const pageEntries = 200;

export class Following {
  readonly #session: Session;
  readonly #commandId: string;
  readonly #sink: EventSink;
  readonly #report: (error: unknown) => void;
  readonly #events = new CommandEvents();
  readonly #inbox: Item[] = [];
  readonly #outbox: AgentEvent[] = [];
  #subscription: Subscription | undefined;
  #epoch: string | undefined;
  /** The seq of the last entry that went into the inbox. */
  #seen = 0;
  #isOpen = true;
  #isTaken = true;
  /** Set while an item is being worked on, here or in an await. */
  #isWorking = false;
  #isHolding = false;

  constructor(
    session: Session,
    commandId: string,
    sink: EventSink,
    report: (error: unknown) => void,
  ) {
    this.#session = session;
    this.#commandId = commandId;
    this.#sink = sink;
    this.#report = report;
  }

  /**
   * Begins at the command's admission; for one that was admitted earlier (`replay`), with its settlement where it has
   * one. The command is taken by now, so a failure is an event.
   */
  async begin(replay: boolean): Promise<void> {
    try {
      if (replay && (await this.#settledBefore())) return;
      this.#observe(await this.#session.placeOf(this.#commandId));
    } catch (error) {
      this.#fail(error);
    }
  }

  resume(): void {
    this.#isTaken = true;
    this.#drain();
  }

  /** Ends delivery. Answers whether the command's end had been delivered. */
  close(): boolean {
    const wasOver = !this.#isOpen;
    this.#isOpen = false;
    this.#subscription?.close();
    this.#subscription = undefined;
    this.#inbox.length = 0;
    this.#outbox.length = 0;
    return wasOver;
  }

  #observe(after: { epoch: string; seq: number }): void {
    if (!this.#isOpen) return;
    this.#epoch = after.epoch;
    this.#seen = after.seq;
    const subscription = this.#session.observe(
      { frame: (frame) => this.#frame(frame), end: (reason) => this.#end(reason) },
      { after: `${after.epoch}.${after.seq}` },
    );
    // A short run can be over before `observe` returns.
    if (this.#isOpen) this.#subscription = subscription;
    else subscription.close();
  }

  async #settledBefore(): Promise<boolean> {
    const settlement = await this.#session.readSettlement(this.#commandId);
    if (!settlement) return false;
    const { terminal, answer, usage, diagnostic, retryable } = settlement;
    this.#outbox.push(
      ...this.#events.step({ type: "settled", terminal, answer, usage, diagnostic, retryable }),
    );
    this.#drain();
    return true;
  }

  #frame(frame: Frame): boolean {
    if (!this.#isOpen) return true;
    switch (frame.type) {
      case "baseline":
      case "reset":
        this.#baseline(frame.data);
        break;
      case "entry":
        this.#entry(frame.data);
        break;
      case "partial":
        this.#partial(frame.data);
        break;
      case "state":
        break;
    }
    this.#drain();
    this.#isHolding = this.#inbox.length >= inboxItems;
    return !this.#isHolding;
  }

  #baseline(baseline: Baseline): void {
    if (this.#epoch !== undefined && this.#epoch !== baseline.epoch) {
      this.#cut(
        "The session was deleted or restored from a backup: what became of this prompt is not known.",
        "stale",
      );
      return;
    }
    this.#epoch = baseline.epoch;
    const first = baseline.entries[0]?.seq ?? baseline.head + 1;
    if (first > this.#seen + 1) this.#inbox.push({ type: "gap", after: this.#seen, before: first });
    this.#seen = Math.max(this.#seen, first - 1);
    for (const entry of baseline.entries) this.#entry(entry);
    if (baseline.running?.partial) this.#partial(baseline.running.partial);
  }

  #entry(entry: Entry): void {
    if (entry.seq <= this.#seen) return;
    this.#seen = entry.seq;
    if (entry.commandId === this.#commandId) this.#inbox.push({ type: "entry", entry });
  }

  #partial(partial: Partial): void {
    if (partial.commandId !== this.#commandId) return;
    const last = this.#inbox.at(-1);
    // Each partial is the whole so far: while the sink is slow, the newest stands for those before it.
    if (last?.type === "partial")
      this.#inbox[this.#inbox.length - 1] = {
        type: "partial",
        partial: { ...last.partial, ...partial },
      };
    else this.#inbox.push({ type: "partial", partial });
  }

  #end(reason: "deleted" | "closed"): void {
    if (!this.#isOpen) return;
    if (reason === "deleted") this.#cut("The session was deleted.", "closed");
    else
      this.#cut(
        "The host is closing. The prompt is kept and goes on when the host opens again: ask for its settlement then.",
        interruptedCode,
      );
    this.#drain();
  }

  #cut(details: string, code: string): void {
    this.#inbox.push({ type: "cut", event: { type: "failed", details, retryable: false, code } });
  }

  /** Hands out what is ready, and works on the next item once everything before it was taken. */
  #drain(): void {
    if (this.#isWorking) return;
    this.#isWorking = true;
    while (this.#isOpen && this.#isTaken) {
      const event = this.#outbox.shift();
      if (event) {
        this.#deliver(event);
        continue;
      }
      const item = this.#inbox.shift();
      if (!item) break;
      const work = this.#take(item);
      if (!work) continue;
      void work.then(
        () => this.#worked(),
        (error: unknown) => this.#fail(error),
      );
      return;
    }
    this.#isWorking = false;
    if (this.#isHolding && this.#inbox.length < inboxItems) {
      this.#isHolding = false;
      this.#subscription?.resume();
    }
  }

  #worked(): void {
    this.#isWorking = false;
    this.#drain();
  }

  #deliver(event: AgentEvent): void {
    this.#isTaken = this.#sink.event(event);
    if (event.type !== "completed" && event.type !== "failed") return;
    if (!this.close()) this.#sink.end();
  }

  #take(item: Item): Promise<void> | undefined {
    switch (item.type) {
      case "partial":
        this.#outbox.push(...this.#events.partial(item.partial));
        return undefined;
      case "entry": {
        const step = stepOf(item.entry, (sha256) => this.#session.blob(sha256));
        if (step instanceof Promise)
          return step.then((whole) => void this.#outbox.push(...this.#events.step(whole)));
        if (step) this.#outbox.push(...this.#events.step(step));
        return undefined;
      }
      case "gap":
        return this.#readGap(item.after, item.before);
      case "cut":
        this.#outbox.push(item.event);
        return undefined;
    }
  }

  /** Puts the oldest page of the gap before everything that waits. */
  async #readGap(after: number, before: number): Promise<void> {
    let end = Math.min(before, after + 1 + pageEntries);
    let page: Baseline;
    // A page is cut at 1 MiB from its old end: ask for less until it begins where the gap does.
    for (;;) {
      page = await this.#session.read({ limit: pageEntries, before: end });
      if (page.epoch !== this.#epoch)
        throw new Fault("stale", "The session is another one now than when the prompt was sent.");
      const first = page.entries[0]?.seq;
      if (first === undefined || first <= after + 1) break;
      end = first;
    }
    const items: Item[] = page.entries
      .filter((entry) => entry.seq > after && entry.commandId === this.#commandId)
      .map((entry) => ({ type: "entry", entry }));
    if (end < before) items.push({ type: "gap", after: end - 1, before });
    this.#inbox.unshift(...items);
  }

  #fail(error: unknown): void {
    this.#isWorking = false;
    if (!this.#isOpen) return;
    this.#inbox.length = 0;
    if (Fault.is(error)) this.#cut(error.message, error.code);
    else {
      this.#report(error);
      this.#cut("The prompt was taken, but following it failed inside the host.", "internal");
    }
    this.#drain();
  }
}
