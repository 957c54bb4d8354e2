// Figure 13: a coding agent's log of 200 MB, searched and opened at its end.

import { join } from "node:path";
import { Child } from "./child.ts";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { ask, DeltaTimes, machineAddress, Watching } from "./machine-client.ts";
import { lengthenSession, storeBytes } from "./seed.ts";
import { median, percentile } from "./statistics.ts";
import { settleStore } from "./stores.ts";

export const largeLogFigure: Figure = {
  number: 13,
  title: "A coding agent's log of 200 MB",
  measure,
};

const path = "/v1/sessions/long";
const events = 300;
/** What each turn's tool puts out. */
const resultBytes = 12_000;
/** What is looked for, and how often it is found: fifty at most are asked for, and a turn says what it was asked to say. */
const words = {
  "a word of every answer": ["harvest of", 50],
  "a word of one turn": ["quince", 2],
  "a word that nobody said": ["zeppelin", 0],
  "words of tools' output only": ["too long to be read", 0],
} as const;

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const turns = context.isQuick ? 10 : 100;
  const wanted = (context.isQuick ? 4 : 200) * 1_048_576;
  const searches = context.isQuick ? 5 : 40;
  const store = join(context.folder, "state", "host.db");
  await writeLog(context, turns);
  settleStore(store);
  const { bytes, entries, session } = storeBytes(store);
  const times = Math.ceil(wanted / bytes);
  lengthenSession(store, session, entries * times);
  await sayOnce(context);
  context.note(`made a log of ${Math.round((bytes * times) / 1_048_576)} MB`);

  const machine = start(context, "figure-13");
  const address = await machineAddress(machine);
  await isQuiet(machine);
  const readings: Reading[] = [];
  const add = (what: string, took: readonly number[], target: number): void => {
    const detail = { p99Ms: percentile(took, 0.99), firstMs: took[0] ?? Number.NaN };
    readings.push({
      ...{ what, measured: median(took), bound: "at most", target, unit: "ms" },
      detail: { ...detail, bytes: bytes * times },
    });
  };
  for (const [what, [q, most]] of Object.entries(words)) {
    const took: number[] = [];
    for (let asked = 0; asked < searches; asked++) {
      const began = performance.now();
      const answer = await ask(address, `${path}/search?q=${encodeURIComponent(q)}`);
      took.push(performance.now() - began);
      const { found } = JSON.parse(answer) as { found: unknown[] };
      if (found.length !== most) throw new Error(`${found.length} hits for ${q}, not ${most}.`);
    }
    add(`searched for ${what}, p50`, took, 20);
  }
  const opened: number[] = [];
  for (let asked = 0; asked < searches; asked++) {
    let count = 0;
    let rest = "";
    const began = performance.now();
    const watching = await Watching.open(address, `${path}/events?tail=${events}`, (text) => {
      const parts = `${rest}${text}`.split("\nid: ");
      count += parts.length - 1;
      rest = parts.at(-1)!.slice(-4);
    });
    await watching.until(() => count >= events, `${events} events`);
    opened.push(performance.now() - began);
    watching.close();
  }
  add(`opened at its last ${events} events, p50`, opened, 30);
  await machine.ask("close");
  await machine.stop();
  return readings;
}

function start(context: BenchContext, as: string): Child {
  return Child.start(context, "serve-machine.ts", { as, arguments: [context.folder] });
}

/** A session that Lichen writes itself, turn by turn. */
async function writeLog(context: BenchContext, turns: number): Promise<void> {
  await inMachine(context, async (say) => {
    for (let turn = 0; turn < turns; turn++) {
      const row = `Row ${turn}: the harvest of ${1900 + turn} weighed more than the one before it. `;
      await say({ says: [row.repeat(30), row.repeat(20)], result: resultBytes });
    }
  });
}

/** One more turn, which has a word that no other has, before many that have not. */
async function sayOnce(context: BenchContext): Promise<void> {
  await inMachine(context, async (say) => {
    await say({ says: ["There is a quince tree at the end of the field."] });
    for (let turn = 0; turn < events / 4; turn++) await say({ says: ["No other tree."] });
  });
}

async function inMachine(
  context: BenchContext,
  work: (say: (wish: object) => Promise<void>) => Promise<void>,
): Promise<void> {
  const machine = start(context, "figure-13-made");
  const address = await machineAddress(machine);
  if (!(await ask(address, "/v1/sessions")).includes('"long"'))
    await ask(address, "/v1/sessions", { name: "long", dir: "~/long" });
  const times = new DeltaTimes();
  const tail = `${path}/events?tail=0`;
  const watching = await Watching.open(address, tail, (text) => times.take(text));
  await work(async (wish) => {
    const { ends } = times;
    await ask(address, `${path}/messages`, { text: JSON.stringify(wish) });
    await watching.until(() => times.ends > ends, "end of the turn");
  });
  watching.close();
  await machine.ask("close");
  await machine.stop();
}

/** Settles when the machine has done what it does by itself after its start. */
async function isQuiet(machine: Child): Promise<void> {
  for (let calm = 0; calm < 5;) {
    const { cpuMicros } = await machine.cpu();
    await new Promise((resolve) => setTimeout(resolve, 200));
    const used = (await machine.cpu()).cpuMicros - cpuMicros;
    calm = used < 20_000 ? calm + 1 : 0;
  }
}
