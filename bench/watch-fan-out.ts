// Figure 4: one session, a thousand readers over HTTP: what a delivered event costs, against a bare Hono fan-out.

import { Child } from "./child.ts";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { Keeping, postRequest, requestRate, type Target } from "./http-load.ts";
import { interleaved } from "./statistics.ts";
import { StreamReaders } from "./stream-readers.ts";

const text =
  "A line of the length that people write when they tell an agent something, and a bit. ".repeat(2);

export const fanOutFigure: Figure = {
  number: 4,
  title: "One session watched by 1,000 readers over HTTP",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const readers = context.isQuick ? 100 : 1_000;
  const events = context.isQuick ? 20 : 100;
  const rounds = context.isQuick ? 2 : 7;
  const lichen = Child.start(context, "serve-lichen.ts", {
    as: "figure-4-lichen",
    arguments: [context.folder],
  });
  const bare = Child.start(context, "serve-bare.ts", { as: "figure-4-bare" });
  const [port, token] = await lichen.ask<[number, string]>("address");
  const headers = { authorization: `Bearer ${token}` };
  const session = "/agents/bench/sessions/watched";
  const barePort = await bare.ask<number>("port");

  const ours = await Audience.open(
    lichen,
    { port, path: `${session}/commands`, headers },
    { port, path: `${session}/events`, headers },
    readers,
  );
  const theirs = await Audience.open(
    bare,
    { port: barePort, path: "/publish", headers: {} },
    { port: barePort, path: "/events", headers: {} },
    readers,
  );
  const cost = await interleaved(
    rounds,
    () => ours.microsPerDelivery(events),
    () => theirs.microsPerDelivery(events),
  );
  ours.close();
  theirs.close();
  await Promise.all([lichen.stop(), bare.stop()]);
  return [
    {
      what: "CPU per delivered event, against a bare fan-out",
      measured: cost.ratio,
      bound: "at most",
      target: 1.25,
      unit: "x",
      detail: { readers, lichenMicros: cost.first, bareMicros: cost.second },
    },
  ];
}

/** One server's readers and the one who speaks to them. */
class Audience {
  readonly #server: Child;
  readonly #publish: Target;
  readonly #speaker: Keeping;
  readonly #readers: StreamReaders;
  readonly #count: number;
  #spoken = 0;

  private constructor(
    server: Child,
    publish: Target,
    speaker: Keeping,
    readers: StreamReaders,
    count: number,
  ) {
    this.#server = server;
    this.#publish = publish;
    this.#speaker = speaker;
    this.#readers = readers;
    this.#count = count;
  }

  static async open(server: Child, publish: Target, events: Target, count: number) {
    const speaker = await Keeping.open(publish.port);
    // The session must be there before anyone can watch it.
    await requestRate([speaker], 1, () => postRequest(publish, lineOf(0)));
    const readers = await StreamReaders.open(events, count);
    return new Audience(server, publish, speaker, readers, count);
  }

  async microsPerDelivery(events: number): Promise<number> {
    const before = await this.#server.cpu();
    const delivered = this.#readers.delivered;
    for (let event = 1; event <= events; event++) {
      await requestRate([this.#speaker], 1, () =>
        postRequest(this.#publish, lineOf(++this.#spoken)),
      );
      await this.#readers.reach(delivered + event * this.#count);
    }
    const after = await this.#server.cpu();
    return (after.cpuMicros - before.cpuMicros) / (events * this.#count);
  }

  close(): void {
    this.#speaker.close();
    this.#readers.close();
  }
}

function lineOf(number: number): object {
  return { type: "line", requestId: `line-${number}`, text };
}
