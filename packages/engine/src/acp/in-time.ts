// A question to the agent that a prompt, or a person, waits for: every wait for it has an end.

import { Fault } from "@lichen/wire";
import type { HarnessClock } from "../harness/port.ts";
import type { Supervisor } from "../harness/supervisor.ts";

const answerMs = 60_000;

export interface InTime {
  readonly clock: HarnessClock;
  readonly supervisor: Pick<Supervisor, "stop">;
  /** Of the run that waits. */
  readonly signal?: AbortSignal;
}

/**
 * What the agent answers. One that says nothing for a minute is ended, and refused (`unavailable`) with `what` it was
 * asked; rejects with the run's reason where that is stopped meanwhile.
 */
export async function inTime<T>(asked: Promise<T>, what: string, it: InTime): Promise<T> {
  const { clock, signal, supervisor } = it;
  const over = Promise.withResolvers<never>();
  const stop = (): void => over.reject(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  const cancel = clock.after(answerMs, () => {
    const words = `The agent did not answer in a minute when it was asked ${what}, and was ended: send the message again.`;
    over.reject(new Fault("unavailable", words, { retryable: true }));
    void supervisor.stop(`it did not answer when it was asked ${what}`);
  });
  try {
    return await Promise.race([asked, over.promise]);
  } finally {
    cancel();
    signal?.removeEventListener("abort", stop);
  }
}
