// Figure 12: the list of 200 sessions of a machine while 20 of them stream to a client each.

import { Child } from "./child.ts";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { expectSuccess, Keeping } from "./http-load.ts";
import { type Address, ask, DeltaTimes, machineAddress, Watching } from "./machine-client.ts";
import { median, percentile } from "./statistics.ts";

export const listFigure: Figure = {
  number: 12,
  title: "The list of a machine's sessions while some of them stream",
  measure,
};

/** Of one that streams. */
const everyMs = 10;
/** Sessions that have a process at a time while they are made. */
const batch = 20;
const found = "I looked at what you asked for, and this is what I found there. ";

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const sessions = context.isQuick ? 40 : 200;
  const streaming = context.isQuick ? 4 : 20;
  const lists = context.isQuick ? 20 : 400;
  for (let made = 0; made < sessions; made += batch) await makeSessions(context, made, batch);
  const machine = startMachine(context, "figure-12");
  const address = await machineAddress(machine);
  const quiet = await timesOfLists(address, lists / 4);

  const times = new DeltaTimes();
  const watching: Watching[] = [];
  for (let number = 0; number < streaming; number++) {
    const path = `/v1/sessions/s${number}`;
    watching.push(await Watching.open(address, `${path}/events`, (text) => times.take(text)));
    const text = JSON.stringify({ deltas: 1e6, everyMs: [everyMs] });
    await ask(address, `${path}/messages`, { text });
  }
  for (const it of watching)
    await it.until(() => times.latencies.length > 50 * streaming, "deltas");
  const before = await machine.cpu();
  const [began, seen] = [performance.now(), times.latencies.length];
  const busy = await timesOfLists(address, lists);
  const tookMs = performance.now() - began;
  const after = await machine.cpu();
  for (const it of watching) it.close();
  await machine.ask("close");
  await machine.stop();
  return [
    {
      what: `the list of ${sessions} sessions while ${streaming} stream, p50`,
      measured: median(busy),
      bound: "at most",
      target: 10,
      unit: "ms",
      detail: {
        p99Ms: percentile(busy, 0.99),
        quietMs: median(quiet),
        deltasPerSecond: (times.latencies.length - seen) / (tookMs / 1_000),
        deltaMs: median(times.latencies.slice(seen)),
        machineCpuShare: (after.cpuMicros - before.cpuMicros) / 1_000 / tookMs,
      },
    },
  ];
}

function startMachine(context: BenchContext, as: string): Child {
  return Child.start(context, "serve-machine.ts", { as, arguments: [context.folder] });
}

/** Sessions that have said something; their processes end with the machine. */
async function makeSessions(context: BenchContext, from: number, count: number): Promise<void> {
  const machine = startMachine(context, "figure-12-made");
  const address = await machineAddress(machine);
  const says = Array.from({ length: 10 }, (_, line) => `${line + 1}. ${found.repeat(3)}`);
  const text = JSON.stringify({ says });
  const making = Array.from({ length: count }, async (_, number) => {
    const path = `/v1/sessions/s${from + number}`;
    await ask(address, "/v1/sessions", { name: `s${from + number}`, dir: "~/work" });
    const times = new DeltaTimes();
    const watching = await Watching.open(address, `${path}/events`, (it) => times.take(it));
    await ask(address, `${path}/messages`, { text });
    await watching.until(() => times.ends > 0, "end of the turn");
    watching.close();
  });
  await Promise.all(making);
  await machine.ask("close");
  await machine.stop();
}

async function timesOfLists(address: Address, count: number): Promise<number[]> {
  const client = await Keeping.open(address.port);
  const request = `GET /v1/sessions?tail=6 HTTP/1.1\r\nhost: 127.0.0.1:${address.port}\r\nauthorization: Bearer ${address.token}\r\n\r\n`;
  const times: number[] = [];
  for (let asked = 0; asked < count; asked++) {
    const began = performance.now();
    expectSuccess(await client.send(request));
    times.push(performance.now() - began);
    // A person looks at it before it is asked for again.
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  client.close();
  return times;
}
