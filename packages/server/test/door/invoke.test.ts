import { AgentEvent } from "@lichen/wire";
import { describe, expect, test } from "vitest";
import { type AgentRig, openAgentRig } from "./agent-rig.ts";
import { openStream, refused } from "./rig.ts";

const path = "/agents/a/invoke";

const eventsOf = (text: string): AgentEvent[] =>
  text
    .split("\n\n")
    .filter((frame) => frame.startsWith("data: "))
    .map((frame) => AgentEvent.parse(JSON.parse(frame.slice(6))));

const open = (rig: AgentRig, json: object) =>
  openStream(rig.served.port, path, { json, token: rig.tokens.owner });

const settlement = async (rig: AgentRig, requestId: string) => {
  const session = rig.agent.session("s");
  const { status, ...withdrawn } = await session.withdraw(requestId);
  if (status !== "accepted") throw new Error("The request was not admitted.");
  const { commandId } = withdrawn as { commandId: string };
  return session.readSettlement(commandId, { timeoutMs: 30_000 });
};

describe("invoke over HTTP", () => {
  test("[H25] one prompt streams its agent events to its settlement, and then ends", async () => {
    await using rig = await openAgentRig({
      script: [
        { calls: [{ name: "look", input: { at: "sky" } }] },
        { partials: ["It is", "It is blue"] },
        { say: "It is blue.", usage: { input: 5, output: 3, cacheRead: 0, cacheWrite: 0 } },
      ],
    });
    await using stream = await open(rig, { session: "s", text: "What colour?" });
    expect(stream.status).toBe(200);
    expect(stream.headers["content-type"]).toBe("text/event-stream");
    const events = eventsOf(await stream.rest());
    expect(events.map((event) => event.type)).toEqual(
      expect.arrayContaining(["tool_started", "tool_ended", "text", "completed"]),
    );
    expect(events.filter(({ type }) => type === "completed" || type === "failed")).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({
      type: "completed",
      data: { usage: { input: 5, output: 3 } },
    });
    const said = events.flatMap((event) => (event.type === "text" ? event.delta : []));
    expect(said.join("")).toBe("It is blue.");
  });

  test("[H25] the same requestId follows the same command, during its run and after", async () => {
    const gate = Promise.withResolvers<void>();
    let runs = 0;
    await using rig = await openAgentRig({
      script: () => {
        runs++;
        return [{ gate: gate.promise }, { say: "once" }];
      },
    });
    const body = { session: "s", text: "go", requestId: "r" };
    const streams = [await open(rig, body), await open(rig, body)];
    gate.resolve();
    for (const stream of streams) {
      const events = eventsOf(await stream.rest());
      expect(events.at(-1)?.type).toBe("completed");
    }
    const later = eventsOf((await rig.ask(path, { json: body })).text);
    expect(later.at(-1)?.type).toBe("completed");
    expect(runs).toBe(1);
    const other = await rig.ask(path, { json: { ...body, text: "other" } });
    expect(refused(other)).toMatchObject({ status: 409, code: "conflict" });
  });

  test("[H25] a refusal is a refusal, not a stream: a busy session is 409 for a caller that does not queue", async () => {
    await using rig = await openAgentRig({ script: [{ hang: true }] });
    await rig.agent.session("s").send({ type: "prompt", requestId: "p", text: "x" });
    const answer = await rig.ask(path, { json: { session: "s", text: "y", busy: "reject" } });
    expect(refused(answer)).toMatchObject({ status: 409, code: "busy" });
  });

  test("[H25] the run goes on when the caller leaves, unless it asked for cancel", async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const started = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using rig = await openAgentRig({
      script: ({ text }) => {
        const n = Number(text);
        started[n]!.resolve();
        return [{ gate: gates[n]!.promise }, { say: "done" }];
      },
    });
    for (const [n, onDisconnect] of ["continue", "cancel"].entries()) {
      const stream = await open(rig, {
        session: "s",
        text: `${n}`,
        requestId: `${n}`,
        onDisconnect,
      });
      await started[n]!.promise;
      await stream[Symbol.asyncDispose]();
      if (onDisconnect === "continue") gates[n]!.resolve();
      expect((await settlement(rig, `${n}`))?.terminal).toBe(
        onDisconnect === "continue" ? "completed" : "cancelled",
      );
    }
    expect(rig.bugs).toEqual([]);
  });

  test("[H25] a host that goes down ends the stream with a retryable failure and cancels nothing", async () => {
    const started = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    await using rig = await openAgentRig({
      script: () => {
        started.resolve();
        return [{ gate: gate.promise }, { say: "done" }];
      },
    });
    const body = { session: "s", text: "go", requestId: "r", onDisconnect: "cancel" };
    await using stream = await open(rig, body);
    await started.promise;
    rig.door.drain();
    const events = eventsOf(await stream.rest());
    expect(events).toEqual([
      expect.objectContaining({ type: "failed", retryable: true, code: "unavailable" }),
    ]);
    gate.resolve();
    expect((await settlement(rig, "r"))?.terminal).toBe("completed");
  });
});
