// What Claude Code waits for a person about: permissions and questions of one run.
//
//   CC10  Each is answered once at most: what was withdrawn, by either side, is never answered.
//   CC11  Auto-approve allows tools, also those that wait when it is switched on; it never answers a question.
//   CC35  What Claude Code hears is the decision that the log has.

import type { Call, Question, Run } from "@lichen/runtime";
import type { Json, JsonObject } from "@lichen/wire";
import type { Calls } from "./calls.ts";
import type { PermissionRequest } from "./line.ts";
import { responseLine } from "./outgoing.ts";
import { allowed, answersOf, denied, offered, questionTool } from "./permission.ts";

interface AskContext {
  readonly calls: Calls;
  write(line: JsonObject): Promise<void>;
  isAutoApproving(): boolean;
  isTrusted(): boolean;
  report(error: unknown): void;
}

interface Open {
  readonly request: PermissionRequest;
  /** Names of its approvals: a question that was allowed without an answer is asked again. */
  key: string;
  /** Claude Code waits for no answer to it. */
  isGone: boolean;
  /** A person refused it and stopped the turn: told with all else that stops it. */
  refusal?: JsonObject;
  /** What follows where it is withdrawn before anybody decided. */
  undecided?: () => void;
  /** Settles once it is decided and told, or withdrawn. */
  over: Promise<void>;
}

export class Asks {
  readonly #run: Run;
  readonly #it: AskContext;
  readonly #open = new Map<string, Open>();
  /** Calls whose permission was waited for when the process ended. */
  readonly #lost = new Set<string>();
  #refusesAll = false;

  constructor(run: Run, it: AskContext) {
    this.#run = run;
    this.#it = it;
  }

  get isWaiting(): boolean {
    return this.#open.size > 0;
  }

  ask(request: PermissionRequest): void {
    if (this.#refusesAll) return this.#refuse(request);
    if (request.tool !== questionTool && this.#it.isAutoApproving()) return this.#approve(request);
    this.#it.calls.asked(request.callId);
    const key = `${keys}${request.id}`;
    const open: Open = { request, key, isGone: false, over: Promise.resolve() };
    this.#open.set(request.id, open);
    open.over = this.#wait(open).catch((error: unknown) => {
      // The run was stopped, or its approval could not be written: both stop the run.
      if (!this.#run.signal.aborted) this.#it.report(error);
    });
  }

  async #wait(open: Open): Promise<void> {
    const { request } = open;
    const call = this.#it.calls.of(request.callId);
    const isQuestion = request.tool === questionTool;
    const suggestions = isQuestion ? [] : offered(request, this.#it.isTrusted());
    const questions = isQuestion ? questionsOf(request.input) : [];
    for (let round = 1; ; round++) {
      const answer = await this.#run.ask(
        questionOf(open, { call, suggestions, questions: isQuestion ? questions : undefined }),
      );
      if (open.isGone) return;
      const answers = isQuestion ? answersOf(answer, questions) : undefined;
      // Allowed without a word it would read as "did not answer".
      if (isQuestion && answer.outcome === "allowed" && !answers && !open.undecided) {
        open.key = `${keys}${request.id}/${round + 1}`;
        continue;
      }
      if (answer.interrupt) {
        open.refusal = denied(answer);
        return;
      }
      this.#open.delete(request.id);
      if (
        answer.outcome === "withdrawn" ||
        (isQuestion && answer.outcome === "allowed" && !answers)
      )
        return open.undecided?.();
      if (answer.outcome === "allowed") {
        const given = { ...answer, ...(answers ? { answers } : {}) };
        this.#allow(request, allowed(request, given, suggestions), answer.input);
      } else {
        this.#it.calls.deny(request.callId);
        this.#tell(request.id, denied(answer));
      }
      return;
    }
  }

  /** Nobody is asked. What Claude Code is told stands in the log before, as auto-approve's. */
  #approve(request: PermissionRequest): void {
    const response = allowed(request, {}, []);
    const line = { ...responseLine(request.id, response), by: autoApprove };
    this.#run.append([{ kind: "harness.line", data: { harness: "claude", line } }]).then(
      () => this.#allow(request, response),
      (error: unknown) => {
        // A commit that fails stops the run.
        if (!this.#run.signal.aborted) this.#it.report(error);
      },
    );
  }

  /** Claude Code hears that it may once the call's intent is durable. */
  #allow(request: PermissionRequest, response: JsonObject, input = request.input): void {
    this.#it.calls.allow(request.callId, input).then(
      // A run that is stopped by then may have no intent in the log.
      () => !this.#run.signal.aborted && this.#tell(request.id, response),
      (error: unknown) => this.#it.report(error),
    );
  }

  /** Claude Code needs no answer any more. */
  cancel(id: string): void {
    const open = this.#open.get(id);
    if (open) this.#drop(open, "Claude Code withdrew it");
  }

  /** A call has its outcome: what it asked was decided elsewhere. */
  callEnded(callId: string): void {
    for (const open of [...this.#open.values()])
      if (open.request.callId === callId) this.#drop(open, "the call ended");
  }

  /** Auto-approve was switched on: tools that wait are allowed, but for those that somebody has decided by now. */
  approveWaiting(): void {
    for (const open of this.#open.values()) {
      const { request } = open;
      if (request.tool === questionTool) continue;
      open.undecided = () => this.#approve(request);
      void this.#withdraw(open, "auto-approve was switched on");
    }
  }

  /** The run is cancelled: what is asked from now on is denied. */
  refuseAll(): void {
    this.#refusesAll = true;
  }

  #refuse({ id, callId }: PermissionRequest, refusal: JsonObject = stopping): void {
    this.#it.calls.deny(callId);
    this.#tell(id, refusal);
  }

  /** The run is cancelled: all that waits is denied, and the turn is to stop. */
  async interrupt(): Promise<void> {
    const asked = [...this.#open.values()];
    // What was decided is told as it was decided.
    await Promise.all(asked.map(({ over }) => over));
    for (const { request, refusal } of asked)
      if (this.#open.delete(request.id)) this.#refuse(request, refusal);
  }

  /** Nobody is there to be answered any more. */
  async withdrawAll(reason: string): Promise<void> {
    for (const open of [...this.#open.values()]) {
      const { callId } = open.request;
      if (callId !== undefined) this.#lost.add(callId);
      this.#forget(open);
      await this.#run.withdrawQuestion(open.key, reason);
    }
  }

  /** Whether the call's permission was never given, because the process that asked for it ended. */
  wasLost(callId: string): boolean {
    return this.#lost.has(callId);
  }

  /**
   * The run ends, and what it asked nobody has decided is still waited for: a sub-agent in the background asks whenever
   * it does. Answers that, for the run that comes next.
   */
  async leave(
    reason: string,
    how: { readonly isAskedAgain: boolean },
  ): Promise<readonly PermissionRequest[]> {
    const left: PermissionRequest[] = [];
    await Promise.all(
      [...this.#open.values()].map(async (open) => {
        // Decided before anybody stopped the turn, which had ended by then.
        if (open.refusal) {
          this.#forget(open);
          return this.#refuse(open.request, open.refusal);
        }
        open.undecided = () => left.push(open.request);
        // A run that was stopped withdraws by its settlement; so does one whose log does not take this.
        if (!this.#run.signal.aborted && (await this.#withdraw(open, reason, how))) await open.over;
        if (!this.#open.has(open.request.id)) return;
        this.#forget(open);
        left.push(open.request);
      }),
    );
    return left;
  }

  /** Withdraws what an earlier process asked in this run. */
  async withdrawLeft(reason: string): Promise<void> {
    await this.#run.withdrawQuestions(keys, reason);
  }

  #forget(open: Open): void {
    open.isGone = true;
    this.#open.delete(open.request.id);
  }

  #drop(open: Open, reason: string): void {
    this.#forget(open);
    void this.#withdraw(open, reason);
  }

  async #withdraw(
    { key }: Open,
    reason: string,
    how?: { readonly isAskedAgain: boolean },
  ): Promise<boolean> {
    try {
      await this.#run.withdrawQuestion(key, reason, how);
      return true;
    } catch (error) {
      if (!this.#run.signal.aborted) this.#it.report(error);
      return false;
    }
  }

  #tell(id: string, response: JsonObject): void {
    this.#it.write(responseLine(id, response)).catch(() => {
      // The process is gone: its end says so, and what was to be done is decided anew.
    });
  }
}

const stopping: JsonObject = {
  behavior: "deny",
  message: "The user stopped this turn.",
  interrupt: true,
};

/** The author of what auto-approve answers. */
const autoApprove = "auto-approve";

/** What the names of its approvals begin with. */
const keys = "prompt/";

function questionOf(
  { request, key }: Open,
  asked: {
    readonly call: Pick<Call, "assistant" | "index"> | undefined;
    readonly suggestions: JsonObject[];
    readonly questions: Json[] | undefined;
  },
): Question {
  const { call, suggestions, questions } = asked;
  return {
    key,
    prompt: request.id,
    kind: questions ? "question" : "tool",
    tool: request.tool,
    ...(call ? { assistant: call.assistant, index: call.index } : {}),
    ...(request.description === undefined ? {} : { description: request.description }),
    ...(questions ? { questions } : { input: request.input, check: (input: JsonObject) => input }),
    ...(suggestions.length > 0 ? { suggestions } : {}),
  };
}

function questionsOf(input: JsonObject): Json[] {
  const questions = input["questions"];
  return Array.isArray(questions) ? questions : [];
}
