// A wait that ends: work gets a signal, and who waits for it goes on when the time is over or the signal fires.

/** Calls `wake` once after `ms`; the answer cancels it. */
export type After = (ms: number, wake: () => void) => () => void;

export interface Bound {
  readonly after: After;
  readonly ms: number;
  readonly late: () => Error;
  readonly signal?: AbortSignal;
}

/** Settles with `work`, or rejects when `ms` are over or `signal` fires; what `work` still does is for nobody then. */
export async function within<T>(
  { after, ms, late, signal }: Bound,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const abort = new AbortController();
  const over = Promise.withResolvers<never>();
  abort.signal.addEventListener("abort", () => over.reject(abort.signal.reason));
  const stop = (): void => abort.abort(signal?.reason);
  signal?.addEventListener("abort", stop);
  const cancel = after(ms, () => abort.abort(late()));
  try {
    const begun = (async () => work(abort.signal))();
    begun.catch(ignore);
    return await Promise.race([begun, over.promise]);
  } finally {
    cancel();
    signal?.removeEventListener("abort", stop);
    over.promise.catch(ignore);
  }
}

export function ignore(): void {
  // Whoever waited has gone on already.
}
