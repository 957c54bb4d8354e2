// The calls of a session and how each stands: told by a message, an approval, a start and an outcome, in any part.

import { type Entry, known } from "@lichen/wire";
import { isReadable } from "../stream/read-entry.ts";
import type { CallView, QuestionView } from "./view.ts";

/** What became other by an entry. */
export type Change =
  | { readonly assistant: string; readonly call: CallView }
  | { readonly question: QuestionView };

export class Calls {
  readonly #calls = new Map<string, CallView>();
  /** Which call or question an approval is about. */
  readonly #asked = new Map<string, string>();
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
        const { approvalId, kind, assistant, index, tool, input, description, questions } =
          entry.data;
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
        this.#asked.set(approvalId, keyOf(assistant, index));
        return [
          this.#set(assistant, index, {
            approvalId,
            state: "waiting",
            ...(tool === undefined ? {} : { name: tool }),
            ...(input === undefined ? {} : { input }),
          }),
        ];
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
      case "program.started":
      case "program.call":
      case "program.outcome":
      case "grants.delivered":
        return [];
    }
  }

  #decide(approvalId: string, part: Partial<CallView>): Change[] {
    const call = this.#calls.get(this.#asked.get(approvalId) ?? "");
    return call ? [this.#set(call.assistant, call.index, part)] : [];
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
