// The crashtest itself: a first life whose answers are recorded, one that is counted, and then for every crash point one
// that dies there and one that goes on.
//
//   Every point begins with the agent as it was; the provider is asked in the first life only.
//   Two points at a time. Ending it early ends every process it has started.

import { Fault, type Settlement } from "@lichen/wire";
import type { Account, Job } from "./job.ts";
import { judge, type Verdict } from "./judge.ts";
import { type Ending, live } from "./lives.ts";
import { choose, type Choice, type Point, pointsOf } from "./points.ts";
import type { Report, Tested } from "./report.ts";
import { readWitness } from "./witness.ts";
import type { Copy, Workplace } from "./workplace.ts";

const atOnce = 2;
/** The first life may be a long one, on a real model. */
const firstMs = 600_000;
const mostTries = 3;

export interface CrashtestOptions {
  readonly place: Workplace;
  readonly session: string;
  readonly prompt: string;
  readonly model?: string;
  readonly choice: Choice;
  readonly isKept: boolean;
  readonly onProgress: (done: number, all: number) => void;
  readonly signal: AbortSignal;
}

/** The report; or the id of a chosen point that the run doesn't have. */
export async function crashtest(
  options: CrashtestOptions,
): Promise<Report | { readonly unknown: string; readonly known: readonly Point[] }> {
  const { place } = options;
  const began = performance.now();
  const { answers } = await whole(options, "first", { limitMs: firstMs, rests: false });
  const limitMs = 20_000 + 3 * (performance.now() - began);
  // Counted at the pace of those that will be crashed: without a provider.
  const counted = await whole(options, "counted", { limitMs, answers, rests: true });
  const known = pointsOf(counted);
  const chosen = choose(known, options.choice);
  if ("unknown" in chosen) return { unknown: chosen.unknown, known };
  const tested = new Map<Point, Tested>();
  options.onProgress(0, chosen.points.length);
  const waiting = [...chosen.points];
  const work = async () => {
    for (let point = waiting.shift(); point; point = waiting.shift()) {
      tested.set(point, await test(options, point, { limitMs, answers }));
      options.onProgress(tested.size, chosen.points.length);
    }
  };
  // All of them end before the copies go.
  const ends = await Promise.allSettled(Array.from({ length: atOnce }, work));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
  return {
    writes: counted.writes.length,
    effects: counted.effects.length,
    tested: chosen.points.flatMap((point) => tested.get(point) ?? []),
    ...(options.isKept ? { kept: place.root } : {}),
  };
}

/** A life in which nothing crashes. */
async function whole(
  options: CrashtestOptions,
  name: string,
  rest: Pick<Job, "limitMs" | "answers" | "rests">,
): Promise<Account> {
  const copy = await options.place.copy(name);
  return accountOf(await live(jobOf(options, copy, rest), options.signal));
}

async function test(
  options: CrashtestOptions,
  point: Point,
  rest: Pick<Job, "limitMs" | "answers">,
): Promise<Tested> {
  const { place, signal, isKept } = options;
  for (let tries = 1; ; tries++) {
    const copy = await place.copy(point.id);
    const dying = jobOf(options, copy, { ...rest, death: point.death, rests: true });
    const { ended, ...how } = await live(dying, signal);
    // Some writes come by the clock, so that a life may end without the one it was to die after.
    const isReached = ended === "killed";
    if (!isReached && ended === "account" && tries < mostTries) {
      await place.discard(point.id);
      continue;
    }
    const last = await live(jobOf(options, copy, { ...rest, rests: false }), signal);
    const { terminal, ...verdict } = verdictOf(copy, last);
    const before = "reason" in how ? [how.reason] : [];
    if (!isKept) await place.discard(point.id);
    return {
      ...{ point, isReached, ...verdict, unfinished: [...before, ...verdict.unfinished] },
      ...(terminal === undefined ? {} : { terminal }),
    };
  }
}

function verdictOf(
  { witness }: Copy,
  last: Ending,
): Verdict & { readonly terminal?: Settlement["terminal"] } {
  if (last.ended !== "account")
    return {
      lost: [],
      repeated: [],
      unfinished: [
        last.ended === "failed"
          ? `the host did not go on: ${last.reason}`
          : "the host did not answer in time",
      ],
      unknown: [],
    };
  const { account } = last;
  const verdict = judge(readWitness(witness), account);
  return account.settlement ? { ...verdict, terminal: account.settlement.terminal } : verdict;
}

function jobOf(
  { session, prompt, model }: CrashtestOptions,
  { dir, stateDir, witness }: Copy,
  rest: Pick<Job, "limitMs" | "answers" | "death" | "rests">,
): Job {
  return {
    ...{ dir, stateDir, witness, session, prompt },
    ...(model === undefined ? {} : { model }),
    ...rest,
  };
}

/** Only a run that ends well by itself can be crashed and compared. */
function accountOf(ending: Ending): Account {
  if (ending.ended === "account") {
    const { settlement } = ending.account;
    if (settlement?.terminal === "completed") return ending.account;
    const why = settlement?.diagnostic === undefined ? "" : ` (${settlement.diagnostic})`;
    throw new Fault(
      "invalid",
      `Nothing was tested: without any crash the run ended ${settlement?.terminal ?? "not at all"}${why}.`,
    );
  }
  const why = ending.ended === "failed" ? ending.reason : "it did not end in time";
  throw new Fault("invalid", `Nothing was tested: the first run could not be made: ${why}`);
}
