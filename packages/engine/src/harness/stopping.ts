// Why a run is to stop, as far as a driver treats it differently.

/**
 * True: somebody cancelled it, so the harness is asked to stop its turn. Otherwise its host closes, or the log cannot be
 * written: the run is left as it is, to be gone on with.
 */
export function wasCancelled(signal: AbortSignal): boolean {
  return wasStopped(signal, /\bcancelled\b/);
}

/** True: its log cannot be written, so nothing may go on that would stand nowhere. */
export function isUnwritable(signal: AbortSignal): boolean {
  return wasStopped(signal, /\bunwritable\b/);
}

function wasStopped(signal: AbortSignal, why: RegExp): boolean {
  const reason: unknown = signal.reason;
  return signal.aborted && reason instanceof Error && why.test(reason.message);
}
