// What the agent asks a person: asked in its run, answered, withdrawn when nobody needs the answer any more.
//
//   - Auto-approve answers permissions that have an obvious answer, also those that wait when it is switched on; never a
//     choice and never a form.
//   - What was said before stands in the log before it.
//   - An answer goes out only once what follows from it is durable.

import type {
  CreateElicitationResponse,
  RequestPermissionOutcome,
  RequestPermissionRequest,
} from "@agentclientprotocol/sdk";
import type { Answer, Question, Run } from "@lichen/runtime";
import { Json, type JsonObject } from "@lichen/wire";
import { inputOf, type KnownCall, nameOf } from "./call-text.ts";
import { filledIn, formOf, optionalIn, questionsOf } from "./elicitation.ts";
import { lineOf } from "./message.ts";
import {
  approvedOnce,
  choiceOf,
  type Decision,
  decisionOf,
  isAllowing,
  isChoice,
  lastingOf,
  outcomeOfAnswer,
  questionsIn,
  refuseEdits,
} from "./permission.ts";
import type { Turn } from "./turn.ts";
import { callOf } from "./wire.ts";

/** A request of the agent's: its own name, and when it needs no answer any more. */
export interface AskRequest {
  readonly prompt: string;
  /** Its line for the log, by which it is shown to people: taken where it has an answer, or is asked. */
  readonly line: () => JsonObject;
  readonly signal: AbortSignal;
}

interface Pending {
  readonly run: Run;
  readonly key: string;
  /** The call that permission is asked for. */
  readonly callId?: string;
  /** Of a permission that auto-approve may give. */
  readonly canApprove: boolean;
  isApproved: boolean;
}

const cancelled: RequestPermissionOutcome = { outcome: "cancelled" };

export class Asks {
  readonly #isAutomatic: () => boolean;
  readonly #pending = new Set<Pending>();

  constructor(isAutomatic: () => boolean) {
    this.#isAutomatic = isAutomatic;
  }

  get isWaiting(): boolean {
    return this.#pending.size > 0;
  }

  async permission(
    turn: Turn,
    request: RequestPermissionRequest,
    how: AskRequest,
  ): Promise<Decision> {
    const news = callOf(request.toolCall);
    const asked = news && (await turn.calls.asked(news));
    turn.endMessage("stop");
    await turn.recorder.durable();
    const { by, wasAsked, ...decision } = await this.#decide(turn, request, how, asked);
    const callId = request.toolCall.toolCallId;
    const isAllowed = isAllowing(decision.outcome, request.options);
    if (!isAllowed) turn.calls.denied(callId);
    // With its answer, so that it is never shown without.
    if (by !== undefined && !wasAsked) turn.line(how.line());
    turn.recorder.record(lineOf(answerLine(how, Json.parse(decision), by)));
    await turn.recorder.durable();
    // Its intent comes after the line of the answer: of what has none in the log nothing was done.
    if (isAllowed) await turn.calls.allowed(callId);
    return decision;
  }

  async #decide(
    turn: Turn,
    { options, toolCall }: RequestPermissionRequest,
    how: AskRequest,
    asked: { readonly known: KnownCall; readonly place?: object } | undefined,
  ): Promise<Decision & { readonly by?: string; readonly wasAsked?: boolean }> {
    const title = asked?.known.title ?? toolCall.title ?? "";
    const questions = questionsIn(asked?.known.input);
    const automatic = questions ? undefined : approvedOnce(options);
    if (automatic && this.#isAutomatic()) return { outcome: automatic, by: "auto-approve" };
    const { answer, isApproved } = await this.#ask(
      turn,
      how,
      { callId: toolCall.toolCallId, canApprove: automatic !== undefined },
      {
        ...(questions || isChoice(options)
          ? {
              kind: "question",
              questions: (questions ?? choiceOf(title, options)).map((it) => Json.parse(it)),
            }
          : {
              kind: "tool",
              ...(asked ? { tool: nameOf(asked.known), input: inputOf(asked.known) } : {}),
              suggestions: lastingOf(options),
              check: refuseEdits,
            }),
        ...asked?.place,
        ...(title ? { description: title } : {}),
      },
    );
    if (isApproved && automatic) return { outcome: automatic, by: "auto-approve", wasAsked: true };
    if (!answer) return { outcome: cancelled };
    if (questions) return decisionOf(questions, answer, options);
    return { outcome: outcomeOfAnswer(answer, options, title) };
  }

  /** A form to fill in. */
  async form(turn: Turn, request: unknown, how: AskRequest): Promise<CreateElicitationResponse> {
    const form = formOf(request);
    // Only forms are asked for: what else comes has nobody who could answer it.
    if (!form) return { action: "decline" };
    turn.endMessage("stop");
    await turn.recorder.durable();
    const { answer } = await this.#ask(
      turn,
      how,
      { canApprove: false },
      {
        kind: "question",
        description: form.message,
        questions: questionsOf(form),
        optional: optionalIn(form),
      },
    );
    const filled: CreateElicitationResponse = answer
      ? filledIn(form, answer)
      : { action: "cancel" };
    turn.recorder.record(lineOf(answerLine(how, Json.parse(filled))));
    await turn.recorder.durable();
    return filled;
  }

  /** Settings have changed: permissions that wait are given where they are given without asking from now on. */
  async settingsChanged(): Promise<void> {
    if (!this.#isAutomatic()) return;
    const now = [...this.#pending].filter((it) => it.canApprove);
    for (const it of now) it.isApproved = true;
    await this.#withdraw(now, "auto-approve was switched on");
  }

  /** The agent went on with a call, or gave it up: permission is asked for no more. */
  callEnded(callId: string): void {
    const about = [...this.#pending].filter((it) => it.callId === callId);
    if (about.length > 0) void this.#withdraw(about, "the agent ended the call");
  }

  /** Nobody waits for an answer any more. */
  withdrawAll(reason: string): Promise<void> {
    return this.#withdraw([...this.#pending], reason);
  }

  async #withdraw(which: readonly Pending[], reason: string): Promise<void> {
    // A run that has ended withdrew them itself.
    await Promise.all(
      which.map((it) => it.run.withdrawQuestion(it.key, reason).catch(() => undefined)),
    );
  }

  async #ask(
    { run }: Turn,
    { prompt, signal, line }: AskRequest,
    about: Pick<Pending, "callId" | "canApprove">,
    question: Omit<Question, "key" | "prompt">,
  ): Promise<{ readonly answer?: Answer; readonly isApproved: boolean }> {
    const pending: Pending = { run, key: prompt, ...about, isApproved: false };
    if (signal.aborted) return { isApproved: false };
    this.#pending.add(pending);
    const withdraw = (): void => void this.#withdraw([pending], "the agent needs it no more");
    signal.addEventListener("abort", withdraw, { once: true });
    try {
      const answer = await run.ask({
        ...{ ...question, key: prompt, prompt },
        line: lineOf(line()).data,
      });
      return { answer, isApproved: pending.isApproved && answer.outcome === "withdrawn" };
    } catch (error) {
      // The run was stopped: the agent is told that its request is cancelled.
      if (run.signal.aborted) return { isApproved: false };
      throw error;
    } finally {
      signal.removeEventListener("abort", withdraw);
      this.#pending.delete(pending);
    }
  }
}

function answerLine({ prompt }: AskRequest, result: Json, by?: string): JsonObject {
  return { jsonrpc: "2.0", result, _meta: { prompt, ...(by ? { by } : {}) } };
}
