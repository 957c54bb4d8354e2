// A watch as an async iterator: it holds a few frames ahead of its reader; what else waits stays in the log.

import type { Frame, Sink, Subscription } from "../api.ts";

const framesAhead = 16;

/** Iterates what `observe` pushes, until the watch ends, the reader returns or the signal aborts. */
export async function* iterateWatch(
  observe: (sink: Sink<Frame>) => Subscription,
  signal?: AbortSignal,
): AsyncGenerator<Frame, void, undefined> {
  const frames: Frame[] = [];
  let isOver = false;
  let wake: (() => void) | undefined;
  const stir = (): void => {
    wake?.();
    wake = undefined;
  };
  const stop = (): void => {
    isOver = true;
    stir();
  };
  const subscription = observe({
    frame: (frame) => {
      frames.push(frame);
      stir();
      return frames.length < framesAhead;
    },
    end: stop,
  });
  signal?.addEventListener("abort", stop);
  try {
    while (signal?.aborted !== true) {
      const frame = frames.shift();
      if (frame) {
        yield frame;
        if (frames.length === 0) subscription.resume();
        continue;
      }
      if (isOver) return;
      await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    subscription.close();
  }
}
