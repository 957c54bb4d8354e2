// One request to a model, tried again while nothing of its answer has been shown.
//
// A refusal for load, a server's fault, a broken network or a silent provider is worth another try after a delay; what
// the provider asks for with retry-after is honoured up to the policy's bound. Once text, thinking or a call's
// arguments were shown, the request is over however it ends. The stream that comes back always ends, also when a
// provider ignores the abort signal.

import type {
  AssistantMessage,
  AssistantMessageEvent,
  AssistantMessageEventStream,
  Usage,
} from "@earendil-works/pi-ai";
import { createAssistantMessageEventStream } from "@earendil-works/pi-ai/utils/event-stream";
import { isContextOverflow } from "@earendil-works/pi-ai/utils/overflow";
import { isRetryableAssistantError } from "@earendil-works/pi-ai/utils/retry";
import { noUsage, type Reader } from "./context.ts";

export interface RetryPolicy {
  /** Requests in all, the first one too. */
  readonly maxAttempts: number;
  /** The delay before the second attempt; it doubles from there. */
  readonly baseMs: number;
  /** No delay is longer; a provider that asks for more is not tried again. */
  readonly maxDelayMs: number;
  /** A provider that sends nothing for so long is given up. */
  readonly idleMs: number;
}

export const defaultRetry: RetryPolicy = {
  maxAttempts: 4,
  baseMs: 1_000,
  maxDelayMs: 60_000,
  idleMs: 300_000,
};

/** Calls `wake` once after `ms`; the answer cancels it. */
export type After = (ms: number, wake: () => void) => () => void;

/** @internal Exported for its tests. */
export interface Retry {
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly delayMs: number;
  readonly reason: string;
}

export interface RetryOptions {
  readonly model: Reader;
  readonly policy: RetryPolicy;
  readonly after: After;
  readonly signal: AbortSignal;
  /** Opens one attempt; `request` belongs into the provider's options. */
  open(request: Request): AssistantMessageEventStream | Promise<AssistantMessageEventStream>;
  /** An attempt failed and the next follows after the delay. */
  retrying(retry: Retry): void | Promise<void>;
  /** What a failed attempt cost, where the provider says so. */
  wasted(usage: Usage): void;
}

/** What an attempt's provider call must carry. */
interface Request {
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
  readonly maxRetries: 0;
}

/** Whether the provider wants to be paid first, which some say under the status of a request that is wrong. */
function isUnpaid({ errorMessage = "" }: AssistantMessage): boolean {
  return /insufficient_quota|quota exceeded|usage limit|billing|credit balance/i.test(errorMessage);
}

/** Whether the provider refused what the request holds: the same would be refused again. */
function isRefused(message: AssistantMessage, { status = 0 }: Seen): boolean {
  return (
    message.stopReason === "error" && !isUnpaid(message) && [400, 413, 415, 422].includes(status)
  );
}

/** Whether the same request may succeed later. */
function isTransient(message: AssistantMessage, seen: Seen): boolean {
  if (message.stopReason !== "error" || isContextOverflow(message) || isUnpaid(message))
    return false;
  if (seen.isIdle || seen.isUnreachable) return true;
  if (seen.status !== undefined && seen.status >= 400)
    return [408, 409, 425, 429].includes(seen.status) || seen.status >= 500;
  return isRetryableAssistantError(message);
}

/** What went over the network in one attempt. */
interface Seen {
  status?: number;
  retryAfterMs?: number;
  isUnreachable?: boolean;
  isIdle?: boolean;
}

/**
 * The stream of the attempt that counted. Of a failed one `transient` tells whether the same may succeed later, and
 * `refused` whether the provider refused what it holds.
 */
export function streamWithRetry(options: RetryOptions): {
  stream: AssistantMessageEventStream;
  readonly transient: () => boolean;
  readonly refused: () => boolean;
} {
  const stream = createAssistantMessageEventStream();
  let isWorthRetrying = false;
  let isRejected = false;
  void run().catch((error: unknown) => {
    stream.push(ending(failure(options, error instanceof Error ? error.message : String(error))));
  });
  return { stream, transient: () => isWorthRetrying, refused: () => isRejected };

  async function run(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const { failed, isShown, seen } = await attemptOnce(options, stream);
      if (!failed) return;
      isWorthRetrying = isTransient(failed, seen);
      isRejected = isRefused(failed, seen);
      const delayMs = Math.max(seen.retryAfterMs ?? 0, delayBefore(attempt + 1, options.policy));
      const isOver =
        isShown ||
        !isWorthRetrying ||
        options.signal.aborted ||
        attempt >= options.policy.maxAttempts ||
        delayMs > options.policy.maxDelayMs;
      if (isOver) {
        stream.push(ending(failed));
        return;
      }
      if (failed.usage.totalTokens > 0) options.wasted(failed.usage);
      await options.retrying({
        attempt,
        maxAttempts: options.policy.maxAttempts,
        delayMs,
        reason: failed.errorMessage ?? "unknown",
      });
      await pause(delayMs, options);
      if (options.signal.aborted) {
        stream.push(ending(failure(options, "Cancelled.")));
        return;
      }
    }
  }
}

async function attemptOnce(
  options: RetryOptions,
  out: AssistantMessageEventStream,
): Promise<{ failed?: AssistantMessage; isShown: boolean; seen: Seen }> {
  const seen: Seen = {};
  const attempt = new AbortController();
  const ended = Promise.withResolvers<"ended">();
  const stop = () => {
    attempt.abort(options.signal.reason);
    ended.resolve("ended");
  };
  options.signal.addEventListener("abort", stop, { once: true });
  if (options.signal.aborted) stop();
  const { signal } = attempt;
  let held: AssistantMessageEvent[] | undefined = [];
  let stopWaiting = () => {};
  const wait = () => {
    stopWaiting();
    stopWaiting = options.after(options.policy.idleMs, () => {
      seen.isIdle = true;
      stop();
    });
  };
  let soFar: AssistantMessage | undefined;
  const give = (message: string) => {
    attempt.abort();
    const failed = failure(options, seen.isIdle ? silence(options) : message, soFar);
    return { failed, isShown: held === undefined, seen };
  };
  try {
    wait();
    const opened = Promise.resolve(
      options.open({ fetch: watchedFetch(seen, signal), signal, maxRetries: 0 }),
    );
    const events = await Promise.race([opened, ended.promise]);
    if (events === "ended") {
      opened.catch(() => {});
      return give("Cancelled.");
    }
    const iterator = events[Symbol.asyncIterator]();
    for (;;) {
      const next = await Promise.race([iterator.next(), ended.promise]);
      if (next === "ended") return give("Cancelled.");
      if (next.done) return give("The provider's stream ended without an end.");
      wait();
      const event = next.value;
      if (event.type === "error") {
        if (options.signal.aborted || seen.isIdle) return give("Cancelled.");
        return { failed: event.error, isShown: held === undefined, seen };
      }
      if (event.type !== "done") soFar = event.partial;
      if (held && (event.type === "done" || isShown(event))) {
        for (const early of held) out.push(early);
        held = undefined;
      }
      if (held) held.push(event);
      else out.push(event);
      if (event.type === "done") return { isShown: true, seen };
    }
  } catch (error) {
    return give(error instanceof Error ? error.message : String(error));
  } finally {
    stopWaiting();
    options.signal.removeEventListener("abort", stop);
  }
}

function isShown(event: AssistantMessageEvent): boolean {
  switch (event.type) {
    case "text_delta":
    case "thinking_delta":
    case "toolcall_delta":
      return event.delta !== "";
    case "text_end":
    case "thinking_end":
    case "toolcall_end":
      return true;
    case "start":
    case "text_start":
    case "thinking_start":
    case "toolcall_start":
    case "done":
    case "error":
      return false;
  }
}

function delayBefore(attempt: number, policy: RetryPolicy): number {
  return Math.min(policy.baseMs * 2 ** (attempt - 2), policy.maxDelayMs);
}

async function pause(ms: number, { after, signal }: RetryOptions): Promise<void> {
  if (signal.aborted) return;
  const over = Promise.withResolvers<void>();
  const cancel = after(ms, over.resolve);
  const stop = () => over.resolve();
  signal.addEventListener("abort", stop, { once: true });
  await over.promise;
  signal.removeEventListener("abort", stop);
  cancel();
}

function watchedFetch(seen: Seen, signal: AbortSignal): typeof globalThis.fetch {
  return async (input, init) => {
    delete seen.status;
    delete seen.retryAfterMs;
    try {
      const response = await globalThis.fetch(input, init);
      seen.status = response.status;
      const retryAfterMs = retryAfter(response.headers);
      if (retryAfterMs !== undefined) seen.retryAfterMs = retryAfterMs;
      return response;
    } catch (error) {
      if (!signal.aborted) seen.isUnreachable = true;
      throw error;
    }
  };
}

/** Seconds, milliseconds in a header of their own, or a date beside the server's own clock. */
function retryAfter(headers: Headers): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (ms >= 0) return ms;
  const given = headers.get("retry-after");
  if (given === null) return undefined;
  if (/^\s*\d+(\.\d+)?\s*$/.test(given)) return Number.parseFloat(given) * 1_000;
  const until = Date.parse(given) - Date.parse(headers.get("date") ?? "");
  return until >= 0 ? until : undefined;
}

function silence({ policy }: RetryOptions): string {
  return `The provider sent nothing for ${Math.round(policy.idleMs / 1_000)} s.`;
}

function failure(
  options: RetryOptions,
  errorMessage: string,
  soFar?: AssistantMessage,
): AssistantMessage {
  return {
    role: "assistant",
    content: soFar?.content ?? [],
    provider: options.model.provider,
    api: options.model.api,
    model: options.model.id,
    usage: soFar?.usage ?? noUsage(),
    stopReason: options.signal.aborted ? "aborted" : "error",
    errorMessage,
    timestamp: 0,
  };
}

function ending(message: AssistantMessage): AssistantMessageEvent {
  return message.stopReason === "aborted"
    ? { type: "error", reason: "aborted", error: message }
    : { type: "error", reason: "error", error: message };
}
