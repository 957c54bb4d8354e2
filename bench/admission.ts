// Figure 1: durable admissions in process, against the same SQL statements in a bare loop with the same pragmas.

import { Child } from "./child.ts";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { interleaved } from "./statistics.ts";

/** How one round is asked for. */
export interface AdmissionRound {
  readonly callers: number;
  readonly admissions: number;
}

export const admissionFigure: Figure = {
  number: 1,
  title: "Durable admissions in process",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const rounds = context.isQuick ? 2 : 9;
  const child = Child.start(context, "admission-side.ts", {
    as: "figure-1",
    arguments: [context.folder],
    execArgv: ["--expose-gc"],
  });
  const single: AdmissionRound = { callers: 1, admissions: context.isQuick ? 200 : 1_000 };
  const many: AdmissionRound = { callers: 64, admissions: context.isQuick ? 640 : 6_400 };
  const early = await child.ask<number>("record", many);
  context.note(`recorded ${many.admissions} admissions`);

  const one = await interleaved(
    rounds,
    () => child.ask<number>("lichen", single),
    () => child.ask<number>("bare", { ...single, synchronous: "full" }),
  );
  await child.ask("watchLoop");
  const crowd = await interleaved(
    rounds,
    () => child.ask<number>("lichen", many),
    () => child.ask<number>("bare", { ...many, synchronous: "off" }),
  );
  const delayMs = await child.ask<number>("loopDelay");
  await child.stop();
  const rates = (paired: { first: number; second: number }) => ({
    lichenPerSecond: paired.first,
    barePerSecond: paired.second,
  });
  return [
    {
      what: "1 caller, against one FULL commit each",
      measured: one.ratio,
      bound: "at least",
      target: 0.75,
      unit: "x",
      detail: rates(one),
    },
    {
      what: "64 callers, against one OFF commit each",
      measured: crowd.ratio,
      bound: "at least",
      target: 0.9,
      unit: "x",
      detail: rates(crowd),
    },
    {
      what: "event loop's delay meanwhile, p99",
      measured: delayMs,
      bound: "at most",
      target: 20,
      unit: "ms",
      detail: {},
    },
    {
      what: "admissions acknowledged before they were durable",
      measured: early,
      bound: "at most",
      target: 0,
      unit: "",
      detail: { admissions: many.admissions },
    },
  ];
}
