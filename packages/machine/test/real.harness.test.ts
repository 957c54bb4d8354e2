// Real coding agents behind a machine: Claude Code and pi, each with a scripted provider on loopback.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Script, startScriptedProvider } from "@lichen/engine/testing";
import { expect, test } from "vitest";
import { ownHarnesses } from "../src/index.ts";
import { Rig, type TestEvent } from "./rig.ts";

const bin = join(import.meta.dirname, "../../../test/harnesses/node_modules/.bin");
const touch = (file: string) => ({
  parts: [{ call: { name: "Bash", input: { command: `touch ${file}`, description: "A test" } } }],
});

async function openReal(script: Script): Promise<Rig & { readonly provider: AsyncDisposable }> {
  const provider = await startScriptedProvider({ script, rules: "none" });
  const rig = await Rig.open({
    harnesses: ownHarnesses(),
    env: {
      PATH: [bin, process.env["PATH"] ?? ""].join(delimiter),
      ANTHROPIC_BASE_URL: provider.url,
      ANTHROPIC_API_KEY: "sk-made-up-for-tests",
      DISABLE_TELEMETRY: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      PI_OFFLINE: "1",
    },
  });
  furnishPi(rig.home, provider.url);
  return Object.assign(rig, {
    provider: { [Symbol.asyncDispose]: () => provider.close() },
  });
}

function furnishPi(home: string, url: string): void {
  const agent = join(home, ".pi", "agent");
  mkdirSync(agent, { recursive: true });
  const models = [{ id: "scripted-1", contextWindow: 100_000, maxTokens: 8_000 }];
  const provider = { baseUrl: url, api: "anthropic-messages", apiKey: "made-up-key", models };
  writeFileSync(join(agent, "models.json"), JSON.stringify({ providers: { scripted: provider } }));
  const settings = { defaultProvider: "scripted", defaultModel: "scripted-1" };
  writeFileSync(join(agent, "settings.json"), JSON.stringify(settings));
}

const typeOf = ({ kind, data }: TestEvent) => (kind === "claude" ? String(data["type"]) : kind);

test("[MA30] Claude Code is made, asked, allowed, restarted and removed as clients of the machine API do it", async () => {
  await using rig = await openReal([touch("made.txt"), "Made it.", "Still here."]);
  await using _provider = rig.provider;
  expect((await rig.tell("/v1/harnesses")).body).toMatchObject({
    harnesses: [{ name: "claude" }, { name: "pi" }, { name: "acp" }],
    missing: [],
  });
  await rig.make("demo");
  await using reader = await rig.events("demo");
  await rig.send("demo", "make it", "m1");
  const upToAsked = await reader.upTo((event) => typeOf(event) === "control_request");
  const asked = upToAsked.at(-1);
  expect(asked?.data).toMatchObject({ request: { subtype: "can_use_tool", tool_name: "Bash" } });
  const prompt = String(asked?.data["request_id"]);
  expect(await rig.tell(`/v1/sessions/demo/prompts/${prompt}`, { json: { allow: true } })).toEqual({
    status: 204,
    body: undefined,
  });
  const upToResult = await reader.upTo((event) => typeOf(event) === "result");
  expect(upToResult.find(({ kind }) => kind === "answer")?.data).toMatchObject({
    prompt,
    allow: true,
  });
  const info = await rig.until("demo", (it) => it.state === "idle");
  expect(info).toMatchObject({ preview: "Made it.", running: true, turns: 1, pending: 0 });
  expect(info.model).not.toBe("");
  expect(info.context_used).toBeGreaterThan(0);
  expect(info.context_window).toBeGreaterThan(0);
  expect(
    (await rig.tell(`/v1/sessions/demo/prompts/${prompt}`, { json: { allow: true } })).status,
  ).toBe(409);
  expect((await rig.tell("/v1/sessions/demo/restart", { method: "POST" })).status).toBe(204);
  await rig.send("demo", "still there?");
  await rig.until("demo", (it) => it.turns === 2);
  expect((await rig.info("demo")).preview).toBe("Still here.");
  const on = await rig.tell("/v1/sessions/demo", { method: "PATCH", json: { auto_approve: true } });
  expect(on.body).toMatchObject({ auto_approve: true });
  expect((await rig.tell("/v1/sessions/demo", { method: "DELETE" })).status).toBe(204);
  expect(rig.reports).toEqual([]);
  expect(rig.bugs).toEqual([]);
});

test("[CC37] a prompt is denied with `interrupt` over the machine API: the turn stops and the session goes on", async () => {
  await using rig = await openReal([touch("never.txt"), "Still here."]);
  await using _provider = rig.provider;
  const { dir } = await rig.make("demo");
  await using reader = await rig.events("demo");
  await rig.send("demo", "make it");
  const asked = (await reader.upTo((event) => typeOf(event) === "control_request")).at(-1);
  const path = `/v1/sessions/demo/prompts/${String(asked?.data["request_id"])}`;
  const both = await rig.tell(path, { json: { allow: true, interrupt: true } });
  expect(both).toMatchObject({ status: 409, body: { error: expect.stringContaining("deny it") } });
  const stop = { allow: false, message: "Stop.", interrupt: true };
  expect(await rig.tell(path, { json: stop })).toMatchObject({ status: 204 });
  const events = await reader.upTo((event) => typeOf(event) === "result");
  expect(events.find(({ kind }) => kind === "answer")?.data).toMatchObject(stop);
  await rig.until("demo", (it) => it.state === "idle" && it.pending === 0);
  await rig.send("demo", "and now?");
  await rig.until("demo", (it) => it.turns === 2);
  expect(await rig.info("demo")).toMatchObject({ preview: "Still here.", running: true });
  expect(existsSync(join(dir, "never.txt"))).toBe(false);
  expect(rig.reports).toEqual([]);
  expect(rig.bugs).toEqual([]);
});

test("[MA39] what auto-approve allows in a process that goes on asking is an answer of its own", async () => {
  await using rig = await openReal([touch("one.txt"), "Made one.", touch("two.txt"), "Made two."]);
  await using _provider = rig.provider;
  const { dir } = await rig.make("demo");
  await using reader = await rig.events("demo");
  await rig.send("demo", "make it");
  await rig.until("demo", (it) => it.state === "waiting");
  // The process was started to ask, and asks on.
  await rig.tell("/v1/sessions/demo", { method: "PATCH", json: { auto_approve: true } });
  await rig.until("demo", (it) => it.turns === 1);
  await rig.send("demo", "and another");
  await rig.until("demo", (it) => it.turns === 2 && it.state === "idle");
  const results: TestEvent[] = [];
  while (results.filter((event) => typeOf(event) === "result").length < 2)
    results.push(...(await reader.upTo((event) => typeOf(event) === "result")));
  const asked = results.filter((event) => typeOf(event) === "control_request");
  expect(results.filter(({ kind }) => kind === "answer")).toMatchObject(
    asked.map(({ data }) => ({
      by: "auto-approve",
      data: { prompt: data["request_id"], allow: true, message: "" },
    })),
  );
  expect(asked).toHaveLength(2);
  expect(existsSync(join(dir, "two.txt"))).toBe(true);
  expect(rig.reports).toEqual([]);
  expect(rig.bugs).toEqual([]);
});

test("[AD60] what Claude Code costs is counted from each process's first turn on", async () => {
  const turns = ["One.", "Two.", "Three."].map((text) => ({
    ...{ parts: [{ text }], usage: { input: 100, output: 1_000 } },
  }));
  await using rig = await openReal(turns);
  await using _provider = rig.provider;
  await rig.make("demo");
  const spent: number[] = [];
  for (const [at] of turns.entries()) {
    await rig.send("demo", "go on");
    await rig.until("demo", (it) => it.turns === at + 1 && it.state === "idle");
    const { rows } = (await rig.tell("/v1/usage")).body as { rows: Record<string, number>[] };
    expect(rows).toMatchObject([{ turns: at + 1, output: 1_000 * (at + 1) }]);
    spent.push(rows[0]?.["cost_usd"] ?? 0);
    await rig.tell("/v1/sessions/demo/restart", { method: "POST" });
  }
  const [first = 0] = spent;
  expect(first).toBeGreaterThan(0);
  expect(spent.map((cost) => cost.toFixed(6))).toEqual(
    [1, 2, 3].map((count) => (count * first).toFixed(6)),
  );
});

test("[MA36] pi behind a machine reads like Claude Code", async () => {
  await using rig = await openReal([
    { parts: [{ text: "I look." }, { call: { name: "bash", input: { command: "echo hi" } } }] },
    "Done.",
  ]);
  await using _provider = rig.provider;
  await rig.make("p", { harness: "pi" });
  await using reader = await rig.events("p");
  await rig.send("p", "say hi");
  const events = await reader.upTo((event) => typeOf(event) === "result");
  expect(events.map(typeOf).filter((type) => type !== "system" && type !== "partial")).toEqual([
    "message",
    "assistant",
    "user",
    "assistant",
    "result",
  ]);
  const info = await rig.until("p", (it) => it.state === "idle");
  expect(info).toMatchObject({
    preview: "Done.",
    model: "scripted/scripted-1",
    context_window: 100_000,
    caps: { approve: false, takeover: true },
  });
  expect(info.tail).toEqual(["› you: say hi", "I look.", "▸ bash echo hi", "Done."]);
  expect(rig.reports).toEqual([]);
});

test("[MA41] what Claude Code and pi did not do is told once, by a result that says so", async () => {
  const refused = { refuse: "invalid", message: "No such thing." } as const;
  await using rig = await openReal([
    ...[touch("never.txt"), refused, refused],
    { parts: [{ call: { name: "bash", input: { command: "sleep 1000" } } }] },
    "Still here.",
  ]);
  await using _provider = rig.provider;
  await rig.make("claude");
  await rig.make("pi", { harness: "pi" });
  for (const [name, at, text] of [
    ["claude", 1, "stopped"],
    ["claude", 2, "refused"],
    ["pi", 1, "refused"],
    ["pi", 2, "stopped"],
  ] as const) {
    await rig.send(name, text);
    if (text === "stopped") {
      const state = name === "pi" ? "working" : "waiting";
      await rig.until(name, (it) => it.state === state && /^▸/.test(it.tail?.at(-1) ?? ""));
      await rig.tell(`/v1/sessions/${name}/interrupt`, { method: "POST" });
    }
    await rig.until(name, (it) => it.turns === at && it.state === "idle");
  }
  await rig.send("pi", "go on");
  await rig.until("pi", (it) => it.turns === 3);
  const results = async (name: string, count: number) => {
    await using reader = await rig.events(name);
    const last = (await rig.info(name)).last_seq;
    const events = await reader.upTo(({ seq }) => seq === last);
    const told = events.filter((event) => typeOf(event) === "result");
    expect(told).toHaveLength(count);
    return told.map(({ data }) => [data["subtype"] === "success", data["is_error"]]);
  };
  expect(await results("claude", 2)).toEqual([
    [false, expect.anything()],
    [expect.anything(), true],
  ]);
  expect(await results("pi", 3)).toEqual([
    [false, true],
    [false, true],
    [true, false],
  ]);
  expect(rig.bugs).toEqual([]);
});
