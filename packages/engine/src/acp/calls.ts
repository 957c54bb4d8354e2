// The calls of a run: each as the agent tells of it, in our order of intent, effect and outcome.
//
//   told ──▶ announced ──allowed, or begun──▶ open ──▶ done        announced: its message is in the log
//                │                                                 open: its intent is in the log
//                └──not allowed──▶ refused ──▶ done                 done: its outcome is
//
//   - A call that needs permission is answered only once its intent is durable.
//   - A write whose end is never told stays open: the settlement says that its effect is unknown.

import type { Outcome, Run } from "@lichen/runtime";
import { inputOf, type KnownCall, labelOf, nameOf, outcomeOf, withNews } from "./call-text.ts";
import type { Recorder } from "./recorder.ts";
import type { CallFields, CallStatus } from "./wire.ts";

/** Where a call stands in the log. */
export interface Place {
  readonly assistant: string;
  readonly index: number;
}

interface CallState {
  known: KnownCall;
  phase: "told" | "announced" | "open" | "refused" | "done";
  /** The agent itself told of it, not only a request for permission. */
  isReported: boolean;
  /** The agent had begun it and asked after that, and it was not allowed. */
  isDenied?: boolean;
  /** The status that was told last. */
  status?: CallStatus;
  place?: Promise<Place>;
  /** Settles when the intent is durable. */
  started?: Promise<void>;
  /** Settles when the outcome is. */
  ended?: Promise<unknown>;
  readonly end: PromiseWithResolvers<Outcome>;
}

export interface CallsOptions {
  readonly run: Run;
  readonly recorder: Recorder;
  /** Ends the message so far with this call in it. */
  readonly announce: (call: KnownCall) => Promise<Place>;
}

export class Calls {
  readonly #it: CallsOptions;
  readonly #calls = new Map<string, CallState>();

  constructor(it: CallsOptions) {
    this.#it = it;
  }

  /** What is open now, and would be lost with its process. */
  get openWrites(): string[] {
    return this.#all()
      .filter((call) => call.phase === "open" && mayHaveChanged(call))
      .map((call) => nameOf(call.known));
  }

  /** Whether one may be at work. */
  get isRunning(): boolean {
    return this.#all().some((call) => call.phase === "open");
  }

  get isOpen(): boolean {
    return this.#all().some((call) => call.phase !== "done");
  }

  /** What the agent told of a call. Answers the call as it is now, and whether it stands otherwise than before. */
  update(news: CallFields): { readonly known: KnownCall; readonly isStep: boolean } {
    const call = this.#merge(news);
    const status = news.status ?? call.status;
    const isStep = !call.isReported || status !== call.status;
    call.isReported = true;
    if (status) call.status = status;
    if (call.phase !== "done" && status === "in_progress") this.#open(call);
    if (call.phase !== "done" && (status === "completed" || status === "failed"))
      this.#end(call, status === "failed");
    return { known: call.known, isStep };
  }

  /** Permission is asked for a call. Its place, where the agent has told of it. */
  async asked(news: CallFields): Promise<{ readonly known: KnownCall; readonly place?: Place }> {
    const call = this.#merge(news);
    return { known: call.known, ...(call.isReported ? { place: await this.#placeOf(call) } : {}) };
  }

  /** Permission was given; settles when the intent is durable. */
  async allowed(callId: string): Promise<void> {
    const call = this.#calls.get(callId);
    if (!call?.isReported) return;
    call.isDenied = false;
    if (call.phase === "told" || call.phase === "announced") this.#open(call);
    await call.started;
  }

  denied(callId: string): void {
    const call = this.#calls.get(callId);
    if (!call?.isReported) return;
    if (call.phase === "announced") call.phase = "refused";
    else call.isDenied = true;
  }

  /** The turn is over: what it left open, as far as it is known to have changed nothing, has its outcome now. */
  close(): void {
    for (const call of this.#all()) {
      if (call.phase === "done" || !call.isReported) continue;
      if (call.phase === "open" && mayHaveChanged(call)) continue;
      const text =
        call.phase === "open" && !call.isDenied
          ? "The agent did not say what became of this call."
          : "The agent did not make this call.";
      this.#settle(call, { content: [{ type: "text", text }], isError: true });
    }
  }

  #all(): CallState[] {
    return [...this.#calls.values()];
  }

  #merge(news: CallFields): CallState {
    const known = this.#calls.get(news.toolCallId);
    if (known) {
      known.known = withNews(known.known, news);
      return known;
    }
    const call: CallState = {
      known: withNews(undefined, news),
      phase: "told",
      isReported: false,
      end: Promise.withResolvers<Outcome>(),
    };
    this.#calls.set(news.toolCallId, call);
    return call;
  }

  /** Where its message stands, which is written now where it was not yet. */
  #placeOf(call: CallState): Promise<Place> {
    if (call.phase === "told") call.phase = "announced";
    call.place ??= handled(this.#it.announce(call.known));
    return call.place;
  }

  #open(call: CallState): void {
    if (call.phase === "open" || call.phase === "refused") return;
    const place = this.#placeOf(call);
    call.phase = "open";
    const started = Promise.withResolvers<void>();
    call.ended = handled(this.#perform(call, place, started.resolve));
    call.started = handled(Promise.race([started.promise, call.ended.then(() => {})]));
    this.#it.recorder.wait(call.started);
  }

  async #perform(call: CallState, place: Promise<Place>, begun: () => void): Promise<Outcome> {
    const { assistant, index } = await place;
    const { known } = call;
    return this.#it.run.call(
      {
        ...{ assistant, index, callId: known.callId, name: nameOf(known) },
        input: inputOf(known),
        label: labelOf(known),
        replaySafe: false,
      },
      (_, signal) => {
        begun();
        return unlessAborted(call.end.promise, signal);
      },
    );
  }

  #end(call: CallState, hasFailed: boolean): void {
    if (call.phase !== "refused") this.#open(call);
    this.#settle(call, outcomeOf(call.known, hasFailed));
  }

  #settle(call: CallState, outcome: Outcome): void {
    const { recorder } = this.#it;
    if (call.phase === "open") call.end.resolve(outcome);
    // Nothing ran: the outcome needs no intent.
    else call.ended = handled(this.#withoutIntent(call, this.#placeOf(call), outcome));
    if (call.ended) recorder.wait(call.ended);
    call.phase = "done";
  }

  async #withoutIntent(call: CallState, place: Promise<Place>, outcome: Outcome): Promise<void> {
    const { assistant, index } = await place;
    const { callId } = call.known;
    const name = nameOf(call.known);
    const data = { assistant, index, callId, name, ...outcome };
    await this.#it.run.append([{ kind: "message.tool", data }]);
  }
}

/** A write that nobody is known to have refused. */
function mayHaveChanged({ known, isDenied }: CallState): boolean {
  return labelOf(known) === "write" && isDenied !== true;
}

/** A promise whose failure is told elsewhere: a commit that fails stops the run. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function unlessAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  return Promise.race([value, promise]).finally(() => signal.removeEventListener("abort", stop));
}
