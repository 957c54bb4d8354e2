import { Fault } from "@lichen/wire";
import { expect, test } from "vitest";
import { type Agent, createClient, type Frame, ViewFold } from "../src/index.ts";
import { HandClock } from "./hand-clock.ts";
import { baselineAt, HandHost, lineAt } from "./hand-host.ts";
import { hurry } from "./hurry.ts";
import { openTestHost } from "./host.ts";
import { prompt } from "./messages.ts";
import { codeOf } from "./session.contract.ts";

function openHand(options: { after?: string; signal?: AbortSignal } = {}) {
  const host = new HandHost();
  const clock = new HandClock();
  const client = createClient({
    url: "http://host",
    token: "t",
    fetch: host.fetch,
    platform: clock,
  });
  const frames = client.agent("a").session("s").watch(options)[Symbol.asyncIterator]();
  const next = async (): Promise<Frame> => {
    const step = await frames.next();
    if (step.done) throw new Error("the watch ended");
    return step.value;
  };
  return { host, clock, client, frames, next };
}

test("[N10] an outage is told once when it begins and once when it ends, however many tries it takes", async () => {
  const { host, clock, frames, next } = openHand();
  const first = frames.next();
  (await host.next()).fail(new TypeError("refused"));
  expect((await first).value).toMatchObject({ type: "outage", data: { since: clock.now() } });
  const since = clock.now();
  const back = frames.next();
  for (let tries = 0; tries < 4; tries++) {
    await clock.waiting(500 * 2 ** tries);
    clock.advance(500 * 2 ** tries);
    if (tries < 3)
      (await host.next()).answer(
        { error: { code: "unavailable", message: "starting", retryable: true } },
        503,
      );
  }
  const stream = (await host.next()).stream();
  expect((await back).value).toMatchObject({ type: "back", data: { since, at: clock.now() } });
  stream.frame("baseline", baselineAt(3), "e1.3");
  expect(await next()).toMatchObject({ type: "baseline", id: "e1.3" });
  stream.break();
  expect(await next()).toMatchObject({ type: "outage", data: { reason: { code: "unavailable" } } });
  await frames.return?.();
});

test("[N11] the delay doubles from half a second to thirty, is spread by chance, and begins anew after a frame", async () => {
  const { host, clock, frames } = openHand();
  /** Lets the connection that is asked for fail; answers how long the next pause is. */
  const failed = async (): Promise<number> => {
    const asked = await host.next();
    const armed = clock.armed();
    asked.fail(new TypeError("refused"));
    return armed;
  };
  const outage = frames.next();
  (await host.next()).fail(new TypeError("refused"));
  await outage;
  let armed = clock.armed();
  const back = frames.next();
  const shortest = [await armed];
  while (shortest.length < 8) {
    clock.advance(shortest.at(-1)!);
    shortest.push(await failed());
  }
  expect(shortest).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
  clock.advance(15_000);
  const stream = (await host.next()).stream();
  expect((await back).value).toMatchObject({ type: "back" });

  const baseline = frames.next();
  stream.frame("baseline", baselineAt(0), "e1.0");
  await baseline;
  clock.chance = 0.5;
  const again = frames.next();
  stream.end();
  expect((await again).value).toMatchObject({ type: "outage" });
  armed = clock.armed();
  const rest = frames.next();
  const middling = [await armed];
  while (middling.length < 7) {
    clock.advance(middling.at(-1)!);
    middling.push(await failed());
  }
  expect(middling).toEqual([750, 1_500, 3_000, 6_000, 12_000, 22_500, 22_500]);
  await frames.return?.();
  expect((await rest).done).toBe(true);
});

test("[N12] forty seconds without a byte end a connection, and a ping is a sign of life", async () => {
  const { host, clock, frames, next } = openHand();
  const first = next();
  const stream = (await host.next()).stream();
  stream.frame("baseline", baselineAt(0), "e1.0");
  await first;
  let armed = clock.armed();
  const outage = next();
  for (let at = 0; at < 3; at++) {
    expect(await armed).toBe(40_000);
    clock.advance(39_999);
    armed = clock.armed();
    stream.write(": ping\n\n");
  }
  expect(await armed).toBe(40_000);
  clock.advance(40_000);
  const frame = await outage;
  expect(frame).toMatchObject({ type: "outage" });
  expect(String(frame.type === "outage" && frame.data.reason.cause)).toContain("40 seconds");
  expect(stream.isLeft).toBe(true);
  const back = frames.next();
  await clock.waiting(500);
  clock.advance(500);
  const asked = await host.next();
  expect(asked.headers.get("last-event-id")).toBe("e1.0");
  asked.stream();
  expect((await back).value).toMatchObject({ type: "back" });
  await frames.return?.();
});

test("[N9] what comes again is passed over, and what does not follow is never told: a fresh baseline is", async () => {
  const { host, clock, frames, next } = openHand();
  const first = next();
  const stream = (await host.next()).stream();
  stream.frame("baseline", baselineAt(2), "e1.2");
  await first;
  for (const seq of [1, 2, 3, 3, 4]) stream.frame("entry", lineAt(seq), `e1.${seq}`);
  expect([await next(), await next()]).toMatchObject([{ id: "e1.3" }, { id: "e1.4" }]);
  stream.frame("entry", lineAt(6), "e1.6");
  expect(await next()).toMatchObject({ type: "outage" });
  const back = next();
  await clock.waiting(500);
  clock.advance(500);
  const asked = await host.next();
  expect(asked.headers.has("last-event-id")).toBe(false);
  const second = asked.stream();
  await back;
  second.frame("baseline", baselineAt(6), "e1.6");
  expect(await next()).toMatchObject({ type: "reset", id: "e1.6" });
  await frames.return?.();
});

test("[N8] entries of unknown kinds and shapes are told as they are and shown as unknown; unknown frames are passed over", async () => {
  const { host, frames, next } = openHand();
  const fold = new ViewFold();
  const take = async (): Promise<void> => fold.take(await next());
  const first = take();
  const stream = (await host.next()).stream();
  stream.frame(
    "baseline",
    { ...baselineAt(0), session: { ...baselineAt(0).session, mood: "new" } },
    "e1.0",
  );
  await first;
  stream.frame("weather", { any: "thing" });
  const strange = lineAt(1, { kind: "extension.poll", data: { votes: [1, { deep: true }] } });
  const bent = lineAt(2, { kind: "run.settled", data: { terminal: "paused" } });
  const huge = lineAt(3, {
    kind: "message.assistant",
    data: {
      content: { blob: "0".repeat(64), mimeType: "application/json", bytes: 9 },
      stop: "stop",
    },
  });
  for (const entry of [strange, bent, huge, lineAt(4, { parent: "ent_3" })])
    stream.frame("entry", entry, `e1.${entry.seq}`);
  for (let at = 0; at < 4; at++) await take();
  expect(fold.entries).toEqual([strange, bent, huge, lineAt(4, { parent: "ent_3" })]);
  expect(fold.view).toMatchObject({
    session: { head: 4, leaf: "ent_4" },
    items: [
      { type: "unknown", entry: strange },
      { type: "unknown", entry: bent },
      { type: "unknown", entry: huge },
      { type: "line", text: "line 4" },
    ],
  });
  await frames.return?.();
});

test("[N13] a watch ends where its session was deleted during an outage, and throws where it is refused for good", async () => {
  const ended = openHand();
  const first = ended.next();
  const stream = (await ended.host.next()).stream();
  stream.frame("baseline", baselineAt(0), "e1.0");
  await first;
  stream.break();
  await ended.next();
  const end = ended.frames.next();
  await ended.clock.waiting(500);
  ended.clock.advance(500);
  (await ended.host.next()).answer(
    { error: { code: "unknown_session", message: "gone", retryable: false } },
    404,
  );
  expect((await end).done).toBe(true);

  for (const [code, status] of [
    ["unauthenticated", 401],
    ["denied", 403],
    ["invalid", 400],
  ] as const) {
    const refused = openHand();
    const frame = refused.frames.next();
    (await refused.host.next()).answer(
      { error: { code, message: "no", retryable: false } },
      status,
    );
    expect(await codeOf(() => frame)).toBe(code);
    expect((await refused.frames.next()).done).toBe(true);
  }
});

test("[N13] a reader that leaves while it waits ends the connection at once", async () => {
  const { host, clock, frames, next } = openHand();
  const first = next();
  const stream = (await host.next()).stream();
  stream.frame("baseline", baselineAt(0), "e1.0");
  await first;
  const waiting = frames.next();
  await frames.return?.();
  expect((await waiting).done).toBe(true);
  expect(stream.isLeft).toBe(true);
  expect(clock.waits).toEqual([]);

  const left = new AbortController();
  const other = openHand({ signal: left.signal });
  const pending = other.frames.next();
  const asked = await other.host.next();
  left.abort();
  expect((await pending).done).toBe(true);
  expect(asked.init.signal?.aborted).toBe(true);
});

test("[N13] of a watch that was left, the host keeps nothing open", async () => {
  await using host = await openTestHost({ script: [{ say: "ok" }] });
  const client = host.client();
  await client.agent("a").create({ requestId: "c", session: "s" });
  for await (const frame of client.agent("a").session("s").watch()) {
    expect([frame.type, host.openStreams]).toEqual(["baseline", 1]);
    break;
  }
  for await (const frame of client.watchHost()) {
    expect(frame.type).toBe("baseline");
    break;
  }
  while (host.openStreams > 0) await new Promise((resolve) => void setImmediate(resolve));
  expect(host.openStreams).toBe(0);
});

test("[N11] a client that is told of a better time does not wait for the end of its pause", async () => {
  const { host, clock, client, frames } = openHand();
  const outage = frames.next();
  (await host.next()).fail(new TypeError("refused"));
  await outage;
  const back = frames.next();
  await clock.waiting(500);
  client.wake();
  (await host.next()).stream();
  expect((await back).value).toMatchObject({ type: "back" });
  await frames.return?.();
  expect(clock.waits).toEqual([]);
});

test("[N7] the host's stream begins anew with a reset after the host did", async () => {
  await using host = await openTestHost({ script: [{ say: "ok" }] });
  const agent = (): Agent => host.client().agent("a");
  await agent().create({ requestId: "c", session: "s" });
  const told: string[] = [];
  for await (const frame of host.client({ platform: hurry }).watchHost()) {
    told.push(frame.type === "session" ? `session ${frame.data.session}` : frame.type);
    if (frame.type === "baseline") void host.stop();
    if (frame.type === "outage") {
      await host.stop();
      await host.start();
    }
    if (frame.type === "reset") {
      expect(frame.data.sessions).toMatchObject([{ session: "s" }]);
      await agent().create({ requestId: "d", session: "t" });
    }
    if (frame.type === "session") break;
  }
  expect(told).toEqual(["baseline", "outage", "back", "reset", "session t"]);
});

test("[N10] a host that is stopped and started underneath is an outage, and nothing is missed or doubled", async () => {
  await using host = await openTestHost({ script: [{ say: "ok" }] });
  const session = host.client({ platform: hurry }).agent("a").session("s");
  const plain = host.client().agent("a").session("s");
  await plain.send({ type: "line", requestId: "l1", text: "one" });
  const kinds: string[] = [];
  const lines: unknown[] = [];
  for await (const frame of session.watch()) {
    kinds.push(frame.type);
    if (frame.type === "baseline") await plain.send({ type: "line", requestId: "l2", text: "two" });
    if (frame.type === "entry") lines.push(frame.data.data["text"]);
    if (frame.type === "entry" && lines.length === 1) void host.stop();
    if (frame.type === "outage") {
      await host.stop();
      await host.start();
      await plain.send({ type: "line", requestId: "l3", text: "three" });
    }
    if (lines.length === 2) break;
  }
  expect(kinds).toEqual(["baseline", "entry", "outage", "back", "entry"]);
  expect(lines).toEqual(["two", "three"]);
});

test("[N4] refusals keep their code, message and whether to try again; what is no host's answer is told apart", async () => {
  const host = new HandHost();
  const clock = new HandClock();
  const client = createClient({
    url: "http://host/",
    token: "t",
    fetch: host.fetch,
    platform: clock,
  });
  const session = client.agent("a").session("s");
  const ask = async (
    answer: (asked: Awaited<ReturnType<HandHost["next"]>>) => void,
  ): Promise<Fault> => {
    const asking = session.info().then(
      () => new Error("no refusal"),
      (error: unknown) => error,
    );
    answer(await host.next());
    const error = await asking;
    if (!Fault.is(error)) throw error;
    return error;
  };
  expect(
    await ask((it) =>
      it.answer({ error: { code: "busy", message: "is busy", retryable: true } }, 409),
    ),
  ).toMatchObject({ code: "busy", message: "is busy", retryable: true });
  expect(
    await ask((it) =>
      it.answer({ error: { code: "newer_code", message: "x", retryable: false } }, 409),
    ),
  ).toMatchObject({ code: "conflict", message: "x" });
  for (const [status, code] of [
    [401, "unauthenticated"],
    [403, "denied"],
    [404, "unavailable"],
    [413, "too_large"],
    [418, "invalid"],
    [429, "capacity"],
    [500, "internal"],
    [502, "unavailable"],
    [504, "unavailable"],
  ] as const)
    expect(await ask((it) => it.respond(new Response("<html>", { status })))).toMatchObject({
      code,
    });
  expect(await ask((it) => it.fail(new TypeError("refused")))).toMatchObject({
    code: "unavailable",
    retryable: true,
  });
  expect(
    await ask((it) => it.respond(new Response("<html>welcome to the hotel</html>"))),
  ).toMatchObject({ code: "unavailable", retryable: true });
  expect(await ask((it) => it.answer({ not: "a baseline" }))).toMatchObject({
    code: "unavailable",
  });
  const torn = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode('{"epoch":'));
      controller.error(new TypeError("cut"));
    },
  });
  expect(await ask((it) => it.respond(new Response(torn)))).toMatchObject({
    code: "unavailable",
    retryable: true,
  });
});

test("[N4] an answer that never comes ends in bounded time, also where fetch does not listen to its signal", async () => {
  const clock = new HandClock();
  const client = createClient({
    url: "http://host",
    fetch: () => new Promise(() => {}),
    platform: clock,
  });
  const session = client.agent("a").session("s");
  const reading = codeOf(() => session.info());
  await clock.waiting(30_000);
  clock.advance(30_000);
  expect(await reading).toBe("unavailable");
  const sending = codeOf(() => session.send(prompt("p")));
  await clock.waiting(120_000);
  clock.advance(120_000);
  expect(await sending).toBe("unavailable");
  const waiting = codeOf(() => session.readSettlement("cmd_1", { timeoutMs: 30_000 }));
  await clock.waiting(45_000);
  clock.advance(45_000);
  expect(await waiting).toBe("unavailable");
  expect(clock.waits).toEqual([]);
});

test("[N6] the token goes to the given address alone, by the given fetch, and no answer leads it elsewhere", async () => {
  const host = new HandHost();
  let asked = 0;
  const client = createClient({
    url: "http://host/base/",
    token: () => Promise.resolve(`token-${++asked}`),
    fetch: host.fetch,
    platform: new HandClock(),
  });
  const info = codeOf(() => client.agent("a").session("x/../y").info());
  const first = await host.next();
  expect(first.url).toBe("http://host/base/agents/a/sessions/x%2F..%2Fy?limit=1");
  expect(first.headers.get("authorization")).toBe("Bearer token-1");
  expect(first.init.redirect).toBe("manual");
  first.respond(new Response(null, { status: 307, headers: { location: "http://elsewhere/" } }));
  expect(await info).toBe("unavailable");
  void codeOf(() => client.agents());
  expect((await host.next()).headers.get("authorization")).toBe("Bearer token-2");
  expect(host.asked).toHaveLength(2);
  expect(await codeOf(() => client.agent("../x").session("s").info())).toBe("invalid");
});
