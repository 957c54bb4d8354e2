// Figure 2: invoke over HTTP, a new session each and 8 at once, against a bare Hono SSE handler of the same bytes, one
// that makes the same durable writes, and itself with many other sessions in the store.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Child } from "./child.ts";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { expectSuccess, Keeping, postRequest, requestRate, type Target } from "./http-load.ts";
import type { InvokeWrites } from "./invoke-writes.ts";
import { makeCrowdedStore } from "./large-store.ts";
import { interleaved, type Paired } from "./statistics.ts";

const connections = 8;

export const invokeFigure: Figure = {
  number: 2,
  title: "Invoke over HTTP, new session each, 8 concurrent",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const requests = context.isQuick ? 200 : 1_500;
  const rounds = context.isQuick ? 2 : 9;
  const others = context.isQuick ? 100 : 10_000;
  const alone = join(context.folder, "alone");
  const crowded = join(context.folder, "crowded");
  for (const folder of [alone, crowded]) mkdirSync(folder);
  const recordingPath = join(context.folder, "recorded.db");
  const recorder = Child.start(context, "record-invoke.ts", { arguments: [recordingPath] });
  const writes = await recorder.ask<InvokeWrites>("record");
  await recorder.stop();
  await makeCrowdedStore(join(crowded, "host.db"), { sessions: others, entries: 100 });
  context.note(`made a store with ${others} other sessions`);

  const bare = Child.start(context, "serve-bare.ts", { as: "figure-2-bare" });
  await bare.ask("writes", { path: `${recordingPath}-before`, writes });
  const barePort = await bare.ask<number>("port");
  const lichen = await Invoked.lichen(context, alone, "figure-2-lichen");
  const frames = framesOf(await lichen.once());
  await bare.ask("frames", frames);
  const stream = await Invoked.open(bare, { port: barePort, path: "/invoke", headers: {} });
  const durable = await Invoked.open(bare, { port: barePort, path: "/durable", headers: {} });
  const rate = (side: Invoked) => () => side.rate(requests);

  const overStream = await interleaved(rounds, rate(lichen), rate(stream));
  const overDurable = await interleaved(rounds, rate(lichen), rate(durable));
  const amongOthers = await Invoked.lichen(context, crowded, "figure-2-crowded");
  const overAlone = await interleaved(rounds, rate(amongOthers), rate(lichen));
  for (const side of [lichen, amongOthers, stream, durable]) side.close();
  await Promise.all([lichen, amongOthers, stream].map((side) => side.server.stop()));
  const reading = (what: string, paired: Paired, target: number): Reading => ({
    what,
    measured: paired.ratio,
    bound: "at least",
    target,
    unit: "x",
    detail: {
      perSecond: paired.first,
      peerPerSecond: paired.second,
      writes: writes.statements.length,
    },
  });
  return [
    reading("against a bare Hono SSE handler of the same bytes", overStream, 0.15),
    reading("against a handler that makes the same durable writes", overDurable, 0.6),
    reading(`with ${others} other sessions, against none`, overAlone, 0.9),
  ];
}

/** One server that is invoked over its own connections. */
class Invoked {
  readonly server: Child;
  readonly #target: Target;
  readonly #connections: readonly Keeping[];
  #sent = 0;

  private constructor(server: Child, target: Target, opened: readonly Keeping[]) {
    this.server = server;
    this.#target = target;
    this.#connections = opened;
  }

  static async open(server: Child, target: Target): Promise<Invoked> {
    const opening = Array.from({ length: connections }, () => Keeping.open(target.port));
    return new Invoked(server, target, await Promise.all(opening));
  }

  static async lichen(context: BenchContext, folder: string, as: string): Promise<Invoked> {
    const server = Child.start(context, "serve-lichen.ts", { as, arguments: [folder] });
    const [port, token] = await server.ask<[number, string]>("address");
    const headers = { authorization: `Bearer ${token}` };
    return await Invoked.open(server, { port, path: "/agents/bench/invoke", headers });
  }

  rate(requests: number): Promise<number> {
    return requestRate(this.#connections, requests, () => this.#request());
  }

  async once(): Promise<Buffer> {
    const answer = await this.#connections[0]!.send(this.#request());
    expectSuccess(answer);
    return answer;
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  #request(): string {
    return postRequest(this.#target, { session: `invoked-${++this.#sent}`, text: "Hello" });
  }
}

/** The chunks of a chunked answer, as the server wrote them. */
function framesOf(answer: Buffer): string[] {
  const text = answer.toString("utf8");
  let at = text.indexOf("\r\n\r\n") + 4;
  const frames: string[] = [];
  for (;;) {
    const end = text.indexOf("\r\n", at);
    const length = Number.parseInt(text.slice(at, end), 16);
    if (!(length > 0)) break;
    frames.push(text.slice(end + 2, end + 2 + length));
    at = end + 2 + length + 2;
  }
  if (!frames.join("").includes('"completed"'))
    throw new Error(`The invocation ended in ${text.slice(0, 2_000)}`);
  return frames;
}
