// One message to an agent, followed to its settlement.
//
//   The prompt is admitted once; the caller's signal cancels the command and still waits for how it ended.
//   A question to a person is put to the one at this terminal; where nobody can be asked, the caller is told. That
//   of a run which stands before this one counts as well, since this one waits for it.

import { type Frame, isReadable, type Session, settled } from "@lichen/client";
import { type Approval, approvalOf, Fault, known, type Settlement } from "@lichen/wire";
import type { Decision } from "./question.ts";
import type { RunView } from "./run-view.ts";

export interface Question {
  readonly text: string;
  readonly requestId: string;
  /** Aborted by the caller: cancels the command. */
  readonly cancel: AbortSignal;
  /** Told when the message is admitted. */
  readonly onAccepted?: (commandId: string) => void;
}

/** What a person says to an approval; undefined where nobody can be asked here. */
export type Decide = (
  approval: Approval,
  withdrawn: AbortSignal,
  /** A run asks that stands before the one that is followed. */
  isEarlier: boolean,
) => Promise<Decision | undefined>;

export type Asked =
  | { readonly outcome: "settled"; readonly settlement: Settlement }
  /** The run waits for a person who is not here. */
  | { readonly outcome: "waiting"; readonly approval: Approval };

export async function ask(
  session: Session,
  question: Question,
  view: RunView,
  decide: Decide,
): Promise<Asked> {
  const { requestId, text } = question;
  const receipt = await session.send({ type: "prompt", requestId, text });
  const { commandId } = receipt;
  if (commandId === undefined) throw new Error("A prompt's receipt names no command.");
  question.onAccepted?.(commandId);
  return attend(session, { commandId, cancel: question.cancel }, view, decide);
}

/** Follows a command that was admitted to its settlement, and puts what it or a run before it asks to a person. */
export async function attend(
  session: Session,
  { commandId, cancel }: { readonly commandId: string; readonly cancel: AbortSignal },
  view: RunView,
  decide: Decide,
): Promise<Asked> {
  const asking = new Asking(session, commandId, view, decide);
  const stop = () => asking.attempt(asking.cancel());
  if (cancel.aborted) stop();
  else cancel.addEventListener("abort", stop, { once: true });
  try {
    return await asking.follow();
  } finally {
    cancel.removeEventListener("abort", stop);
  }
}

class Asking {
  readonly #session: Session;
  readonly #commandId: string;
  readonly #view: RunView;
  readonly #decide: Decide;
  readonly #over = new AbortController();
  readonly #open = new Map<string, AbortController>();
  #end: Asked | undefined;
  #failure: { error: unknown } | undefined;

  constructor(session: Session, commandId: string, view: RunView, decide: Decide) {
    this.#session = session;
    this.#commandId = commandId;
    this.#view = view;
    this.#decide = decide;
  }

  async cancel(): Promise<void> {
    const requestId = `cancel:${this.#commandId}`;
    await this.#session.send({ type: "cancel", requestId, commandId: this.#commandId });
  }

  async follow(): Promise<Asked> {
    try {
      for await (const frame of this.#session.watch({ signal: this.#over.signal })) {
        if (await this.#isLast(frame)) break;
      }
    } catch (error) {
      if (!this.#over.signal.aborted) throw error;
    } finally {
      for (const question of this.#open.values()) question.abort();
    }
    if (this.#failure !== undefined) throw this.#failure.error;
    return (
      this.#end ?? { outcome: "settled", settlement: await settled(this.#session, this.#commandId) }
    );
  }

  /** Runs work beside the watch; its failure ends the watch and is thrown there. */
  attempt(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#failure ??= { error };
      this.#over.abort();
    });
  }

  async #isLast(frame: Frame): Promise<boolean> {
    switch (frame.type) {
      case "baseline":
      case "reset": {
        for (const entry of frame.data.entries) this.#view.entry(entry);
        const { running, approvals, pending } = frame.data;
        if (running?.partial !== undefined) this.#view.partial(running.partial);
        for (const approval of approvals) this.#ask(approval);
        const isOpen =
          running?.commandId === this.#commandId ||
          pending.some((command) => command.commandId === this.#commandId);
        return !isOpen && (await this.#session.readSettlement(this.#commandId)) !== undefined;
      }
      case "partial":
        this.#view.partial(frame.data);
        return false;
      case "state":
      case "outage":
      case "back":
        return false;
      case "entry": {
        this.#view.entry(frame.data);
        const entry = isReadable(frame.data) ? known(frame.data) : undefined;
        if (entry === undefined) return false;
        if (entry.kind === "approval.asked") this.#ask(approvalOf(entry));
        if (
          entry.kind === "approval.answered" ||
          entry.kind === "approval.withdrawn" ||
          entry.kind === "approval.expired"
        )
          this.#open.get(entry.data.approvalId)?.abort();
        return entry.kind === "run.settled" && entry.commandId === this.#commandId;
      }
    }
  }

  #ask(approval: Approval): void {
    // While this command is open, a run of the session that waits is its own or stands before it.
    if (approval.state !== "pending" || this.#open.has(approval.approvalId)) return;
    const withdrawn = new AbortController();
    this.#open.set(approval.approvalId, withdrawn);
    this.attempt(this.#answer(approval, withdrawn.signal));
  }

  async #answer(approval: Approval, withdrawn: AbortSignal): Promise<void> {
    const isEarlier = approval.commandId !== this.#commandId;
    const decision = await this.#decide(approval, withdrawn, isEarlier);
    if (withdrawn.aborted) return;
    if (decision === undefined) {
      this.#end = { outcome: "waiting", approval };
      this.#over.abort();
      return;
    }
    const { approvalId } = approval;
    const requestId = `answer:${approvalId}`;
    try {
      await this.#session.send({ type: "answer", requestId, approvalId, ...decision });
    } catch (error) {
      // What was said is no answer to it: it goes on waiting for one.
      if (!Fault.is(error) || error.code !== "invalid") throw error;
      this.#view.tell(error.message);
      return this.#answer(approval, withdrawn);
    }
  }
}
