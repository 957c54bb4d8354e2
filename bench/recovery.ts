// Figure 6: a thousand sessions killed in mid-run, all driven to an end after reopening.

import { join } from "node:path";
import { Child } from "./child.ts";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { removeStore } from "./stores.ts";
import { median } from "./statistics.ts";

export const recoveryFigure: Figure = {
  number: 6,
  title: "1,000 sessions killed in mid-run and reopened",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const sessions = context.isQuick ? 100 : 1_000;
  const rounds = context.isQuick ? 1 : 3;
  const store = join(context.folder, "killed.db");
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    removeStore(store);
    const killed = Child.start(context, "recovery-side.ts", { arguments: [store] });
    await killed.ask("run", sessions);
    await killed.kill();
    const reopened = Child.start(context, "recovery-side.ts", {
      as: `figure-6-${round}`,
      arguments: [store],
    });
    times.push(await reopened.ask<number>("recover", sessions));
    await reopened.stop();
  }
  return [
    {
      what: `${sessions} sessions settled after reopening`,
      measured: median(times) / 1_000,
      bound: "at most",
      target: 3,
      unit: "s",
      detail: { sessions, fastestMs: Math.min(...times), slowestMs: Math.max(...times) },
    },
  ];
}
