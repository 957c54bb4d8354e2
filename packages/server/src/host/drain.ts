// How a host goes down: admits nothing more, ends every stream, leaves unfinished runs to recovery, and is gone
// within its grace whatever hangs.

import type { Door } from "../door/door.ts";
import type { Served } from "./serve.ts";

export interface DrainOptions {
  readonly door: Pick<Door, "drain">;
  readonly served: Pick<Served, "close">;
  /** Stops the runs at a safe place and closes the store. */
  readonly closeOwner: (options: { patienceMs: number }) => Promise<void>;
  /** Takes back the file that says where the host listens. */
  readonly forget: () => void;
  readonly graceMs?: number;
}

/** Settles when all is closed, or when the grace is over; rejects with what failed after trying the rest. */
export async function drainHost(options: DrainOptions): Promise<void> {
  const graceMs = options.graceMs ?? 9_000;
  options.door.drain();
  const closing = (async () => {
    try {
      await options.closeOwner({ patienceMs: graceMs / 3 });
    } finally {
      // `/health` says `draining` until the store is closed; only then does the listener go.
      await options.served.close({ graceMs: 500 });
    }
  })();
  try {
    await within(closing, graceMs);
  } finally {
    options.forget();
  }
}

/** Calls `drain` once, at the first SIGTERM or SIGINT; a second signal ends the process at once. */
export function onStopSignal(drain: (signal: NodeJS.Signals) => void): () => void {
  let isStopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (isStopping) process.exit(signal === "SIGINT" ? 130 : 143);
    isStopping = true;
    drain(signal);
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  return () => {
    process.off("SIGTERM", stop);
    process.off("SIGINT", stop);
  };
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
