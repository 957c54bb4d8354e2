import { expect, test } from "vitest";
import { Rig } from "./rig.ts";
import { assistantLine, line, scriptedHarness } from "./scripted.ts";

test("[MA30] a session is made, talked with, read and removed over HTTP as its clients know it", async () => {
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        script: (work) => [
          {
            append: [
              line({ type: "system", subtype: "init", session_id: "s1", model: "scripted-1" }),
            ],
          },
          { append: [assistantLine(`You said: ${work.text}`)] },
          {
            append: [
              line({
                type: "result",
                subtype: "success",
                modelUsage: { a: { contextWindow: 9 }, b: { contextWindow: 200 } },
              }),
            ],
          },
          { say: "done" },
        ],
      }),
    ],
  });
  const made = await rig.make("demo");
  expect(made).toMatchObject({
    name: "demo",
    dir: `${rig.home}/demo`,
    state: "idle",
    running: false,
    last_seq: 0,
  });
  await using reader = await rig.events("demo");
  expect(await rig.send("demo", "hello", "m1")).toEqual({ status: 202, body: undefined });
  expect(await rig.send("demo", "hello", "m1")).toEqual({ status: 200, body: { duplicate: true } });
  const events = await reader.take(4);
  expect(events.map(({ id, seq, kind }) => [id, seq, kind])).toEqual([
    [1, 1, "message"],
    [2, 2, "claude"],
    [3, 3, "claude"],
    [4, 4, "claude"],
  ]);
  const info = await rig.until("demo", (it) => it.state === "idle" && it.turns === 1);
  expect(info).toMatchObject({
    running: true,
    preview: "You said: hello",
    model: "scripted-1",
    context_used: 16,
    context_window: 200,
    tail: ["› you: hello", "You said: hello"],
  });
  expect(await rig.tell("/v1/sessions/demo", { method: "DELETE" })).toEqual({
    status: 204,
    body: undefined,
  });
  expect(await rig.list()).toEqual([]);
  expect(rig.reports).toEqual([]);
  expect(rig.bugs).toEqual([]);
});
