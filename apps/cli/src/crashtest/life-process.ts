// One life, as a process of its own: takes a job, lives it, and tells its account; or is dead before that.

import { realpathSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { setTimeout as sleep } from "node:timers/promises";
import { recordAnswers, type RecordedAnswer, replayAnswers } from "@lichen/engine";
import { openHost } from "@lichen/server/node";
import { variable } from "../model-name.ts";
import { StrayFaults } from "../stray-faults.ts";
import { Client } from "./client.ts";
import { Deaths } from "./death.ts";
import { Effects } from "./effects.ts";
import type { Account, Job, Message } from "./job.ts";
import { readWitness, Witness } from "./witness.ts";

const restMs = 400;

enableCompileCache();
// Nobody is left to hear of it.
process.once("disconnect", () => process.exit(1));
process.once("message", (job: Job) => {
  live(job).then(
    (account) => tell({ type: "account", account }),
    (error: unknown) => tell({ type: "failed", reason: reasonOf(error) }),
  );
});

async function live(job: Job): Promise<Account> {
  const { session, dir } = job;
  const earlier = readWitness(job.witness);
  const witness = new Witness(job.witness);
  const deaths = new Deaths(job.death);
  const effects = new Effects({ session, dir, witness, earlier, deaths });
  const answers: RecordedAnswer[] = [];
  // What tools leave behind them ends no host, and so no life.
  const strays = new StrayFaults();
  strays.take({
    dirs: [realpathSync(dir)],
    left: () => undefined,
    broken: (error) => tell({ type: "failed", reason: reasonOf(error) }),
  });
  const recorded = job.answers;
  const host = await openHost({
    dir,
    state: job.stateDir,
    env: variable,
    ...(job.model === undefined ? {} : { model: job.model }),
    report: (error) => tell({ type: "failed", reason: reasonOf(error) }),
    around: {
      sql: (sql) => deaths.aroundSql(sql),
      engine: (engine) => strays.around(effects.aroundEngine(engine)),
      models: (models) =>
        recorded
          ? replayAnswers(models, recorded)
          : recordAnswers(models, (answer) => answers.push(answer)),
    },
  });
  const client = new Client({ agent: host.agent, session, witness });
  const settlement = await client.prompt(job.prompt, job.limitMs);
  const entries = await client.entries();
  // What a host does when nothing else is to do: a life that must be counted, or has yet to die, waits for that.
  if (job.rests) await sleep(restMs);
  await host.close({ patienceMs: 0 });
  return {
    ...(settlement ? { settlement } : {}),
    epoch: client.epoch,
    entries,
    writes: deaths.writes,
    effects: deaths.effects,
    answers,
  };
}

function tell(message: Message): void {
  process.send?.(message, undefined, undefined, () => process.exit(0));
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
