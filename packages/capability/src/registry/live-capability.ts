// A capability that is connected: its connector, the calls that run on it, and their end.
//
//   G8  Once it is released, no call runs: those that run end by themselves within a bound, or are aborted, and who
//       waits for them is told why, and that their effect is not known.
//   G26 A call that its connector never ends is ended, in a bounded time without what waits for a person.

import type { CallContext, Connector } from "../connector.ts";
import { OperationError } from "../failure.ts";
import type { JsonObject } from "../json.ts";
import { CallTime } from "./call-time.ts";
import { type After, ignore, within } from "./within.ts";

/** How long aborted calls and a closing connector may take. */
const graceMs = 5_000;
/** Longer than what any connector of ours waits. */
const longestCallMs = 3_900_000;

export class LiveCapability {
  readonly connector: Connector;
  readonly #after: After;
  readonly #calls = new Set<Promise<unknown>>();
  readonly #abort = new AbortController();
  readonly #unlisten: (() => void) | undefined;
  #end: Promise<void> | undefined;

  constructor(connector: Connector, after: After, changed: () => void) {
    this.connector = connector;
    this.#after = after;
    this.#unlisten = connector.onChanged?.(changed);
  }

  /** Runs one call; rejects when its signal fires or the capability ends, however long the connector goes on. */
  async call(operation: string, input: JsonObject, context: CallContext): Promise<unknown> {
    // Nothing has begun yet: the reason alone says it all.
    this.#abort.signal.throwIfAborted();
    context.signal.throwIfAborted();
    const own = new AbortController();
    const { signal } = own;
    const stopped = Promise.withResolvers<never>();
    const ends = [context.signal, this.#abort.signal];
    const stop = (): void => {
      own.abort(ends.find(({ aborted }) => aborted)!.reason);
      stopped.reject(signal.reason);
    };
    for (const end of ends) end.addEventListener("abort", stop);
    const time = new CallTime(this.#after, longestCallMs, () => {
      own.abort(late(operation));
      stopped.reject(signal.reason);
    });
    const { ask } = context;
    const inner = { ...context, signal, ...(ask && { ask: time.without(ask) }) };
    const begun = (async () => this.connector.call(operation, input, inner))();
    const tracked = begun.catch(ignore).then(() => void this.#calls.delete(tracked));
    this.#calls.add(tracked);
    stopped.promise.catch(ignore);
    try {
      return await Promise.race([begun, stopped.promise]);
    } catch (error) {
      // What a connector makes of an abort says less than why it was aborted.
      if (this.#abort.signal.aborted) throw cutOff(operation, this.#abort.signal.reason);
      throw error;
    } finally {
      time.end();
      for (const end of ends) end.removeEventListener("abort", stop);
    }
  }

  /** Waits for its calls for `patienceMs`, aborts the rest, closes the connector. Never rejects; what went wrong is told to `report`. */
  end(reason: OperationError, patienceMs: number, report: (error: unknown) => void): Promise<void> {
    this.#end ??= this.#ending(reason, patienceMs, report);
    return this.#end;
  }

  async #ending(
    reason: OperationError,
    patienceMs: number,
    report: (error: unknown) => void,
  ): Promise<void> {
    try {
      this.#unlisten?.();
    } catch (error) {
      report(error);
    }
    if (patienceMs > 0) await this.#quiet(patienceMs);
    this.#abort.abort(reason);
    await this.#quiet(graceMs);
    const late = (): Error =>
      new Error(`${this.connector.kind} ${this.connector.id} did not close`);
    try {
      await within({ after: this.#after, ms: graceMs, late }, () => this.connector.close?.());
    } catch (error) {
      report(error);
    }
  }

  async #quiet(ms: number): Promise<void> {
    if (this.#calls.size === 0) return;
    const late = (): Error => new Error("late");
    await within({ after: this.#after, ms, late }, () => Promise.all(this.#calls)).catch(ignore);
  }
}

/** What is told of a call that was under way. */
function cutOff(operation: string, cause: unknown): unknown {
  if (!(cause instanceof OperationError)) return cause;
  return new OperationError(
    cause.code,
    `${operation.slice(0, 200)} was under way, and whether it took effect is not known: check before you repeat it. ${cause.message}`,
    { cause },
  );
}

function late(operation: string): OperationError {
  return new OperationError(
    "timeout",
    `${operation.slice(0, 200)} did not end within ${longestCallMs / 60_000} minutes and was stopped: whether it took effect is not known.`,
  );
}
