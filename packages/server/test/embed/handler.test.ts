import { request as httpRequest } from "node:http";
import type { AgentEvent } from "@lichen/wire";
import { expect, test } from "vitest";
import { createInvokeHandler } from "../../src/embed/invoke-handler.ts";
import { nodeListener, serveNode } from "../../src/embed/host/serve-node.ts";
import { readBodyCapped } from "../../src/embed/read-body-capped.ts";
import { router } from "../../src/embed/router.ts";
import { text, textHeaders } from "../../src/embed/text.ts";
import type { Agent } from "../../src/invoke/contract.ts";

const echo: Agent = {
  async *invoke(scope, prompt): AsyncGenerator<AgentEvent> {
    yield { type: "text", delta: `${scope.session}: ${prompt.text}` };
    yield { type: "completed" };
  },
};

const post = (body: string) => new Request("http://localhost/", { method: "POST", body });

test("[I11] the handler streams one data line per event and refuses in plain text", async () => {
  const handle = createInvokeHandler(echo);
  const answer = await handle(post(JSON.stringify({ session: "s", text: "hi" })));
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toBe("text/event-stream");
  expect(answer.headers.get("cache-control")).toBe("no-cache");
  expect(await answer.text()).toBe(
    'data: {"type":"text","delta":"s: hi"}\n\ndata: {"type":"completed"}\n\n',
  );
  const refusal = async (request: Request) => {
    const refused = await handle(request);
    return [refused.status, await refused.text()];
  };
  expect(await refusal(new Request("http://localhost/"))).toEqual([405, "POST only\n"]);
  expect(await refusal(post("{"))).toEqual([400, "invalid json\n"]);
  const strings = [400, "session and text must be strings\n"];
  expect(await refusal(post('{"session":1,"text":"x"}'))).toEqual(strings);
  expect(await refusal(post('{"session":"x"}'))).toEqual(strings);
  expect(await refusal(post("null"))).toEqual(strings);
  expect((await handle(post('{"session":"","text":"","parentSession":1}'))).status).toBe(400);
  expect((await handle(post('{"session":"","text":"","branchHints":[1]}'))).status).toBe(400);
  expect((await handle(post('{"session":"","text":""}'))).status).toBe(200);
});

test("[I11] a body is capped at 1 MiB in real bytes, whatever its length header claims", async () => {
  const handle = createInvokeHandler(echo);
  const chunk = new TextEncoder().encode("é".repeat(50_000));
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += chunk.byteLength;
      controller.enqueue(chunk);
    },
  });
  const init: RequestInit & { duplex: "half" } = {
    method: "POST",
    body,
    headers: { "content-length": "10" },
    duplex: "half",
  };
  const answer = await handle(new Request("http://localhost/", init));
  expect([answer.status, await answer.text()]).toEqual([413, "body too large\n"]);
  expect(sent).toBeLessThan(1_400_000);
  const exact = JSON.stringify({ session: "s", text: "x".repeat(1_048_576 - 25) });
  expect(exact).toHaveLength(1_048_576);
  expect((await handle(post(exact))).status).toBe(200);
  expect(await readBodyCapped(post("häuser"), 7)).toEqual({ text: "häuser" });
  expect(await readBodyCapped(post("häuser"), 6)).toEqual({ tooLarge: true });
});

test("[I12] a quiet run is pinged every 30 s, and a reader that takes nothing is not flooded", async () => {
  const timers: { ms: number; wake: () => void }[] = [];
  const event = Promise.withResolvers<void>();
  const quiet: Agent = {
    async *invoke(): AsyncGenerator<AgentEvent> {
      await event.promise;
      yield { type: "completed" };
    },
  };
  const handle = createInvokeHandler(quiet, {
    after: (ms, wake) => {
      const timer = { ms, wake };
      timers.push(timer);
      return () => timers.splice(timers.indexOf(timer), 1);
    },
  });
  const answer = await handle(post('{"session":"s","text":"x"}'));
  const reader = answer.body!.getReader();
  const fire = () => timers.splice(0).forEach(({ ms, wake }) => (expect(ms).toBe(30_000), wake()));
  const read = reader.read().then(({ value }) => new TextDecoder().decode(value));
  fire();
  expect(await read).toBe(": ping\n\n");
  for (let n = 0; n < 5; n++) fire();
  event.resolve();
  let rest = "";
  for (let next = await reader.read(); !next.done; next = await reader.read())
    rest += new TextDecoder().decode(next.value);
  expect(rest.match(/: ping/g)).toHaveLength(1);
  expect(rest).toContain('data: {"type":"completed"}\n\n');
  expect(timers).toEqual([]);
});

test("[I12] the next event is asked for when the last one was taken, and a reader that leaves stops the run", async () => {
  let asked = 0;
  const left = Promise.withResolvers<void>();
  const endless: Agent = {
    async *invoke(): AsyncGenerator<AgentEvent> {
      try {
        for (;;) yield { type: "text", delta: String(++asked) };
      } finally {
        left.resolve();
      }
    },
  };
  const answer = await createInvokeHandler(endless)(post('{"session":"s","text":"x"}'));
  const reader = answer.body!.getReader();
  expect(asked).toBe(0);
  await reader.read();
  await reader.read();
  expect(asked).toBe(2);
  await reader.cancel();
  await left.promise;
});

test("[I12] over real HTTP a client that hangs up stops the run", async () => {
  const left = Promise.withResolvers<void>();
  const talking: Agent = {
    async *invoke(): AsyncGenerator<AgentEvent> {
      try {
        for (;;) {
          yield { type: "text", delta: "x".repeat(1_000) };
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        left.resolve();
      }
    },
  };
  const server = serveNode(createInvokeHandler(talking), { port: 0 });
  const port = await server.listening;
  const client = httpRequest({ port, host: "127.0.0.1", method: "POST" }, (answer) => {
    answer.once("data", () => answer.destroy());
    answer.on("error", () => {});
  });
  client.on("error", () => {});
  client.end('{"session":"s","text":"x"}');
  await left.promise;
  await server.close();
});

test("[I13] the router knows exact paths, with a method or for any", async () => {
  const route = router({
    "/any": () => text("any", 200),
    "GET /one": () => text("got", 200),
    "POST /one": () => text("posted", 200),
  });
  const ask = async (method: string, path: string) => {
    const answer = await route(new Request(`http://localhost${path}`, { method }));
    return [answer.status, await answer.text()];
  };
  expect(await ask("DELETE", "/any?x=1")).toEqual([200, "any\n"]);
  expect(await ask("GET", "/one")).toEqual([200, "got\n"]);
  expect(await ask("POST", "/one")).toEqual([200, "posted\n"]);
  expect(await ask("PUT", "/one")).toEqual([405, "method not allowed\n"]);
  expect((await ask("HEAD", "/one"))[0]).toBe(405);
  expect(await ask("GET", "/one/")).toEqual([404, "not found\n"]);
  expect(() => router({ "get /x": () => text("", 200) })).toThrow("is no route");
  expect(textHeaders).toEqual({ "content-type": "text/plain" });
});

test("[I14] a handler that throws is a 500, and one that breaks off is a cut connection", async () => {
  const server = serveNode(
    router({
      "/throws": () => {
        throw new Error("secret");
      },
      "/breaks": () =>
        new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode("part")),
            pull: (controller) => controller.error(new Error("secret")),
          }),
        ),
      "POST /echo": async (request) =>
        new Response(request.body, { headers: { "x-host": request.headers.get("host") ?? "" } }),
    }),
    { port: 0 },
  );
  const url = `http://127.0.0.1:${await server.listening}`;
  const thrown = await fetch(`${url}/throws`);
  expect([thrown.status, await thrown.text()]).toEqual([500, "internal error\n"]);
  await expect(fetch(`${url}/breaks`).then((answer) => answer.text())).rejects.toThrow();
  const echoed = await fetch(`${url}/echo`, { method: "POST", body: "a body" });
  expect(await echoed.text()).toBe("a body");
  expect(`http://${echoed.headers.get("x-host")}`).toBe(url);
  const taken = serveNode(() => text("", 200), { port: Number(new URL(url).port) });
  await expect(taken.listening).rejects.toMatchObject({ code: "EADDRINUSE" });
  await server.close();
  expect(nodeListener(() => text("", 200))).toBeTypeOf("function");
});
