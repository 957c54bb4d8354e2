// Figure 5, memory: what an idle open session and an idle agent hold.

import { join } from "node:path";
import { Child } from "./child.ts";
import type { BenchContext, Figure, Reading } from "./figure.ts";

export const memoryFigure: Figure = {
  number: 5,
  title: "Memory of idle sessions and agents",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const sessions = context.isQuick ? 200 : 2_000;
  const agents = context.isQuick ? 100 : 1_000;
  const start = (as: string) =>
    Child.start(context, "memory-side.ts", {
      as,
      arguments: [join(context.folder, `${as}.db`)],
      execArgv: ["--expose-gc"],
    });
  const sessionSide = start("figure-5-sessions");
  const perSession = (await sessionSide.ask<number>("sessions", sessions)) / sessions;
  await sessionSide.stop();
  const agentSide = start("figure-5-agents");
  const forAgents = await agentSide.ask<number>("agents", agents);
  await agentSide.stop();
  return [
    {
      what: "memory for each idle open session",
      measured: perSession / 1e3,
      bound: "at most",
      target: 50,
      unit: "KB",
      detail: { sessions },
    },
    {
      what: `${agents} agents in one host, above one`,
      measured: forAgents / 1e6,
      bound: "at most",
      target: 60,
      unit: "MB",
      detail: { agents },
    },
  ];
}
