// The client in workerd, against a door in a Durable Object: the same watch, view and outbox as in Node.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { openOwner } from "@lichen/runtime";
import { cloudflarePlatform, sqlOf } from "@lichen/runtime/cloudflare";
import { scriptedEngine, textOutcome } from "@lichen/runtime/testing";
import { expect, test } from "vitest";
import { createDoor } from "../../server/src/door/door.ts";
import {
  createClient,
  type HttpClient,
  memoryStorage,
  openOutbox,
  settled,
  ViewFold,
  viewOf,
} from "../src/index.ts";

const token = "the-token-of-the-owner-long-enough";

/** Runs a test's body with a client of agent `a`, both inside one object. */
function withClient(body: (client: HttpClient) => Promise<void>): Promise<void> {
  return runInDurableObject(
    env.PLACE.getByName(crypto.randomUUID()),
    async (_place: unknown, state: DurableObjectState) => {
      const report = (error: unknown): void => {
        throw error;
      };
      const platform = cloudflarePlatform({ report });
      const owner = openOwner({ sql: sqlOf(state.storage), platform });
      await owner.attach({
        agent: "a",
        engine: scriptedEngine([
          { calls: [{ name: "look", effect: () => textOutcome("seen") }] },
          { say: "hello ☃" },
        ]),
      });
      const door = createDoor({
        owner: () => owner,
        tokens: {
          tokens: () => [
            { id: "owner", sha256: platform.sha256(token), principal: { kind: "owner" } },
          ],
          sha256: (text) => platform.sha256(text),
          prove: () => Promise.resolve(""),
        },
        features: [],
        platform,
        log: ({ error }) => report(error),
        listensAs: () => ["door.example"],
      });
      const client = createClient({
        url: "http://door.example",
        token,
        fetch: async (url, init) => {
          const headers = new Headers(init.headers);
          headers.set("host", "door.example");
          return door.app.fetch(new Request(url, { ...init, headers }));
        },
      });
      await body(client);
      door.drain();
      await owner.close({ patienceMs: 0 });
    },
  );
}

test("[N23] in workerd a session is sent to, watched, folded and settled", () =>
  withClient(async (client) => {
    expect((await client.health()).status).toBe("ok");
    const session = client.agent("a").session("s");
    await session.send({ type: "line", requestId: "l", text: "first" });
    const fold = new ViewFold();
    let commandId = "";
    for await (const frame of session.watch()) {
      fold.take(frame);
      if (frame.type === "baseline") {
        const receipt = await session.send({ type: "prompt", requestId: "p", text: "hi" });
        commandId = receipt.commandId!;
      }
      if (frame.type === "entry" && frame.data.kind === "run.settled") break;
    }
    expect(await settled(session, commandId)).toMatchObject({ answer: "hello ☃" });
    expect(fold.view).toEqual(viewOf(await session.read()));
    expect(fold.view!.items.map((item) => item.type)).toEqual([
      "line",
      "user",
      "assistant",
      "assistant",
    ]);
    const ended = session.watch()[Symbol.asyncIterator]();
    await ended.next();
    await session.delete();
    let step = await ended.next();
    while (!step.done) step = await ended.next();
    expect(step.done).toBe(true);
  }));

test("[N23] in workerd an outbox sends what it holds, and the host's stream tells of it", () =>
  withClient(async (client) => {
    const outbox = await openOutbox({ client, storage: memoryStorage() });
    const told: string[] = [];
    for await (const frame of client.watchHost()) {
      told.push(frame.type);
      if (frame.type === "baseline")
        await outbox.add({ agent: "a", session: "t", command: { type: "line", text: "one" } });
      if (frame.type === "session" && frame.data.head > 0) break;
    }
    expect(told[0]).toBe("baseline");
    const { entries } = await client.agent("a").session("t").read();
    expect(entries.map((entry) => entry.data["text"])).toEqual(["one"]);
    await outbox.close();
  }));
