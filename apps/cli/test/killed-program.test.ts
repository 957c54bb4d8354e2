// A program of `execute` in a real host that dies with SIGKILL, and a bank on loopback that counts what reaches it.

import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

const spec = {
  openapi: "3.1.0",
  info: { title: "Bank", version: "1" },
  paths: {
    "/balance": { get: { operationId: "balance", responses: { 200: { description: "ok" } } } },
    "/notes": { post: operation("note", { text: { type: "string" } }) },
    "/payments": { post: operation("pay", { amount: { type: "number" }, at: { type: "number" } }) },
  },
};

function operation(operationId: string, properties: object) {
  const schema = { type: "object", properties };
  return {
    operationId,
    requestBody: { required: true, content: { "application/json": { schema } } },
    responses: { 200: { description: "ok" } },
  };
}

const program = `
  const before = await bank.balance();
  const lucky = Math.random();
  await bank.note({ body: { text: "one" } });
  const [paid, note] = await Promise.all([
    bank.pay({ body: { amount: 7, at: Date.now() } }),
    bank.note({ body: { text: "beside" } }),
  ]);
  await bank.note({ body: { text: "two" } });
  return { before, paid: paid.paid, same: lucky === lucky, note };
`;

interface Bank {
  readonly url: string;
  /** What reached it, in order. */
  readonly calls: string[];
}

async function openBank(): Promise<Bank> {
  const calls: string[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = request.method === "POST" ? ((await json(request)) as { text?: string }) : {};
      calls.push(`${request.url}${body.text === undefined ? "" : ` ${body.text}`}`);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(request.url === "/payments" ? { paid: body } : { amount: 100 }));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { url: `http://127.0.0.1:${address.port}`, calls };
}

/** Settles once the session asks, and the other calls so far are known to have ended. */
async function askedOn(host: StartedHost): Promise<{ approvalId: string; tool: string }> {
  const stream = await host.ask(`/agents/${await host.agent()}/sessions/s/events`);
  let heard = "";
  for await (const chunk of stream.body ?? []) {
    heard += new TextDecoder().decode(chunk);
    const approvalId = /"approvalId":"(apr_[^"]+)"/.exec(heard)?.[1];
    const tool = /"tool":"([^"]+)"/.exec(heard)?.[1];
    const ended = heard.split('"kind":"program.outcome"').length - 1;
    if (ended >= 3 && approvalId !== undefined && tool !== undefined) return { approvalId, tool };
  }
  throw new Error(`It never asked: ${heard}`);
}

test("[D41] a host killed while its program waits for an approval, started again and told yes, ends it right, with each call made once", async () => {
  await using home = await Home.make();
  const bank = await openBank();
  const dir = await writeAgent(home, {
    "lichen.config.ts": `
      import { defineConfig } from "lichen";
      export default defineConfig({ codingTools: false, capabilities: { directUpTo: 0 } });`,
    "connections/bank.ts": `
      import { defineConnection } from "lichen";
      export default defineConnection({
        kind: "openapi", spec: ${JSON.stringify(spec)}, baseUrl: "${bank.url}",
        labels: { balance: "read", pay: "confirm" },
      });`,
  });
  await Provider.start(home, dir, {
    steps: [{ parts: [{ call: { name: "execute", input: { code: program } } }] }, "Paid."],
  });
  const host = await StartedHost.start(home, dir);
  const prompt = { type: "prompt", requestId: "r", text: "pay it" };
  const sent = await host.ask(`/agents/${await host.agent()}/sessions/s/commands`, prompt);
  expect(sent.status).toBe(202);
  const { approvalId: id, tool } = await askedOn(host);
  expect(tool).toBe("bank.pay");
  const before = ["/balance", "/notes one", "/notes beside"];
  expect(bank.calls).toEqual(before);
  await host.running.stop("SIGKILL");
  const again = await StartedHost.start(home, dir);
  // It waits again, and nothing was called anew.
  expect((await home.run(["approve", dir, "--json"])).stdout).toContain(id);
  expect(bank.calls).toEqual(before);
  const { code, stdout } = await home.run(["approve", id, dir]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Paid.\n" });
  expect(bank.calls).toEqual([...before, "/payments", "/notes two"]);
  const entries = await again.entries("s");
  const outcome = entries.find(({ kind }) => kind === "message.tool");
  expect(outcome?.data["isError"]).toBe(false);
  expect(JSON.stringify(outcome)).toContain('\\"same\\":true');
  expect(JSON.stringify(outcome)).toContain('\\"amount\\":7');
  const ordinals = entries
    .filter(({ kind }) => kind === "program.call")
    .map(({ data }) => data["ordinal"]);
  expect(ordinals).toHaveLength(5);
  expect(new Set(ordinals)).toEqual(new Set([0, 1, 2, 3, 4]));
}, 90_000);
