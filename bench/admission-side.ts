// The measured process of figure 1: both sides of the ratio, on copies of one store.
//
// No run may start, or admissions would not be all that is measured: the owner has a capacity of none.

import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Agent } from "@lichen/runtime";
import type { AdmissionRound } from "./admission.ts";
import { BareSql } from "./bare-sql.ts";
import { answerParent } from "./child.ts";
import { openLichen } from "./open-lichen.ts";
import { RecordingSql, type Transaction } from "./sql-trace.ts";
import { copyStore, settleStore } from "./stores.ts";

const folder = process.argv[2]!;
const base = join(folder, "base.db");
const work = join(folder, "work.db");
const sessions = 64;
const text = "A prompt of the length that people write when they ask for something in passing.";

let setup: readonly Transaction[] = [];
let recorded: readonly Transaction[] = [];
// The timer's own millisecond is in every value.
const resolutionMs = 1;
const delay = monitorEventLoopDelay({ resolution: resolutionMs });

/** Admits through `callers` loops, each waiting for its receipts; settles with admissions per second. */
async function admit(
  agent: Agent,
  { callers, admissions }: AdmissionRound,
  acknowledged?: (requestId: string) => void,
): Promise<number> {
  let next = 0;
  const caller = async (): Promise<void> => {
    for (let number = next++; number < admissions; number = next++) {
      const requestId = `request-${number}`;
      await agent.session(`session-${number % sessions}`).send({ type: "prompt", requestId, text });
      acknowledged?.(requestId);
    }
  };
  const began = performance.now();
  await Promise.all(Array.from({ length: callers }, caller));
  return admissions / ((performance.now() - began) / 1_000);
}

async function makeBase(): Promise<void> {
  const { agent, close } = await openLichen(base, { capacity: 0 });
  for (let number = 0; number < sessions; number++)
    await agent.create({ requestId: `make-${number}`, session: `session-${number}` });
  await close();
  settleStore(base);
}

/** Records what one caller's admissions say to the database; then answers how many of 64 callers' came too early. */
async function record(round: AdmissionRound): Promise<number> {
  await makeBase();
  let recording: RecordingSql | undefined;
  const around = (sql: ConstructorParameters<typeof RecordingSql>[0]) =>
    (recording = new RecordingSql(sql));
  const alone = await openLichen(copyStore(base, work), { capacity: 0, around });
  const before = recording!.transactions.length;
  await admit(alone.agent, { ...round, callers: 1 });
  await alone.close();
  setup = recording!.transactions.slice(0, before);
  recorded = recording!.transactions.slice(before).filter(hasReceipt).slice(0, round.admissions);
  if (recorded.length < round.admissions)
    throw new Error(
      `${recorded.length} of ${round.admissions} admissions had a transaction of their own.`,
    );

  const crowd = await openLichen(copyStore(base, work), { capacity: 0, around });
  const committedIn = new Map<unknown, number>();
  let read = 0;
  let early = 0;
  await admit(crowd.agent, round, (requestId) => {
    const { transactions, synced } = recording!;
    for (; read < transactions.length; read++)
      for (const { values } of transactions[read]!.filter(writesReceipt))
        for (const value of values) committedIn.set(value, read + 1);
    if ((committedIn.get(requestId) ?? Number.POSITIVE_INFINITY) > synced) early++;
  });
  await crowd.close();
  return early;
}

function writesReceipt({ text: statement }: Transaction[number]): boolean {
  return /^\s*insert( or \w+)? into request\b/i.test(statement);
}

function hasReceipt(transaction: Transaction): boolean {
  return transaction.some(writesReceipt);
}

answerParent({
  record,
  watchLoop: () => delay.reset(),
  loopDelay: () => Math.max(0, delay.percentile(99) / 1e6 - resolutionMs),
  lichen: async (round: AdmissionRound) => {
    const { agent, close } = await openLichen(copyStore(base, work), { capacity: 0 });
    globalThis.gc?.();
    delay.enable();
    const rate = await admit(agent, round);
    delay.disable();
    await close();
    return rate;
  },
  bare: ({ admissions, synchronous }: AdmissionRound & { synchronous: "off" | "full" }) => {
    const sql = new BareSql(copyStore(base, work), synchronous);
    for (const transaction of setup) sql.commit(transaction);
    globalThis.gc?.();
    const rate = sql.rate(recorded.slice(0, admissions));
    sql.close();
    return rate;
  },
});
