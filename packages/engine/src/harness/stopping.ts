// Why a run is to stop, as far as a driver treats it differently.

/**
 * True: somebody cancelled it, so the harness is asked to stop its turn. Otherwise its host closes, or the log cannot be
 * written: the run is left as it is, to be gone on with.
 */
export function wasCancelled(signal: AbortSignal): boolean {
  const reason: unknown = signal.reason;
  return signal.aborted && reason instanceof Error && /\bcancelled\b/.test(reason.message);
}
