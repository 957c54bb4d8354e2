// The calls of a session and how each stands: told by a message, an approval, a start and an outcome, in any part.

import { type Entry, known } from "@lichen/wire";
import { isReadable } from "../stream/read-entry.ts";
import { innerEnded, innerStarted, withInner } from "./inner-calls.ts";
import type { CallView, InnerCallView, QuestionView } from "./view.ts";

/** What became other by an entry. */
export type Change =
  | { readonly assistant: string; readonly call: CallView }
  | { readonly question: QuestionView };

interface Asked {
  readonly assistant: string;
  readonly index: number;
  readonly ordinal: number | undefined;
}

type InnerPlace = Asked & { readonly ordinal: number };

/** What an approval says of what it is about. */
type Decided = Partial<Pick<CallView, "approvalId" | "state" | "input" | "isEdited" | "name">> &
  Partial<Pick<InnerCallView, "operation">>;

export class Calls {
  readonly #calls = new Map<string, CallView>();
  /** Which call an approval is about; with an ordinal one of those that it makes. */
  readonly #asked = new Map<string, Asked>();
  readonly #questions = new Map<string, QuestionView>();

  get(assistant: string, index: number): CallView | undefined {
    return this.#calls.get(keyOf(assistant, index));
  }

  question(approvalId: string): QuestionView | undefined {
    return this.#questions.get(approvalId);
  }

  /** What an entry says of calls and questions. */
  take(recorded: Entry): Change[] {
    const entry = known(recorded);
    if (!entry || !isReadable(recorded)) return [];
    switch (entry.kind) {
      case "message.assistant":
        return entry.data.content.flatMap((block) =>
          block.type === "call"
            ? [
                this.#set(entry.id, block.index, {
                  callId: block.callId,
                  name: block.name,
                  input: block.input,
                }),
              ]
            : [],
        );
      case "approval.asked": {
        const { approvalId, kind, assistant, index, ordinal, tool, input } = entry.data;
        const { description, questions } = entry.data;
        if (kind === "question") {
          return [
            this.#ask({
              approvalId,
              questions: questions ?? [],
              state: "pending",
              ...(description === undefined ? {} : { description }),
            }),
          ];
        }
        if (assistant === undefined || index === undefined) return [];
        this.#asked.set(approvalId, { assistant, index, ordinal });
        const waiting = {
          approvalId,
          state: "waiting",
          ...(input === undefined ? {} : { input }),
        } as const;
        const name =
          tool === undefined ? {} : ordinal === undefined ? { name: tool } : { operation: tool };
        return this.#decide(approvalId, { ...waiting, ...name });
      }
      case "approval.answered": {
        const { approvalId, allow, message, answers, input } = entry.data;
        const question = this.#questions.get(approvalId);
        if (question) {
          return [
            this.#ask({
              ...question,
              state: allow ? "answered" : "denied",
              ...(answers === undefined ? {} : { answers }),
              ...(message === undefined ? {} : { message }),
              ...(entry.by === undefined ? {} : { by: entry.by }),
            }),
          ];
        }
        return this.#decide(approvalId, {
          state: allow ? "allowed" : "denied",
          ...(input === undefined ? {} : { input, isEdited: true }),
        });
      }
      case "approval.withdrawn":
      case "approval.expired": {
        const { approvalId } = entry.data;
        const question = this.#questions.get(approvalId);
        const isExpired = entry.kind === "approval.expired";
        if (question)
          return [this.#ask({ ...question, state: isExpired ? "expired" : "withdrawn" })];
        return this.#decide(approvalId, { state: "denied" });
      }
      case "call.started": {
        const { assistant, index, callId, name, label, input } = entry.data;
        return [
          this.#set(assistant, index, {
            callId,
            name,
            label,
            state: "running",
            startedAt: entry.at,
            ...(input === undefined ? {} : { input, isEdited: true }),
          }),
        ];
      }
      case "message.tool": {
        const { assistant, index, callId, name, content, isError, data, interrupted } = entry.data;
        return [
          this.#set(assistant, index, {
            callId,
            name,
            content,
            state: interrupted ? "interrupted" : isError ? "failed" : "done",
            endedAt: entry.at,
            ...(data === undefined ? {} : { data }),
          }),
        ];
      }
      case "command.queued":
      case "command.cancelled":
      case "message.user":
      case "line":
      case "run.started":
      case "run.recovered":
      case "run.settled":
      case "compaction":
      case "conversation.started":
      case "session.changed":
      case "grants.delivered":
      case "harness.line":
      case "harness.conversation":
      case "harness.process":
      case "harness.stopped":
      case "harness.restarted":
      case "setting":
      case "renamed":
        return [];
      case "program.started": {
        const { assistant, index } = entry.data;
        return [this.#set(assistant, index, { calls: this.#innerOf(assistant, index) })];
      }
      case "program.call":
        return [this.#setInner(entry.data, innerStarted(entry))];
      case "program.outcome":
        return [this.#setInner(entry.data, innerEnded(entry))];
    }
  }

  #decide(approvalId: string, part: Decided): Change[] {
    const asked = this.#asked.get(approvalId);
    if (!asked) return [];
    const { assistant, index, ordinal } = asked;
    if (ordinal === undefined) return [this.#set(assistant, index, part)];
    return [this.#setInner({ assistant, index, ordinal }, part)];
  }

  #setInner({ assistant, index, ordinal }: InnerPlace, part: Partial<InnerCallView>): Change {
    const calls = withInner(this.#innerOf(assistant, index), ordinal, part);
    return this.#set(assistant, index, { calls });
  }

  #innerOf(assistant: string, index: number): readonly InnerCallView[] {
    return this.#calls.get(keyOf(assistant, index))?.calls ?? [];
  }

  #set(assistant: string, index: number, part: Partial<CallView>): Change {
    const key = keyOf(assistant, index);
    const before: CallView = this.#calls.get(key) ?? {
      assistant,
      index,
      callId: "",
      name: "",
      isEdited: false,
      state: "called",
    };
    const call: CallView = { ...before, ...part };
    this.#calls.set(key, call);
    return { assistant, call };
  }

  #ask(question: QuestionView): Change {
    this.#questions.set(question.approvalId, question);
    return { question };
  }
}

function keyOf(assistant: string, index: number): string {
  return `${assistant}#${index}`;
}
