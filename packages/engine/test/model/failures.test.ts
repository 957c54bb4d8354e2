import { afterEach, describe, expect, test } from "vitest";
import { type Rig, type RigOptions, startRig, tool, untilShown, wires } from "./rig.ts";

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
  test("[E7] a refusal for load is tried again after the delay that was asked for", async () => {
    const rig = await start({
      wire,
      script: [
        { refuse: "rate_limited", retryAfterSeconds: 7 },
        { refuse: "overloaded" },
        { refuse: "server_error" },
        "at last",
      ],
    });
    expect(await rig.prompt("hi")).toMatchObject({ terminal: "completed", answer: "at last" });
    expect(rig.delays).toEqual([7_000, 2_000, 4_000]);
  });

  test("[E8] a stream that breaks after text is not asked for again, and its text stays", async () => {
    const rig = await start({
      wire,
      script: [
        { parts: [{ text: "half of" }, { gate: "shown" }, { cut: true }] },
        "never asked for",
      ],
    });
    const command = await rig.send({ type: "prompt", text: "hi" });
    await rig.provider.reached("shown");
    await untilShown(rig, "half of");
    rig.provider.open("shown");
    const settled = await rig.settled(command);
    expect(settled).toMatchObject({ terminal: "failed" });
    expect(settled.diagnostic).toMatch(/^scripted\/scripted-1: /);
    expect(rig.provider.requests).toHaveLength(1);
    expect(rig.delays).toEqual([]);
    expect((await rig.data("message.assistant"))[0]).toMatchObject({
      stop: "error",
      content: [{ type: "text", text: "half of" }],
    });
    rig.provider.push("and on");
    expect(await rig.prompt("what now?")).toMatchObject({ terminal: "completed" });
  });

  test("[E8] a call whose arguments break off never runs", async () => {
    let ran = 0;
    const rig = await start({
      wire,
      tools: [tool({ name: "write", execute: () => ++ran })],
      script: [
        {
          parts: [{ call: { name: "write", deltas: ['{"a":'] } }, { gate: "half" }, { cut: true }],
        },
      ],
    });
    const command = await rig.send({ type: "prompt", text: "hi" });
    await rig.provider.reached("half");
    rig.provider.open("half");
    await rig.settled(command);
    rig.provider.push("fine");
    expect(await rig.prompt("next")).toMatchObject({ answer: "fine" });
    expect(ran).toBe(0);
  });

  test("[E9] a stream of nonsense fails the run and not the session", async () => {
    const rig = await start({
      wire,
      script: [{ parts: [{ raw: "event: message_start\ndata: {not json\n\n" }] }],
      engine: { retry: { maxAttempts: 1 } },
    });
    expect(await rig.prompt("hi")).toMatchObject({ terminal: "failed" });
    rig.provider.push("fine");
    expect(await rig.prompt("again")).toMatchObject({ terminal: "completed", answer: "fine" });
    expect(rig.reported).toEqual([]);
  });

  test("[E10] a cancel ends a request that hangs and keeps the text that was shown", async () => {
    const rig = await start({
      wire,
      script: [{ parts: [{ text: "thinking of it" }, { gate: "there" }, { hang: true }] }],
    });
    const command = await rig.send({ type: "prompt", text: "hi" });
    await rig.provider.reached("there");
    await untilShown(rig, "thinking of it");
    rig.provider.open("there");
    await rig.send({ type: "cancel", commandId: command });
    expect(await rig.settled(command)).toMatchObject({ terminal: "cancelled" });
    expect(await rig.provider.requests[0]?.ended).toBe("left");
    expect((await rig.data("message.assistant"))[0]).toMatchObject({
      stop: "aborted",
      content: [{ type: "text", text: "thinking of it" }],
    });
    rig.provider.push("on we go");
    expect(await rig.prompt("next")).toMatchObject({ answer: "on we go" });
  });

  test("[E10] a cancel does not wait for a tool that ignores it", async () => {
    const working = Promise.withResolvers<void>();
    const rig = await start({
      wire,
      tools: [
        tool({
          name: "deaf",
          execute: () => {
            working.resolve();
            return new Promise(() => {});
          },
        }),
      ],
      script: [{ parts: [{ call: { name: "deaf", input: {} } }] }],
    });
    const command = await rig.send({ type: "prompt", text: "go" });
    await working.promise;
    await rig.send({ type: "cancel", commandId: command });
    // A run that does not end is given up by the runtime after ten seconds.
    const settled = await rig.session.readSettlement(command, { timeoutMs: 5_000 });
    expect(settled).toMatchObject({ terminal: "cancelled" });
  });

  test("[E11] a conversation that the provider refuses as too long is summarised and goes on", async () => {
    const rig = await start({
      wire,
      script: ["one", "two", { refuse: "context_length" }, "SUMMARY", "three"],
    });
    await rig.prompt("first question");
    await rig.prompt("second question");
    expect(await rig.prompt("third question")).toMatchObject({
      terminal: "completed",
      answer: "three",
    });
    const [compaction] = await rig.data("compaction");
    expect(compaction).toMatchObject({ summary: "SUMMARY", automatic: true });
    const last = rig.provider.requests[4]!;
    const text = last.messages.map((it) => it.text).join("|");
    expect(text).toContain("SUMMARY");
    expect(text).toContain("third question");
    expect(text).not.toContain("first question");
    expect(rig.provider.requests[3]!.prompt).toContain("first question");
  });

  test("[E12] a run goes on after its process stopped: open read calls run again, and nothing is asked twice", async () => {
    let looks = 0;
    const looking = Promise.withResolvers<void>();
    const rig = await start({
      wire,
      tools: [
        tool({ name: "quick", execute: () => "quick" }),
        tool({
          name: "look",
          label: "read",
          execute: async (_input, { signal }) => {
            if (++looks > 1) return "looked";
            looking.resolve();
            return new Promise((_, reject) => {
              signal.addEventListener("abort", () => reject(new Error("stopped")));
            });
          },
        }),
      ],
      script: [
        { parts: [{ call: { name: "quick", input: {} } }, { call: { name: "look", input: {} } }] },
        "seen",
      ],
    });
    const command = await rig.send({ type: "prompt", text: "go" });
    await looking.promise;
    await rig.reopen();
    expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "seen" });
    expect(rig.provider.requests).toHaveLength(2);
    expect(rig.provider.requests[1]?.results.map((it) => it.text)).toEqual(["quick", "looked"]);
    expect(looks).toBe(2);
  });

  test("[E12] a stop in the middle of an answer is made good by asking again", async () => {
    const rig = await start({
      wire,
      script: [{ parts: [{ text: "half of" }, { gate: "never" }] }, "the whole answer"],
    });
    const command = await rig.send({ type: "prompt", text: "go" });
    await untilShown(rig, "half of");
    await rig.reopen();
    expect(await rig.settled(command)).toMatchObject({ answer: "the whole answer" });
    expect((await rig.data("message.assistant")).map((it) => it.stop)).toEqual(["stop"]);
  });

  test("[E13] an open write call is not run again after its process stopped, and the model is told", async () => {
    let writes = 0;
    const writing = Promise.withResolvers<void>();
    const rig = await start({
      wire,
      tools: [
        tool({
          name: "write",
          execute: async (_input, { signal }) => {
            writes++;
            writing.resolve();
            return new Promise((_, reject) => {
              signal.addEventListener("abort", () => reject(new Error("stopped")));
            });
          },
        }),
      ],
      script: [{ parts: [{ call: { name: "write", input: {} } }] }, "I will check"],
    });
    const command = await rig.send({ type: "prompt", text: "go" });
    await writing.promise;
    await rig.reopen();
    expect(await rig.settled(command)).toMatchObject({
      terminal: "completed",
      answer: "I will check",
    });
    expect(writes).toBe(1);
    expect(rig.provider.requests[1]?.results[0]?.text).toMatch(/effect is unknown/);
  });

  test("[E15] after a prompt that was never answered the roles still alternate", async () => {
    const rig = await start({
      wire,
      keeps: "alternating",
      script: [{ parts: [{ text: "x" }, { gate: "never" }] }],
    });
    const lost = await rig.send({ type: "prompt", text: "lost" });
    await rig.provider.reached("never");
    await rig.send({ type: "cancel", commandId: lost });
    await rig.settled(lost);
    await rig.send({ type: "line", text: "a line" });
    rig.provider.push("fine");
    expect(await rig.prompt("next")).toMatchObject({ terminal: "completed", answer: "fine" });
    expect(rig.provider.requests[1]?.prompt).toContain("next");
  });
});
