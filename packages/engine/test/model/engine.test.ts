import { Fault } from "@lichen/wire";
import { afterEach, expect, test } from "vitest";
import { killInMidRun } from "./kill.ts";
import { key, type Rig, type RigOptions, startRig, tool, untilAsked } from "./rig.ts";

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

async function start(options: RigOptions): Promise<Rig> {
  const rig = await startRig(options);
  open.push(rig);
  return rig;
}

test("[E12] [E13] after a kill -9 in the middle of calls the run goes on, and only what may be repeated is", async () => {
  const ran: string[] = [];
  const step = (name: string) => () => {
    ran.push(name);
    return `${name} again`;
  };
  const rig = await start({
    tools: [
      tool({ name: "quick", execute: step("quick") }),
      tool({ name: "look", label: "read", execute: step("look") }),
      tool({ name: "write", execute: step("write") }),
    ],
    script: [
      {
        parts: ["quick", "look", "write"].map((name) => ({ call: { name, input: {} } })),
      },
      "told",
    ],
    inherits: (store, url) => killInMidRun("killed-host.ts", store, url),
  });
  const { running } = await rig.session.read();
  expect(await rig.settled(running!.commandId)).toMatchObject({
    terminal: "completed",
    answer: "told",
  });
  expect(ran).toEqual(["look"]);
  expect(rig.provider.requests).toHaveLength(2);
  expect(rig.provider.requests[1]?.results.map((it) => it.text)).toEqual([
    "quick",
    "look again",
    expect.stringContaining("effect is unknown"),
  ]);
});

test("[E17] a confirmed call waits for a person, across a restart, and runs with what was allowed", async () => {
  const seen: unknown[] = [];
  const rig = await start({
    tools: [
      tool({
        name: "pay",
        confirm: (input) => `Pays ${JSON.stringify(input["sum"])}`,
        execute: (input) => {
          seen.push(input);
          return "paid";
        },
      }),
    ],
    script: [{ parts: [{ call: { name: "pay", input: { sum: 5 } } }] }, "thank you"],
  });
  const command = await rig.send({ type: "prompt", text: "pay" });
  const approval = await untilAsked(rig);
  expect(approval).toMatchObject({ tool: "pay", description: "Pays 5", input: { sum: 5 } });
  await rig.reopen();
  expect(seen).toEqual([]);
  await answered(rig, {
    type: "answer",
    approvalId: approval.approvalId,
    allow: true,
    input: { sum: 4 },
  });
  expect(await rig.settled(command)).toMatchObject({ answer: "thank you" });
  expect(seen).toEqual([{ sum: 4 }]);
});

test("[E18] sequential tools never run beside another call", async () => {
  let running = 0;
  let most = 0;
  const step = async () => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    return "ok";
  };
  const rig = await start({
    tools: [
      tool({ name: "alone", executionMode: "sequential", execute: step }),
      tool({ name: "other", execute: step }),
    ],
    script: [
      {
        parts: [
          { call: { name: "other", input: {} } },
          { call: { name: "alone", input: {} } },
          { call: { name: "other", input: {} } },
        ],
      },
      "done",
    ],
  });
  expect(await rig.prompt("go")).toMatchObject({ answer: "done", toolCalls: 3 });
  expect(most).toBe(1);
});

test("[E19] a deferred tool is shown once the conversation activated it, and stays", async () => {
  const rig = await start({
    tools: [
      tool({
        name: "search_tools",
        execute: async (_input, { tools }) => ({
          activated: await tools.activate(["hidden", "search_tools", "unknown"]),
          registered: tools.registered().length,
        }),
      }),
      tool({ name: "hidden", deferred: true, execute: () => "found me" }),
    ],
    script: [
      { parts: [{ call: { name: "search_tools", input: {} } }] },
      { parts: [{ call: { name: "hidden", input: {} } }] },
      "done",
      "again",
    ],
  });
  expect(await rig.prompt("go")).toMatchObject({ answer: "done" });
  expect(rig.provider.requests.map((it) => it.tools)).toEqual([
    ["search_tools"],
    ["search_tools", "hidden"],
    ["search_tools", "hidden"],
  ]);
  await rig.reopen();
  await rig.prompt("more");
  expect(rig.provider.requests[3]?.tools).toEqual(["search_tools", "hidden"]);
});

test("[E20] calls of a message that reached the output limit do not run", async () => {
  let ran = 0;
  const rig = await start({
    tools: [tool({ name: "write", execute: () => ++ran })],
    script: [{ parts: [{ call: { name: "write", input: {} } }], stop: "length" }, "shorter"],
  });
  expect(await rig.prompt("go")).toMatchObject({ terminal: "completed", answer: "shorter" });
  expect(ran).toBe(0);
  expect(rig.provider.requests[1]?.results[0]).toMatchObject({ isError: true });
});

test("[E21] a provider's word about a key or a path of this machine reaches no diagnostic", async () => {
  const rig = await start({
    script: [
      {
        refuse: "invalid",
        message: `bad key ${key}; see /home/someone/.config/keys.json and Bearer abcdef123456`,
      },
    ],
  });
  const settled = await rig.prompt("hi");
  expect(settled.terminal).toBe("failed");
  expect(settled.diagnostic).toContain("bad key");
  expect(settled.diagnostic).not.toMatch(/sk-made-up|someone|abcdef123456/);
});

test("[E22] more waiting than the bound allows is not waited for", async () => {
  const rig = await start({ script: [{ refuse: "rate_limited", retryAfterSeconds: 3600 }] });
  expect(await rig.prompt("hi")).toMatchObject({ terminal: "failed" });
  expect(rig.delays).toEqual([]);
});

test("[E23] a session's own model and level count for its next run, and what no run could use is refused", async () => {
  const rig = await start({
    script: ["one"],
    spec: "scripted/absent",
    model: { reasoning: false },
  });
  const failed = await rig.prompt("hi");
  expect(failed).toMatchObject({ terminal: "failed" });
  expect(failed.diagnostic).toContain('no model "absent"');
  await expect(rig.session.change({ model: "scripted/other" })).rejects.toMatchObject({
    code: "invalid",
  });
  await expect(
    rig.session.change({ model: "scripted/scripted-1", reasoning: "high" }),
  ).rejects.toMatchObject({ code: "invalid" });
  await rig.session.change({ model: "scripted/scripted-1" });
  expect(await rig.prompt("hi")).toMatchObject({ answer: "one" });
});

test("[E24] compaction on request keeps the newest turn and says what it did", async () => {
  const rig = await start({ script: ["one", "two", "THE SUMMARY", "three"] });
  await rig.send({ type: "line", text: "hello" });
  const empty = await rig.settled(await rig.send({ type: "compact" }));
  expect(empty).toMatchObject({
    terminal: "completed",
    answer: expect.stringContaining("nothing to compact"),
  });
  await rig.prompt("first question");
  await rig.prompt("second question");
  const done = await rig.settled(
    await rig.send({ type: "compact", instructions: "keep the names" }),
  );
  expect(done).toMatchObject({
    terminal: "completed",
    answer: expect.stringMatching(/^3 messages/),
  });
  expect(rig.provider.requests[2]?.prompt).toContain("keep the names");
  expect((await rig.data("compaction"))[0]).toMatchObject({
    summary: "THE SUMMARY",
    automatic: false,
  });
  await rig.prompt("third question");
  const texts = rig.provider.requests[3]!.messages.map((it) => it.text).join("|");
  expect(texts).toContain("THE SUMMARY");
  expect(texts).toContain("second question");
  expect(texts).not.toContain("first question");
});

test("[E25] a conversation near the model's window is summarised before the request", async () => {
  const long = "word ".repeat(4_000);
  const rig = await start({
    model: { contextWindow: 12_000, maxTokens: 1_000 },
    script: [{ parts: [{ text: "one" }], usage: { input: 5_700, output: 5 } }, "SUMMARY", "two"],
  });
  await rig.prompt(long);
  expect(await rig.prompt(long)).toMatchObject({ terminal: "completed", answer: "two" });
  expect(await rig.data("compaction")).toHaveLength(1);
  expect(rig.provider.requests).toHaveLength(3);
});

/** Answers with an edit, which is checked once the run that asked is back. */
async function answered(rig: Rig, command: Parameters<Rig["send"]>[0]): Promise<void> {
  for (let turns = 0; ; turns++) {
    try {
      await rig.send(command);
      return;
    } catch (error) {
      if (!Fault.is(error) || error.code !== "unavailable" || turns > 10_000) throw error;
      await new Promise(setImmediate);
    }
  }
}
