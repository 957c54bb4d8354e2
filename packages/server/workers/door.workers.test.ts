// The session door in a Durable Object: the same door, on the object's own storage.

import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { openOwner } from "@lichen/runtime";
import { cloudflarePlatform, sqlOf } from "@lichen/runtime/cloudflare";
import { scriptedEngine } from "@lichen/runtime/testing";
import { Baseline } from "@lichen/wire";
import { expect, test } from "vitest";
import { createDoor, type Door } from "../src/door/door.ts";
import { sign } from "../src/door/proof.ts";

const token = "the-token-of-the-owner-long-enough";

interface Place {
  readonly door: Door;
  /** With the owner's token, unless a header is given (or taken away) by name. */
  readonly ask: (
    path: string,
    asked?: { json?: unknown; headers?: Record<string, string | null> },
  ) => Promise<Response>;
}

/** Runs a test's body inside an object that serves agent `a`. */
function inPlace(body: (place: Place) => Promise<void>): Promise<void> {
  return runInDurableObject(
    env.PLACE.getByName(crypto.randomUUID()),
    async (_place: unknown, state: DurableObjectState) => {
      const platform = cloudflarePlatform({
        report: (error) => {
          throw error;
        },
      });
      const owner = openOwner({ sql: sqlOf(state.storage), platform });
      await owner.attach({
        agent: "a",
        engine: scriptedEngine([{ partials: ["hel"] }, { say: "hello" }]),
      });
      const door = createDoor({
        owner: () => owner,
        tokens: {
          tokens: () => [
            { id: "owner", sha256: platform.sha256(token), principal: { kind: "owner" } },
          ],
          sha256: (text) => platform.sha256(text),
          prove: (nonce) => sign(token, nonce),
        },
        features: [],
        platform,
        log: ({ error }) => {
          throw error;
        },
        listensAs: () => ["door.example"],
      });
      const ask: Place["ask"] = async (path, { json, headers: given = {} } = {}) => {
        const headers = new Headers({
          host: "door.example",
          authorization: `Bearer ${token}`,
          "content-type": "application/json",
        });
        for (const [name, value] of Object.entries(given))
          if (value === null) headers.delete(name);
          else headers.set(name, value);
        const body = json === undefined ? {} : { method: "POST", body: JSON.stringify(json) };
        return door.app.fetch(new Request(`http://door.example${path}`, { ...body, headers }));
      };
      await body({ door, ask });
      door.drain();
      await owner.close({ patienceMs: 0 });
    },
  );
}

test("[H28] the door keeps its guard, its credentials and its refusals in a Durable Object", () =>
  inPlace(async ({ ask }) => {
    expect((await ask("/health")).status).toBe(200);
    expect((await ask("/health", { headers: { host: "evil.example" } })).status).toBe(403);
    expect((await ask("/agents", { headers: { origin: "https://evil.example" } })).status).toBe(
      403,
    );
    expect((await ask("/agents", { headers: { authorization: "Bearer wrong" } })).status).toBe(401);
    expect((await ask("/nothing")).status).toBe(404);
    expect((await ask("/agents/a/sessions", { json: { requestId: "r", more: 1 } })).status).toBe(
      400,
    );
    const login = await ask("/login", { json: { token } });
    const { page } = (await login.json()) as { page: string };
    const cookie = login.headers.get("set-cookie")!.split(";")[0]!;
    const headers = { cookie, "lichen-page": page, authorization: null };
    expect((await ask("/agents", { headers })).status).toBe(200);
  }));

test("[H28] a prompt is admitted, streamed, settled and followed in a Durable Object", () =>
  inPlace(async ({ door, ask }) => {
    const sent = await ask("/agents/a/sessions/s/commands", {
      json: { type: "prompt", requestId: "p", text: "hi" },
    });
    expect(sent.status).toBe(202);
    const { commandId } = await sent.json<{ commandId: string }>();
    const settled = await ask(
      `/agents/a/sessions/s/settlement?commandId=${commandId}&timeoutMs=30000`,
    );
    expect(await settled.json()).toMatchObject({ terminal: "completed", answer: "hello" });
    const invoked = await ask("/agents/a/invoke", { json: { session: "t", text: "hi" } });
    expect(await invoked.text()).toContain('"type":"completed"');

    const { head, epoch } = Baseline.parse(await (await ask("/agents/a/sessions/s")).json());
    const stream = await ask(`/agents/a/sessions/s/events?after=${epoch}.0`);
    door.drain();
    const frames = (await stream.text()).split("\n\n");
    expect(frames.filter((frame) => frame.startsWith("event: entry"))).toHaveLength(head);
    expect(frames.at(-2)).toBe(": closed");
  }));
