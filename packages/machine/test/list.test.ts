import { nodePlatform } from "@lichen/runtime/node";
import { expect, test } from "vitest";
import { Rig } from "./rig.ts";
import { assistantLine, line, scriptedHarness } from "./scripted.ts";

test("[MA15] the list of two hundred sessions waits for none of them, whatever hangs", async () => {
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({ name: "claude" }),
      scriptedHarness({
        name: "pi",
        hangs: ["restart", "settingsChanged", "newConversation", "close"],
        script: [{ gate: new Promise(() => {}) }],
      }),
    ],
  });
  await rig.make("stuck", { harness: "pi" });
  await rig.send("stuck", "go");
  await rig.until("stuck", (it) => it.state === "working");
  const never = [
    rig.tell("/v1/sessions/stuck/restart", { method: "POST" }),
    rig.tell("/v1/sessions/stuck", { method: "PATCH", json: { auto_approve: true } }),
  ];
  for (let at = 0; at < 199; at += 20)
    await Promise.all(
      Array.from({ length: Math.min(20, 199 - at) }, (_, n) => rig.make(`s${at + n}`)),
    );
  const took: number[] = [];
  for (let time = 0; time < 15; time++) {
    const began = performance.now();
    expect(await rig.list("?tail=6")).toHaveLength(200);
    took.push(performance.now() - began);
  }
  took.sort((a, b) => a - b);
  // Far above what it takes on a machine that is busy, far below any wait for a process.
  expect(took[7]).toBeLessThan(1_000);
  // What is asked of the stuck one holds up no other.
  expect((await rig.send("s1", "hello")).status).toBe(202);
  await rig.until("s1", (it) => it.turns === 1);
  for (const asked of never) asked.catch(() => {});
  const { pid } = rig.machine.sessions.get("stuck").engine.standing();
  await rig.close();
  // Its driver ends it no more than anything else.
  if (pid !== undefined) process.kill(pid, "SIGKILL");
}, 120_000);

test("[MA21] what is asked of a driver that never answers is refused after a while, and says what to do", async () => {
  const late: (() => void)[] = [];
  const base = nodePlatform({ report: () => {} });
  await using rig = await Rig.open({
    platform: {
      ...base,
      // The patience with drivers ends when the test says so.
      after: (ms, wake) => {
        if (ms !== 40_000) return base.after(ms, wake);
        late.push(wake);
        return () => {};
      },
    },
    harnesses: [scriptedHarness({ hangs: ["restart"] })],
  });
  await rig.make("a");
  const restarted = rig.tell("/v1/sessions/a/restart", { method: "POST" });
  while (late.length === 0) await new Promise((resolve) => void setImmediate(resolve));
  late[0]?.();
  expect(await restarted).toMatchObject({
    status: 409,
    body: {
      code: "unavailable",
      error: expect.stringMatching(/did not restart in 40 s: .* delete the session/),
    },
  });
  expect(await rig.info("a")).toMatchObject({ state: "idle" });
});

test("[MA11] what sub-agents say and what a harness makes up is not taken for the conversation", async () => {
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        script: [
          {
            append: [
              assistantLine("the real thing"),
              assistantLine("of a sub-agent", {
                parent_tool_use_id: "toolu_1",
                message: {
                  model: "small-1",
                  content: [{ type: "text", text: "of a sub-agent" }],
                  usage: { input_tokens: 9_999 },
                },
              }),
              line({
                type: "assistant",
                message: {
                  model: "<synthetic>",
                  content: [{ type: "text", text: "API Error" }],
                  usage: { input_tokens: 0 },
                },
              }),
              line({ type: "tool_progress", heartbeat: true }),
              line(null),
              line([{ type: "assistant" }]),
              line({ type: "assistant", message: { content: "odd" } }),
              line({
                type: "result",
                modelUsage: { small: { contextWindow: 8 }, big: { contextWindow: 1_000 } },
              }),
              line({ type: "result", modelUsage: { small: { contextWindow: 8 } } }),
            ],
          },
          { say: "ok" },
        ],
      }),
    ],
  });
  await rig.make("a");
  await rig.send("a", "go");
  const info = await rig.until("a", (it) => it.turns === 1 && it.context_window > 0);
  expect(info).toMatchObject({
    preview: "the real thing",
    model: "scripted-1",
    context_used: 16,
    context_window: 1_000,
    turns: 1,
  });
  expect(info.tail).toEqual(["› you: go", "the real thing", "API Error"]);
});

test("[MA34] the last lines of a session are what was asked, what the model said and which tools it used", async () => {
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        script: [
          {
            append: [
              assistantLine("", {
                message: {
                  model: "m",
                  content: [
                    { type: "text", text: "First\n\n```sh\nmake\n```\nthen" },
                    { type: "tool_use", name: "Bash", input: { command: "make test" } },
                    { type: "tool_use", name: "Odd", input: {} },
                    { type: "text", text: `${"x".repeat(150)}\u{1F344}${"y".repeat(400)}` },
                  ],
                },
              }),
            ],
          },
          { say: "ok" },
        ],
      }),
    ],
  });
  await rig.make("a");
  await rig.send("a", "please\n  build it");
  await rig.until("a", (it) => it.turns === 1);
  const [whole] = await rig.list("?tail=20");
  expect(whole?.tail).toEqual([
    "› you: please build it",
    "First",
    "make",
    "then",
    "▸ Bash make test",
    "▸ Odd",
    `${"x".repeat(150)}\u{1F344}${"y".repeat(49)}`,
  ]);
  expect((await rig.list("?tail=2"))[0]?.tail).toEqual(whole?.tail?.slice(-2));
  expect((await rig.list("?tail=500"))[0]?.tail).toEqual(whole?.tail);
  expect((await rig.list())[0]).not.toHaveProperty("tail");
});
