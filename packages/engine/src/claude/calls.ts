// The calls of one run that Claude Code makes: their intent before it may make them, their outcome when it tells it.
//
//   CC24  A call that a person is asked about has its intent after the answer and before Claude Code hears of it; one that
//         was denied, or whose permission never came, has none. What an earlier host left so was never made.

import type { Call, Draft, Outcome, Run } from "@lichen/runtime";
import type { JsonObject } from "@lichen/wire";
import type { ToolResult } from "./line.ts";
import { questionTool } from "./permission.ts";

export type MadeCall = Omit<Call, "replaySafe">;

interface Open {
  readonly call: MadeCall;
  /** Nothing of it runs here: it was denied, or an earlier process made it. */
  isUnmade: boolean;
  begun?: {
    settle(outcome: Outcome): void;
    /** Settles when its intent is durable. */
    readonly intended: Promise<void>;
    /** Settles when its outcome is in the log. */
    readonly recorded: Promise<unknown>;
  };
  cancelWait?: () => void;
}

interface CallsContext {
  isAutoApproving(): boolean;
  after(ms: number, wake: () => void): () => void;
}

/** How long it may take until a person is asked about a call; one that nobody is asked about runs already. */
const askedMs = 1_000;

export class Calls {
  readonly #run: Run;
  readonly #it: CallsContext;
  readonly #open = new Map<string, Open>();
  readonly #ending = new Set<Promise<unknown>>();

  constructor(run: Run, it: CallsContext) {
    this.#run = run;
    this.#it = it;
  }

  of(callId: string | undefined): MadeCall | undefined {
    return callId === undefined ? undefined : this.#open.get(callId)?.call;
  }

  get all(): readonly MadeCall[] {
    return [...this.#open.values()].filter(({ isUnmade }) => !isUnmade).map(({ call }) => call);
  }

  /** Calls that an earlier host left without an outcome. */
  adopt(calls: readonly MadeCall[]): void {
    for (const call of calls) this.#open.set(call.callId, { call, isUnmade: true });
  }

  get adopted(): readonly MadeCall[] {
    return [...this.#open.values()].filter(({ isUnmade }) => isUnmade).map(({ call }) => call);
  }

  /** A call stands in an assistant's message. Whether a person is asked about it shows soon; a question always is. */
  open(call: MadeCall): void {
    const open: Open = { call, isUnmade: false };
    this.#open.set(call.callId, open);
    if (this.#it.isAutoApproving() && call.name !== questionTool) this.#begin(open);
    else open.cancelWait = this.#it.after(askedMs, () => this.#begin(open));
  }

  /** A person is asked about it: it has no intent before they answer. */
  asked(callId: string | undefined): void {
    this.#open.get(callId ?? "")?.cancelWait?.();
  }

  /** It may be made, with this input; settles when that is durable. */
  async allow(callId: string | undefined, input: JsonObject): Promise<void> {
    const open = this.#open.get(callId ?? "");
    if (!open) return;
    this.#begin(open, input);
    await open.begun?.intended;
  }

  deny(callId: string | undefined): void {
    const open = this.#open.get(callId ?? "");
    if (open && !open.begun) open.isUnmade = true;
  }

  /** Outcomes of calls that have no intent of this run's, to be written as they are. */
  unmade(results: readonly ToolResult[]): Draft[] {
    return results.flatMap((result) => {
      const open = this.#open.get(result.id);
      if (!open?.isUnmade) return [];
      this.#open.delete(result.id);
      return [outcomeDraft(open.call, outcomeOf(result))];
    });
  }

  end(result: ToolResult): void {
    this.#end(result.id, outcomeOf(result));
  }

  /** Settles when the outcomes that have come are in the log. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#ending);
  }

  /**
   * The process is gone: each call ends as unknown, or as one that did not run where it is known that it was not allowed
   * yet.
   */
  async abandon(wasNeverAllowed: (callId: string) => boolean): Promise<void> {
    for (const [id, open] of this.#open) {
      const outcome = wasNeverAllowed(id) ? notRun : unknown;
      if (open.isUnmade && wasNeverAllowed(id) && !this.#run.hasBegun(open.call)) {
        this.#open.delete(id);
        await this.#run.append([outcomeDraft(open.call, notRun)]);
      } else if (open.isUnmade) {
        this.#open.delete(id);
        // Where its intent is in the log, the runtime says that it was interrupted.
        await this.#run.call({ ...open.call, replaySafe: false }, async () => outcome);
      } else if (!open.begun && wasNeverAllowed(id)) {
        this.#open.delete(id);
        await this.#run.append([outcomeDraft(open.call, outcome)]);
      } else this.#end(id, outcome);
    }
    await this.settled();
  }

  close(): void {
    for (const { cancelWait } of this.#open.values()) cancelWait?.();
  }

  #begin(open: Open, input?: JsonObject): void {
    open.cancelWait?.();
    if (open.begun || open.isUnmade) return;
    const outcome = Promise.withResolvers<Outcome>();
    const intended = Promise.withResolvers<void>();
    const call = { ...open.call, replaySafe: false, ...(input ? { input } : {}) };
    const recorded = this.#run
      .call(call, (_input, signal) => {
        intended.resolve();
        return untilAborted(outcome.promise, signal);
      })
      // A call that nobody ends is closed by the settlement.
      .catch(() => {})
      .finally(() => intended.resolve());
    open.begun = { settle: outcome.resolve, intended: intended.promise, recorded };
  }

  #end(id: string, outcome: Outcome): void {
    const open = this.#open.get(id);
    if (!open) return;
    this.#open.delete(id);
    this.#begin(open);
    const { begun } = open;
    if (!begun) return;
    begun.settle(outcome);
    this.#ending.add(begun.recorded);
    void begun.recorded.then(() => this.#ending.delete(begun.recorded));
  }
}

const unknown = words(
  "The process ended in this call. Its effect is unknown: check before you repeat it.",
);
const notRun = words(
  "This call did not run: the process ended while its permission was waited for.",
);

function words(text: string): Outcome {
  return { content: [{ type: "text", text }], isError: true };
}

function outcomeOf({ content, isError }: ToolResult): Outcome {
  return { content, isError };
}

function outcomeDraft(call: MadeCall, outcome: Outcome): Draft {
  const { assistant, index, callId, name } = call;
  return { kind: "message.tool", data: { assistant, index, callId, name, ...outcome } };
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason as Error);
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  return Promise.race([promise, aborted.promise]).finally(() =>
    signal.removeEventListener("abort", abort),
  );
}
