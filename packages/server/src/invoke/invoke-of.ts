// The small contract over an agent of the runtime: `invoke` as a stream that is pulled.
//
//   Nothing is admitted before the first event is asked for. Leaving cancels the command, at once and for good: after
//   `return()` the stream is silent, whatever the run still does.

import type { Agent } from "@lichen/runtime";
import { type AgentEvent, Fault } from "@lichen/wire";
import { type Agent as InvokeAgent, type Prompt, type Scope, sessionBusyCode } from "./contract.ts";
import { type Invocation, invoke, type InvokeOptions, InvokeRequest } from "./invoke.ts";

export interface InvokeOfOptions extends InvokeOptions {
  /** What a busy session does with a prompt: refuse it with `session_busy` (default), or take it after its work. */
  busy?: "reject" | "queue";
}

/** The agent as the small contract has it. */
export function invokeOf(agent: Agent, options: InvokeOfOptions = {}): InvokeAgent {
  return invokeWhenOpen(() => Promise.resolve(agent), options);
}

/** The same for an agent that is opened when it is first needed; what goes wrong in that is a `failed` event. */
export function invokeWhenOpen(
  open: () => Promise<Agent>,
  options: InvokeOfOptions = {},
): InvokeAgent {
  return { invoke: (scope, prompt) => new Pulled(open, scope, prompt, options) };
}

type Next = IteratorResult<AgentEvent, undefined>;

const bufferedEvents = 16;
const done: Next = { done: true, value: undefined };

class Pulled implements AsyncIterableIterator<AgentEvent, undefined> {
  readonly #open: () => Promise<Agent>;
  readonly #scope: Scope;
  readonly #prompt: Prompt;
  readonly #options: InvokeOfOptions;
  readonly #events: AgentEvent[] = [];
  readonly #waiting: ((next: Next) => void)[] = [];
  #beginning: Promise<Invocation | undefined> | undefined;
  #invocation: Invocation | undefined;
  #isOver = false;

  constructor(open: () => Promise<Agent>, scope: Scope, prompt: Prompt, options: InvokeOfOptions) {
    this.#open = open;
    this.#scope = scope;
    this.#prompt = prompt;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Next> {
    const event = this.#events.shift();
    if (event) {
      if (this.#events.length === 0) this.#invocation?.resume();
      return Promise.resolve({ done: false, value: event });
    }
    if (this.#isOver) return Promise.resolve(done);
    const { promise, resolve } = Promise.withResolvers<Next>();
    this.#waiting.push(resolve);
    this.#beginning ??= this.#begin();
    this.#invocation?.resume();
    return promise;
  }

  async return(): Promise<Next> {
    const wasOver = this.#isOver;
    this.#end();
    this.#events.length = 0;
    if (wasOver) return done;
    // An admission under way is waited for, so that its command is cancelled and not forgotten.
    const invocation = await this.#beginning;
    try {
      await invocation?.leave();
    } catch (error) {
      // A host that is closing takes no cancellation; it stops the run by itself.
      if (!Fault.is(error)) this.#options.report?.(error);
    }
    return done;
  }

  async throw(error: unknown): Promise<never> {
    await this.return();
    throw error;
  }

  async #begin(): Promise<Invocation | undefined> {
    try {
      const request = InvokeRequest.safeParse({
        session: this.#scope.session,
        text: this.#prompt.text,
        ...(this.#prompt.images === undefined ? {} : { images: this.#prompt.images }),
        busy: this.#options.busy ?? "reject",
        onDisconnect: "cancel",
      });
      if (!request.success)
        throw new Fault("invalid", request.error.issues.map(({ message }) => message).join("; "));
      const sink = { event: (event: AgentEvent) => this.#take(event), end: () => this.#end() };
      const agent = await this.#open();
      if (this.#isOver) return undefined;
      this.#invocation = await invoke(agent, request.data, sink, this.#options);
      return this.#invocation;
    } catch (error) {
      this.#take(failureOf(error, this.#options));
      this.#end();
      return undefined;
    }
  }

  #take(event: AgentEvent): boolean {
    if (this.#isOver) return false;
    const waiting = this.#waiting.shift();
    if (waiting) waiting({ done: false, value: event });
    else this.#events.push(event);
    return this.#events.length < bufferedEvents;
  }

  #end(): void {
    this.#isOver = true;
    for (const waiting of this.#waiting.splice(0)) waiting(done);
  }
}

function failureOf(error: unknown, options: InvokeOfOptions): AgentEvent {
  if (!Fault.is(error)) {
    options.report?.(error);
    return {
      type: "failed",
      details: "The prompt could not be taken, because something is broken inside the host.",
      retryable: false,
      code: "internal",
    };
  }
  const isBusy = error.code === "busy";
  return {
    type: "failed",
    details: error.message,
    retryable: isBusy || error.retryable,
    code: isBusy ? sessionBusyCode : error.code,
  };
}
