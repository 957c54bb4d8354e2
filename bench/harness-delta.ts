// Figure 11: a delta on its way from a coding agent's stdout to a client's socket, against a relay that only passes it on.

import { percentile } from "./statistics.ts";
import { Child } from "./child.ts";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { type Address, ask, DeltaTimes, machineAddress, Watching } from "./machine-client.ts";
import { interleaved, median } from "./statistics.ts";

/** Between two deltas, over and over: a model says about a hundred in a second, by fits and starts. */
const everyMs = [10, 4, 16, 1, 1, 24, 8, 12, 2, 18];

export const harnessDeltaFigure: Figure = {
  number: 11,
  title: "A delta from a coding agent's stdout to a client's socket",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const rounds = context.isQuick ? 2 : 9;
  const deltas = context.isQuick ? 50 : 300;
  const machine = Child.start(context, "serve-machine.ts", {
    as: "figure-11-machine",
    arguments: [context.folder],
  });
  const relay = Child.start(context, "serve-relay.ts", { as: "figure-11-relay" });
  const address = await machineAddress(machine);
  await ask(address, "/v1/sessions", { name: "watched", dir: "~/watched" });
  const ours = await Listener.open(address, "/v1/sessions/watched");
  const theirs = await Listener.open({ port: await relay.ask<number>("port") }, "");
  const late: number[] = [];
  const { first, second, difference } = await interleaved(
    rounds,
    async () => {
      const latencies = await ours.listen(deltas);
      late.push(percentile(latencies, 0.99));
      return median(latencies);
    },
    async () => median(await theirs.listen(deltas)),
  );
  ours.close();
  theirs.close();
  await machine.ask("close");
  await Promise.all([machine.stop(), relay.stop()]);
  return [
    {
      what: "a delta through Lichen, above a bare relay, p50",
      measured: difference,
      bound: "at most",
      target: 2,
      unit: "ms",
      detail: { deltas, lichenMs: first, relayMs: second, lichenP99Ms: median(late) },
    },
  ];
}

/** A client that asks for deltas and watches them come. */
class Listener {
  readonly #address: Address;
  readonly #path: string;
  readonly #watching: Watching;
  readonly #times: DeltaTimes;

  private constructor(address: Address, path: string, watching: Watching, times: DeltaTimes) {
    this.#address = address;
    this.#path = path;
    this.#watching = watching;
    this.#times = times;
  }

  static async open(address: Address, path: string): Promise<Listener> {
    const times = new DeltaTimes();
    const watching = await Watching.open(address, `${path}/events`, (text) => times.take(text));
    return new Listener(address, path, watching, times);
  }

  /** How long each of these deltas was on its way. */
  async listen(deltas: number): Promise<number[]> {
    const times = this.#times;
    const ends = times.ends;
    times.latencies = [];
    const text = JSON.stringify({ deltas, everyMs });
    await ask(this.#address, `${this.#path}/messages`, { text });
    await this.#watching.until(() => times.ends > ends, "end of the turn");
    if (times.latencies.length === deltas) return times.latencies;
    throw new Error(`${times.latencies.length} of ${deltas} deltas arrived.`);
  }

  close(): void {
    this.#watching.close();
  }
}
