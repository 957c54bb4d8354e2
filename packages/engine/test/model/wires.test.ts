import { afterEach, describe, expect, test } from "vitest";
import { type Rig, type RigOptions, startRig, tool, wires } from "./rig.ts";

const dot =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

async function start(options: RigOptions): Promise<Rig> {
  const rig = await startRig(options);
  open.push(rig);
  return rig;
}

describe.each(wires)("over %s", (wire) => {
  test("[E1] a prompt is answered with text, usage and cost", async () => {
    const rig = await start({
      wire,
      script: [{ parts: [{ text: ["Hel", "lo"] }], usage: { input: 1000, output: 500 } }],
    });
    const settled = await rig.prompt("hi");
    expect(settled).toMatchObject({
      terminal: "completed",
      answer: "Hello",
      usage: { input: 1000, output: 500, cost: 0.002 },
    });
    expect(rig.provider.requests[0]?.system).toBe("You are a test.");
    expect(rig.reported).toEqual([]);
  });

  test("[E2] calls of one message run side by side and their results go back in order", async () => {
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    const meet = (mine: 0 | 1) => async () => {
      both[mine].resolve();
      await both[1 - mine]?.promise;
      return `met ${mine}`;
    };
    const rig = await start({
      wire,
      tools: [
        tool({ name: "first", execute: meet(0) }),
        tool({ name: "second", execute: meet(1) }),
      ],
      script: [
        {
          parts: [{ call: { name: "first", input: {} } }, { call: { name: "second", input: {} } }],
        },
        "done",
      ],
    });
    expect(await rig.prompt("go")).toMatchObject({
      terminal: "completed",
      answer: "done",
      toolCalls: 2,
    });
    expect(rig.provider.requests[1]?.results.map((it) => it.text)).toEqual(["met 0", "met 1"]);
  });

  test("[E3] arguments that do not fit are an error result, and nothing runs", async () => {
    let ran = 0;
    const rig = await start({
      wire,
      tools: [
        tool({
          name: "add",
          parameters: {
            type: "object",
            properties: { n: { type: "number" } },
            required: ["n"],
          },
          execute: () => ++ran,
        }),
        tool({
          name: "picky",
          parse: () => {
            throw new Error("n must be even");
          },
          execute: () => ++ran,
        }),
      ],
      script: [
        {
          parts: [
            { call: { name: "add", input: { n: "many" } } },
            { call: { name: "add", deltas: ['{"n":', " 1"] } },
            { call: { name: "picky", input: { n: 1 } } },
            { call: { name: "absent", input: {} } },
          ],
        },
        "sorry",
      ],
    });
    expect(await rig.prompt("go")).toMatchObject({ terminal: "completed", toolCalls: 0 });
    expect(ran).toBe(0);
    const outcomes = await rig.data("message.tool");
    expect(outcomes.map((it) => it.isError)).toEqual([true, true, true, true]);
    expect(outcomes.map((it) => it.index).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3]);
    expect(rig.provider.requests[1]?.results.map((it) => it.text)).toEqual([
      expect.stringContaining("n:"),
      expect.stringMatching(/add/),
      expect.stringContaining("n must be even"),
      expect.stringContaining("absent"),
    ]);
    expect(await rig.data("call.started")).toEqual([]);
  });

  test("[E4] a tool's throw is an error result that the model reads", async () => {
    const rig = await start({
      wire,
      tools: [
        tool({
          name: "break",
          execute: () => {
            throw new Error("no such note");
          },
        }),
      ],
      script: [{ parts: [{ call: { name: "break", input: {} } }] }, "I see"],
    });
    expect(await rig.prompt("go")).toMatchObject({ terminal: "completed", toolCalls: 1 });
    expect((await rig.data("message.tool"))[0]).toMatchObject({ isError: true });
    expect(rig.provider.requests[1]?.results[0]?.text).toContain("no such note");
  });

  test("[E5] images reach the model, from the user and from a tool", async () => {
    const rig = await start({
      wire,
      tools: [
        tool({
          name: "draw",
          execute: () => ({ content: [{ type: "image", mimeType: "image/png", data: dot }] }),
        }),
      ],
      script: [{ parts: [{ call: { name: "draw", input: {} } }] }, "a dot"],
    });
    const command = await rig.send({
      type: "prompt",
      text: "what is this?",
      images: [{ mimeType: "image/png", data: dot }],
    });
    expect(await rig.settled(command)).toMatchObject({ answer: "a dot" });
    const first = rig.provider.requests[0]?.messages.flatMap((it) => it.images);
    expect(first).toEqual([{ mimeType: "image/png", data: dot }]);
    const second = rig.provider.requests[1]!;
    const images = second.messages.flatMap((it) => [
      ...it.images,
      ...it.results.flatMap((result) => result.images),
    ]);
    expect(images).toEqual([first?.[0], first?.[0]]);
  });

  test("[E6] a steer joins at the next request, behind the results", async () => {
    const working = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const rig = await start({
      wire,
      tools: [
        tool({
          name: "work",
          execute: async () => {
            working.resolve();
            await goOn.promise;
            return "worked";
          },
        }),
      ],
      script: [{ parts: [{ call: { name: "work", input: {} } }] }, "as you wish"],
    });
    const command = await rig.send({ type: "prompt", text: "go" });
    await working.promise;
    const steer = await rig.send({ type: "prompt", text: "rather stop", delivery: "steer" });
    await rig.send({ type: "line", text: "the lights are out" });
    goOn.resolve();
    expect(await rig.settled(command)).toMatchObject({ answer: "as you wish" });
    expect(await rig.settled(steer)).toMatchObject({ answer: "as you wish" });
    const said = rig.provider.requests[1]!.messages;
    const result = said.findIndex((it) => it.results.length > 0);
    const after = said
      .slice(result)
      .map((it) => it.text)
      .join("|");
    expect(after).toContain("rather stop");
    expect(after).toContain("the lights are out");
  });

  test("[E14] a provider that repeats its call ids is sent unique ones", async () => {
    const rig = await start({
      wire,
      tools: [tool({ name: "echo", execute: (input) => input["n"] })],
      script: [
        {
          parts: [
            { call: { name: "echo", id: "call_0", input: { n: "a" } } },
            // The library of this wire takes two calls of one id in one message for one.
            {
              call: {
                name: "echo",
                id: wire === "completions" ? "call_1" : "call_0",
                input: { n: "b" },
              },
            },
          ],
        },
        { parts: [{ call: { name: "echo", id: "call_0", input: { n: "c" } } }] },
        "done",
      ],
    });
    const settled = await rig.prompt("go");
    expect(settled).toMatchObject({ terminal: "completed", answer: "done", toolCalls: 3 });
    const results = rig.provider.requests[2]!.results;
    expect(results.map((it) => it.text)).toEqual(["a", "b", "c"]);
    expect(new Set(results.map((it) => it.id)).size).toBe(3);
  });

  test("[E16] thinking is shown, kept with its signature and sent back to its model", async () => {
    const rig = await start({
      wire,
      reasoning: "high",
      tools: [tool({ name: "noop", execute: () => undefined })],
      script: [
        {
          parts: [
            { thinking: ["let me ", "think"], signature: "sig-1" },
            { call: { name: "noop", input: {} } },
          ],
        },
        "thought",
      ],
    });
    expect(await rig.prompt("go")).toMatchObject({ terminal: "completed", answer: "thought" });
    const [first] = await rig.data("message.assistant");
    expect(first?.content[0]).toMatchObject({ type: "thinking", text: "let me think" });
    expect(rig.provider.requests[1]?.results[0]?.text).toBe("null");
    const thoughts = rig.provider.requests[1]!.messages.map((it) => it.thinking).join("");
    expect(thoughts).toContain("let me think");
  });
});
