// Figure 14: a tool result of 20 MB passes while another session streams: how long that one's text stands still.

import { Child } from "./child.ts";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { type Address, ask, DeltaTimes, machineAddress, Watching } from "./machine-client.ts";
import { median } from "./statistics.ts";

export const largeResultFigure: Figure = {
  number: 14,
  title: "A tool result of 20 MB beside a session that streams",
  measure,
};

const everyMs = 4;
/** About as long as a result takes to pass. */
const quietMs = 700;

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const bytes = (context.isQuick ? 4 : 20) * 1_000_000;
  const rounds = context.isQuick ? 2 : 11;
  const machine = Child.start(context, "serve-machine.ts", {
    as: "figure-14",
    arguments: [context.folder],
  });
  const address = await machineAddress(machine);
  const large = await Session.open(address, "large");
  const other = await Session.open(address, "other");
  await other.say({ deltas: 1e6, everyMs: [everyMs] });
  await large.turn({ result: 1_000 });
  const stalls: number[] = [];
  const quiet: number[] = [];
  const passed: number[] = [];
  const turns: number[] = [];
  for (let round = 0; round < rounds; round++) {
    quiet.push(
      await other.worstDuring(() => new Promise((resolve) => setTimeout(resolve, quietMs))),
    );
    await machine.ask("longestTurn");
    const began = performance.now();
    stalls.push(await other.worstDuring(() => large.turn({ result: bytes })));
    passed.push(performance.now() - began);
    turns.push((await machine.ask<number>("longestTurn")) / 1_000);
    if (large.received < bytes * (round + 1)) throw new Error("The result did not come whole.");
  }
  large.close();
  other.close();
  await machine.ask("close");
  await machine.stop();
  return [
    {
      what: "what it adds to the longest wait of another session's text",
      measured: median(stalls.map((stall, round) => stall - quiet[round]!)),
      bound: "at most",
      target: 50,
      unit: "ms",
      detail: {
        bytes,
        withMs: median(stalls),
        withoutMs: median(quiet),
        worstMs: Math.max(...stalls),
        bestMs: Math.min(...stalls),
        passesMs: median(passed),
      },
    },
    {
      what: "the longest that the machine's loop is at one thing meanwhile, in processor time",
      measured: median(turns),
      bound: "at most",
      target: 50,
      unit: "ms",
      detail: { bytes, worstMs: Math.max(...turns) },
    },
  ];
}

/** A session with a client that watches it. */
class Session {
  readonly #address: Address;
  readonly #path: string;
  readonly #times = new DeltaTimes();
  #watching: Watching | undefined;
  received = 0;

  private constructor(address: Address, name: string) {
    this.#address = address;
    this.#path = `/v1/sessions/${name}`;
  }

  static async open(address: Address, name: string): Promise<Session> {
    const session = new Session(address, name);
    await ask(address, "/v1/sessions", { name, dir: `~/${name}` });
    session.#watching = await Watching.open(address, `${session.#path}/events`, (text) => {
      session.received += text.length;
      session.#times.take(text);
    });
    return session;
  }

  async say(wish: object): Promise<void> {
    await ask(this.#address, `${this.#path}/messages`, { text: JSON.stringify(wish) });
  }

  /** Settles when the turn's end has arrived. */
  async turn(wish: object): Promise<void> {
    const times = this.#times;
    const { ends } = times;
    await this.say(wish);
    await this.#watching?.until(() => times.ends > ends, "end of the turn");
  }

  /** How long the slowest delta was on its way meanwhile. */
  async worstDuring(work: () => Promise<void>): Promise<number> {
    const times = this.#times;
    times.latencies = [];
    await work();
    const seen = times.latencies.length;
    await this.#watching?.until(() => times.latencies.length > seen + 5, "deltas");
    return Math.max(...times.latencies);
  }

  close(): void {
    this.#watching?.close();
  }
}
