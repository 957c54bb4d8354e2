// What the client takes from the platform beside HTTP: time and chance. Tests give their own.

export interface ClientPlatform {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls `wake` once after `ms`; the answer cancels it. */
  after(ms: number, wake: () => void): () => void;
  /** From 0 up to 1, for jitter. */
  random(): number;
  /** An unguessable id, for requests. */
  randomId(): string;
}

export const webPlatform: ClientPlatform = {
  now: () => Date.now(),
  after: (ms, wake) => {
    const timer = setTimeout(wake, ms);
    return () => clearTimeout(timer);
  },
  random: () => Math.random(),
  // `randomUUID` is missing on pages that came over plain HTTP.
  randomId: () =>
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
      byte.toString(16).padStart(2, "0"),
    ).join(""),
};

/** Waits, at most until the signal aborts. */
export function pause(
  platform: Pick<ClientPlatform, "after">,
  ms: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const over = (): void => {
      cancel();
      signal?.removeEventListener("abort", over);
      resolve();
    };
    const cancel = platform.after(ms, over);
    signal?.addEventListener("abort", over);
  });
}

const longestMs = 30_000;

/** How long to wait before a further try: doubling from one second to thirty, and half of it up to chance. */
export function backoffMs(platform: Pick<ClientPlatform, "random">, failures: number): number {
  const ceiling = Math.min(longestMs, 1_000 * 2 ** Math.min(failures, 10));
  return ceiling / 2 + (ceiling / 2) * platform.random();
}
