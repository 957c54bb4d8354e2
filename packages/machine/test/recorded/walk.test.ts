// A recorded client: it asks everything that stands in the tables of the machine API's routes, over real HTTP, of a
// machine whose sessions run a real process, and compares what is answered with what is written there.

import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventIn } from "../rig.ts";
import type { Answer, Ask } from "../access/rig.ts";
import { type Exchange, type Route, routesOf } from "./routes.ts";
import { Shapes, shapesOf } from "./shape.ts";
import { Stage, type Words } from "./stage.ts";

const document = routesOf("routes.json");
const own = routesOf("own-routes.json");
const shapes = new Shapes(shapesOf("shapes.json"), shapesOf("beyond.json"));
const openStage = () => Stage.open(mkdtempSync(join(tmpdir(), "lichen-recorded-")));

/** The events of a stream up to a number; the stream is left then. */
async function eventsUpTo(
  answer: IncomingMessage,
  last: number,
): Promise<NonNullable<ReturnType<typeof eventIn>>[]> {
  let text = "";
  answer.setEncoding("utf8");
  for await (const chunk of answer) {
    text += String(chunk);
    const events = text
      .split("\n\n")
      .slice(0, -1)
      .flatMap((block) => eventIn(block) ?? []);
    if ((events.findLast(({ id }) => id !== undefined)?.id ?? 0) >= last) {
      answer.destroy();
      return events;
    }
  }
  throw new Error(`it ended before: ${text}`);
}

class Client {
  readonly #stage: Stage;
  /** What differs from what is written. */
  readonly wrong: string[] = [];
  readonly walked = new Set<string>();
  /** Kinds of events that were seen. */
  readonly kinds = new Set<string>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async walk({ route, exchanges }: Route): Promise<void> {
    const [method = "", pattern = ""] = route.split(" ");
    for (const exchange of exchanges) {
      const words = await this.#stage.words(
        exchange.of ?? "none",
        JSON.stringify({ route, exchange }),
      );
      const path = filled(pattern + (exchange.query ?? ""), {
        ...encoded(words),
        ...exchange.path,
      });
      const tell = (what: string) => this.wrong.push(`${route}, ${exchange.when}: ${what}`);
      const ask = await this.#askOf(method, exchange, words);
      if (exchange.body === "stream") await this.#follow(path, ask, exchange, tell);
      else if (exchange.announce !== undefined)
        this.#compare(await this.#announced(path, ask, exchange.announce), exchange, words, tell);
      else this.#compare(await this.#stage.rig.ask(path, ask), exchange, words, tell);
      this.walked.add(route);
      await this.#leave(words);
    }
  }

  async #askOf(method: string, exchange: Exchange, words: Words): Promise<Ask> {
    const { rig, viewer } = this.#stage;
    const { as = "owner", headers, json, text } = exchange;
    const who = {
      owner: async () => ({}),
      viewer: async () => ({ token: viewer }),
      nobody: async () => ({ token: null }),
      peer: async () => ({ token: null, from: "127.0.0.3", to: "127.0.0.2" }),
      process: async () => {
        const { id } = await this.#stage.info(words.name);
        return { socket: rig.access.sockets.open(id).path, token: null };
      },
    };
    return {
      method,
      ...(await who[as]()),
      ...(headers ? { headers } : {}),
      ...(json === undefined ? {} : { json: JSON.parse(filled(JSON.stringify(json), words)) }),
      ...(text === undefined ? {} : { body: text }),
    };
  }

  #compare(
    { status, headers, text }: Pick<Answer, "status" | "headers" | "text">,
    exchange: Exchange,
    words: Words,
    tell: (what: string) => void,
  ): void {
    const wanted = exchange.ours ?? exchange;
    if (status !== wanted.status) return tell(`${status}, not ${wanted.status}: ${text}`);
    if (headers["x-content-type-options"] !== "nosniff") tell("its type may be guessed");
    if (wanted.body === "none") return text === "" ? undefined : tell(`it has a body: ${text}`);
    const type = headers["content-type"] ?? "";
    if (!/^application\/json(; *charset=utf-8)?$/i.test(type)) tell(`it is ${type}`);
    const body: unknown = JSON.parse(text);
    for (const what of shapes.differences(body, wanted.body)) tell(what);
    if (exchange.ours) return;
    for (const [at, value] of Object.entries(exchange.values ?? {})) {
      const found = JSON.stringify(valueAt(body, at));
      const meant = filled(JSON.stringify(value), words);
      if (found !== meant) tell(`${at}: ${found}, not ${meant}`);
    }
  }

  async #follow(
    path: string,
    ask: Ask,
    { ids = [] }: Exchange,
    tell: (what: string) => void,
  ): Promise<void> {
    const answer = await this.#stage.rig.stream(path, ask);
    if (answer.statusCode !== 200) return tell(String(answer.statusCode));
    if (answer.headers["content-type"] !== "text/event-stream")
      tell(`it is ${answer.headers["content-type"]}`);
    const events = await eventsUpTo(answer, ids.at(-1) ?? 1);
    const numbers = events.flatMap(({ id }) => id ?? []).slice(0, ids.length);
    if (JSON.stringify(numbers) !== JSON.stringify(ids))
      tell(`${JSON.stringify(numbers)}, not ${JSON.stringify(ids)}`);
  }

  /** The answer to a body that is announced and never sent. */
  #announced(
    path: string,
    ask: Ask,
    bytes: number,
  ): Promise<Pick<Answer, "status" | "headers" | "text">> {
    const { rig } = this.#stage;
    const { promise, resolve, reject } =
      Promise.withResolvers<Pick<Answer, "status" | "headers" | "text">>();
    const outgoing = httpRequest(
      {
        ...{ host: "127.0.0.1", port: rig.port, path, method: ask.method, agent: false },
        headers: {
          authorization: `Bearer ${rig.host.token}`,
          "content-length": String(bytes),
          ...ask.headers,
        },
      },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => (text += chunk));
        answer.on("end", () => {
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text });
          outgoing.destroy();
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.flushHeaders();
    return promise;
  }

  /** Reads all that the session told, and deletes it. */
  async #leave(words: Words): Promise<void> {
    const { rig } = this.#stage;
    const { body } = await rig.ask("/v1/sessions");
    for (const { name } of body.sessions) {
      if (name === words["other"]) continue;
      const { last_seq: last } = await this.#stage.info(name);
      if (last > 0) await this.#readEvents(name, last);
      await rig.ask(`/v1/sessions/${name}`, { method: "DELETE" });
    }
  }

  async #readEvents(name: string, last: number): Promise<void> {
    const answer = await this.#stage.rig.stream(`/v1/sessions/${name}/events`, { method: "GET" });
    for (const { id, ...event } of await eventsUpTo(answer, last)) {
      this.kinds.add(event.kind);
      const differences = [
        ...shapes.differences(event, "Event", "event"),
        ...shapes.differences(event.data, `event ${event.kind}`, event.kind),
      ];
      if (id !== undefined && id !== event.seq) differences.push(`${id} is not ${event.seq}`);
      this.wrong.push(...differences);
    }
  }
}

function filled(text: string, words: Readonly<Record<string, string>>): string {
  return text.replace(/\{([a-z]+)\}/g, (whole, name: string) => words[name] ?? whole);
}

function encoded(words: Words): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(words).map(([name, word]) => [name, encodeURIComponent(word)]),
  );
}

function valueAt(body: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], body);
}

test("[MA30] every route of the machine API answers with the statuses and exactly the fields of its tables", async () => {
  await using stage = await openStage();
  writeFileSync(join(stage.home, "file"), "");
  await stage.rig.make("other");
  const client = new Client(stage);
  for (const route of document) await client.walk(route);
  expect(client.wrong).toEqual([]);
  expect([...client.walked].sort()).toEqual(document.map(({ route }) => route).sort());
  expect([...client.kinds]).toEqual(
    expect.arrayContaining([
      ...["answer", "claude", "message", "new_conversation", "renamed"],
      ...["restarted", "setting", "stopped"],
    ]),
  );
  expect(stage.rig.reports).toEqual([]);
}, 240_000);

test("[MA30] the routes that Lichen has beside them answer with the fields that are written down", async () => {
  await using stage = await openStage();
  const client = new Client(stage);
  for (const route of own) await client.walk(route);
  expect(client.wrong).toEqual([]);
  expect(stage.rig.reports).toEqual([]);
}, 60_000);

test("[MA30] what is answered otherwise than the tables say, and each field beside theirs, stands in the decision", () => {
  const decision = readFileSync(
    join(
      import.meta.dirname,
      "../../../../docs/decisions/0012-the-machine-api-and-its-document.md",
    ),
    "utf8",
  ).replace(/\s+/g, " ");
  const reasons = document.flatMap(({ exchanges }) => exchanges.flatMap(({ ours }) => ours ?? []));
  expect(reasons).not.toEqual([]);
  for (const { because } of reasons) expect(decision).toContain(because);
  const known = shapesOf("shapes.json");
  for (const [name, fields] of Object.entries(shapesOf("beyond.json")))
    if (name in known)
      for (const field of Object.keys(fields))
        expect(decision, name).toContain(`\`${field.replace("?", "")}\``);
});

test("[MA30] a field that is missing, not known or of another type is told", () => {
  const shape = { a: "count", "b?": "'x'|'y'", c: "Turn[]" };
  const turn = { time: "2026-01-01T00:00:00Z", role: "user", text: "" };
  expect(shapes.differences({ a: 1, b: "x", c: [turn] }, shape)).toEqual([]);
  expect(shapes.differences({ a: 1, c: [] }, shape)).toEqual([]);
  for (const [wrong, words] of [
    [{ c: [] }, "body.a: missing"],
    [{ a: -1, c: [] }, "body.a: -1 is not count"],
    [{ a: 1, b: "z", c: [] }, "body.b: \"z\" is not 'x'|'y'"],
    [{ a: 1, c: [], d: null }, "body.d: not known"],
    [{ a: 1, c: [{ ...turn, time: "now" }] }, 'body.c[0].time: "now" is not time'],
    [[], "body: [] is no object"],
  ] as const)
    expect(shapes.differences(wrong, shape)).toEqual([words]);
});

test("[MA30] every route that the machine has stands in one of the tables, once", async () => {
  await using stage = await openStage();
  const src = join(import.meta.dirname, "../../src");
  const patterns = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .flatMap((file) => [
      ...readFileSync(join(src, file), "utf8").matchAll(
        /(?:machine|session)Route\(\s*app,\s*("([^"]+)")?/g,
      ),
    ])
    .map(([whole, , pattern]) => pattern ?? whole);
  const mounted: string[] = [];
  for (const pattern of patterns) {
    // None that is made from parts, which no reader of the source would find.
    expect(pattern).toMatch(/^\/v1\//);
    const { headers } = await stage.rig.ask(pattern, { method: "PURGE" });
    for (const method of String(headers.allow).split(", "))
      if (method !== "HEAD") mounted.push(`${method} ${pattern}`);
  }
  expect(mounted.length).toBeGreaterThan(35);
  const written = new Set([...document, ...own].map(({ route }) => shapeOf(route)));
  expect(written.size).toBe(document.length + own.length);
  expect(mounted.filter((route) => !written.has(shapeOf(route)))).toEqual([]);
});

/** A route with its names taken out. */
function shapeOf(route: string): string {
  return route.replace(/\{\w+\}|:\w+/g, ":");
}
