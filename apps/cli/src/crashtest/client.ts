// The client of one life: makes the session, sends the prompt, allows whatever is asked (a question gets its first
// option), and tells the witness what it hears. All it sends has a request id of its own for ever, so that the client of
// a later life says the same again.

import type { Agent, Frame, Session } from "@lichen/runtime";
import { type Approval, approvalOf, canonicalJson, type Entry, known } from "@lichen/wire";
import type { Settlement } from "@lichen/wire";
import { questionsOf } from "../question.ts";
import type { Witness } from "./witness.ts";

/** The longest that one reading of a settlement waits. */
const waitMs = 1_000;

export interface ClientOptions {
  readonly agent: Agent;
  readonly session: string;
  readonly witness: Witness;
}

export class Client {
  readonly #options: ClientOptions;
  readonly #session: Session;
  readonly #asked = new Set<string>();
  #epoch = "";
  #failure: { readonly error: unknown } | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#session = options.agent.session(options.session);
  }

  get epoch(): string {
    return this.#epoch;
  }

  /** Asks for the prompt's settlement; undefined where there was none in time. */
  async prompt(text: string, limitMs: number): Promise<Settlement | undefined> {
    const { agent, session } = this.#options;
    const { info } = await agent.create({ requestId: "create", session });
    this.#epoch = info.epoch;
    this.#heard("create", { epoch: info.epoch });
    this.#session.observe({
      frame: (frame) => {
        this.#take(frame);
        return true;
      },
      end: () => undefined,
    });
    const { commandId } = await this.#session.send({ type: "prompt", requestId: "prompt", text });
    this.#heard("prompt", { commandId });
    if (commandId === undefined) throw new Error("A prompt's receipt names no command.");
    const deadline = performance.now() + limitMs;
    while (performance.now() < deadline) {
      if (this.#failure) throw this.#failure.error;
      const settlement = await this.#session.readSettlement(commandId, { timeoutMs: waitMs });
      if (settlement) return settlement;
    }
    return undefined;
  }

  /** The session's whole log, oldest first. */
  async entries(): Promise<Entry[]> {
    const pages: Entry[][] = [];
    for (let before: number | undefined; ;) {
      const { entries } = await this.#session.read(before === undefined ? {} : { before });
      const first = entries[0];
      if (first === undefined) break;
      pages.unshift(entries);
      if (first.seq === 1) break;
      before = first.seq;
    }
    return pages.flat();
  }

  #take(frame: Frame): void {
    if (frame.type === "entry") {
      this.#sawEntry(frame.data);
      const entry = known(frame.data);
      if (entry?.kind === "approval.asked") this.#allow(approvalOf(entry));
    } else if (frame.type === "baseline" || frame.type === "reset") {
      for (const entry of frame.data.entries) this.#sawEntry(entry);
      for (const approval of frame.data.approvals) this.#allow(approval);
    }
  }

  #sawEntry(entry: Entry): void {
    const { seq, kind } = entry;
    const { witness } = this.#options;
    witness.saw({ saw: "entry", epoch: this.#epoch, seq, kind, text: canonicalJson(entry) });
  }

  #allow(approval: Approval): void {
    const { approvalId, state } = approval;
    if (state !== "pending" || this.#asked.has(approvalId)) return;
    this.#asked.add(approvalId);
    const requestId = `answer:${approvalId}`;
    const questions = questionsOf(approval).map(
      ({ text, options }) => [text, options[0]?.label ?? "yes"] as const,
    );
    const answers = questions.length === 0 ? {} : { answers: Object.fromEntries(questions) };
    this.#session.send({ type: "answer", requestId, approvalId, allow: true, ...answers }).then(
      ({ status, entryId }) => this.#heard(requestId, { status, ...(entryId ? { entryId } : {}) }),
      (error: unknown) => (this.#failure ??= { error }),
    );
  }

  #heard(requestId: string, answer: object): void {
    this.#options.witness.saw({ saw: "receipt", requestId, answer: canonicalJson(answer) });
  }
}
