// How long pi may go on where its run is stopped.
//
//   PI8  It is asked to stop, and has eight seconds, whatever it was in the middle of; then its process is ended.
//   PI25 Where the log cannot be written it has none: it waits for nobody, and whatever it did would be recorded nowhere.

import { isUnwritable } from "../harness/stopping.ts";
import type { PiLink } from "./turn-parts.ts";

const patienceMs = 8_000;

/** Watches over a run until what this answers is called. */
export function watchOver(signal: AbortSignal, link: Pick<PiLink, "kill" | "after">): () => void {
  let cancel: (() => void) | undefined;
  const stopped = (): void => {
    if (isUnwritable(signal)) link.kill("its log cannot be written");
    else cancel = link.after(patienceMs, () => link.kill("it did not stop when it was asked"));
  };
  if (signal.aborted) stopped();
  else signal.addEventListener("abort", stopped, { once: true });
  return () => {
    signal.removeEventListener("abort", stopped);
    cancel?.();
  };
}
