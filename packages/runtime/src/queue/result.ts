// How a run's engine ended it: by its answer, by failing, or by not stopping in time.
//
//   Q4  A run that does not end within 10 s of its cancellation is settled without it, and can write no more.
//   Q8  An engine that throws, rejects or answers nonsense fails its command.

import { Terminal } from "@lichen/wire";
import type { Result } from "../engine/port.ts";
import type { LiveRun } from "../run/live-run.ts";
import type { Ground } from "../store/ground.ts";
import type { Sql } from "../store/sql.ts";
import { orphanedResult } from "./recovery.ts";

const graceMs = 10_000;

/** Begins the engine's work and waits for its result. */
export async function resultOf(
  { sql, platform }: Ground,
  run: LiveRun,
  begin: () => Promise<Result>,
): Promise<Result> {
  const gaveUp = Promise.withResolvers<Result>();
  let cancelTimer: (() => void) | undefined;
  const onStop = (): void => {
    cancelTimer = platform.after(graceMs, () => {
      run.end();
      gaveUp.resolve(late(sql, run));
    });
  };
  run.signal.addEventListener("abort", onStop, { once: true });
  if (run.signal.aborted) onStop();
  const begun = (async () => begin())();
  try {
    const result = await Promise.race([begun, gaveUp.promise]);
    if (!Terminal.safeParse(result?.terminal).success)
      throw new Error("the engine ended a run without a result");
    return result;
  } catch (error) {
    if (run.stopped === "cancelled") return { terminal: "cancelled" };
    if (run.stopped === undefined) platform.report(error);
    return orphanedResult(sql, run.cid, failure(run, error));
  } finally {
    cancelTimer?.();
    run.signal.removeEventListener("abort", onStop);
  }
}

/** What becomes of a run whose engine did not stop in time. */
function late(sql: Sql, run: LiveRun): Result {
  const diagnostic = "the engine did not stop in time";
  return run.stopped === "unwritable"
    ? orphanedResult(sql, run.cid, { terminal: "failed", diagnostic })
    : { terminal: "cancelled", diagnostic };
}

export function failure(run: LiveRun, error: unknown): Result {
  const isUnwritable = run.stopped === "unwritable";
  const cause = isUnwritable ? run.cause : error;
  const said = cause instanceof Error ? cause.message : String(cause);
  return {
    terminal: "failed",
    diagnostic: isUnwritable ? `the store could not be written: ${said}` : said,
  };
}
