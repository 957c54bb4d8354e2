// The engine contract: what a session keeps to, whatever engine executes its runs. Each engine's test stages the same
// turns with its own agent or with a scripted provider behind the real program.

import type { Engine } from "@lichen/runtime";
import { afterEach, expect, test } from "vitest";
import { turns, until } from "../../runtime/test/clock.ts";
import { House, type Stage } from "./engine-house.ts";

export type { Plan, Stage, Staged } from "./engine-house.ts";

/** The suite. What an engine says that it cannot do is left out. */
export function engineContract(name: string, can: Engine["can"], stage: Stage, has: Has): void {
  const open: House[] = [];
  afterEach(async () => {
    for (const house of open.splice(0)) await house.close();
  });
  const start = async (): Promise<House> => {
    const house = await House.open(stage);
    expect(house.staged.engine.can).toEqual(can);
    open.push(house);
    return house;
  };

  test(`[EN1] ${name}: a run completes with its answer, one after another in one session`, async () => {
    const house = await start();
    expect(await house.run({ kind: "answer", text: "first" })).toMatchObject({
      terminal: "completed",
      answer: "first",
    });
    expect(await house.run({ kind: "answer", text: "second" })).toMatchObject({
      terminal: "completed",
      answer: "second",
    });
    expect(await house.data("message.user")).toHaveLength(2);
    expect(house.reported).toEqual([]);
  });

  test(`[EN2] ${name}: what streams is shown before its message is stored, and stored once`, async () => {
    const house = await start();
    const commandId = await house.begin({ kind: "hold", text: "on its way" });
    expect(await house.shown("on its way")).toBe(0);
    await house.staged.held();
    await house.staged.release();
    expect(await house.settled(commandId)).toMatchObject({ answer: "on its way" });
    const texts = JSON.stringify(await house.data("message.assistant")).split("on its way");
    expect(texts).toHaveLength(2);
  });

  test(`[EN3] ${name}: a cancelled run settles so, and the session goes on`, async () => {
    const house = await start();
    const commandId = await house.begin({ kind: "hold", text: "half" });
    await house.staged.held();
    await house.send({ type: "cancel", commandId });
    expect(await house.settled(commandId)).toMatchObject({ terminal: "cancelled", answer: "" });
    expect((await house.session.read()).running).toBeUndefined();
    expect(await house.run({ kind: "answer", text: "next" })).toMatchObject({ answer: "next" });
  });

  if (has.fails !== false)
    test(`[EN4] ${name}: a run that fails says why in a line, and the session goes on`, async () => {
      const house = await start();
      const { terminal, diagnostic } = await house.run({ kind: "fail" });
      expect(terminal).toBe("failed");
      expect(diagnostic).toMatch(/^\S.{5,1023}$/);
      expect(await house.run({ kind: "answer", text: "next" })).toMatchObject({ answer: "next" });
    });

  test(`[EN5] ${name}: a call has its message, its intent and its outcome, in this order`, async () => {
    const house = await start();
    expect(await house.run({ kind: "call" })).toMatchObject({ answer: "done", toolCalls: 1 });
    const order = ["message.assistant", "call.started", "message.tool"];
    const entries = (await house.entries()).filter(({ kind }) => order.includes(kind));
    expect(entries.map(({ kind }) => kind)).toEqual([...order, "message.assistant"]);
    const [message, , outcome] = entries;
    expect(message?.data).toMatchObject({
      content: expect.arrayContaining([expect.objectContaining({ type: "call", index: 0 })]),
    });
    expect(outcome?.data).toMatchObject({ assistant: message?.id, index: 0, isError: false });
  });

  if (can.approve && has.asks !== false) {
    test(`[EN6] ${name}: a call that was allowed has its answer before its intent, and is made`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "ask" });
      const { approvalId, kind } = await house.asked();
      expect(kind).toBe("tool");
      await house.send({ type: "answer", approvalId, allow: true });
      expect(await house.settled(commandId)).toMatchObject({ answer: "done", toolCalls: 1 });
      const order = ["approval.asked", "approval.answered", "call.started", "message.tool"];
      const kinds = (await house.entries()).map((entry) => entry.kind);
      expect(kinds.filter((it) => order.includes(it))).toEqual(order);
    });

    test(`[EN6] ${name}: a call that was denied is not made, and the run goes on`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "ask" });
      const { approvalId } = await house.asked();
      await house.send({ type: "answer", approvalId, allow: false, message: "not today" });
      expect(await house.settled(commandId)).toMatchObject({ answer: "left" });
      expect(await house.data("message.tool")).toMatchObject([{ isError: true }]);
    });

    test(`[EN6] ${name}: a call whose denial stops the run is not made, and the session goes on`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "ask" });
      const { approvalId } = await house.asked();
      const stop = { allow: false, message: "stop here", interrupt: true };
      await house.send({ type: "answer", approvalId, ...stop });
      expect(await house.settled(commandId)).toMatchObject({ terminal: "cancelled", toolCalls: 0 });
      expect(await house.data("approval.answered")).toMatchObject([stop]);
      const next = await house.begin({ kind: "answer", text: "still here" });
      expect(await house.settled(next)).toMatchObject({ answer: "still here" });
    });

    test(`[EN6] ${name}: what is asked is withdrawn with its run, and an answer is too late then`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "ask" });
      const { approvalId } = await house.asked();
      await house.send({ type: "cancel", commandId });
      expect(await house.settled(commandId)).toMatchObject({ terminal: "cancelled" });
      expect(await house.data("approval.withdrawn")).toMatchObject([{ approvalId }]);
      const late = await house.session.send({
        ...{ type: "answer", requestId: "late", approvalId, allow: true },
      });
      expect(late.status).toBe("too_late");
    });
  }

  if (can.steer)
    test(`[EN7] ${name}: a steer is part of the run in hand and settles with it`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "hold", text: "first", calls: true });
      await house.staged.held();
      const steer = await house.begin({ kind: "answer", text: "steered" }, "steer");
      await house.staged.release();
      expect(await house.settled(commandId)).toMatchObject({
        terminal: "completed",
        answer: "steered",
      });
      expect(await house.settled(steer)).toMatchObject({
        terminal: "completed",
        answer: "steered",
      });
      const [, joined, ...more] = await house.data("message.user");
      expect(joined?.steers).toBe(commandId);
      expect(more).toEqual([]);
    });

  if (has.process)
    test(`[EN8] ${name}: a run whose process is killed settles, and the session goes on`, async () => {
      const house = await start();
      const commandId = await house.begin({ kind: "hold", text: "half" });
      await house.staged.held();
      await house.staged.release();
      await house.staged.kill?.();
      const { terminal, diagnostic } = await house.settled(commandId);
      expect(terminal).not.toBe("cancelled");
      if (terminal !== "completed") expect(diagnostic).toMatch(/\S/);
      expect(await house.run({ kind: "answer", text: "next" })).toMatchObject({ answer: "next" });
    });

  test(`[EN8] ${name}: a run that a stopping host leaves settles in the next one, and the session goes on`, async () => {
    const house = await start();
    const commandId = await house.begin({ kind: "hold", text: "half" });
    await house.staged.held();
    const reopened = house.reopen();
    await house.staged.release();
    await reopened;
    const { terminal, diagnostic } = await house.settled(commandId);
    expect(terminal).not.toBe("cancelled");
    if (terminal !== "completed") expect(diagnostic).toMatch(/\S/);
    expect(await house.run({ kind: "answer", text: "next" })).toMatchObject({ answer: "next" });
    expect(await house.data("message.user")).toHaveLength(2);
  });

  if (has.outside)
    test(`[EN9] ${name}: what the agent says by itself is a run of its own, named after who spoke`, async () => {
      const house = await start();
      await house.run({ kind: "answer", text: "first" });
      await house.staged.speak?.("by myself");
      await until(
        async () => (await house.data("run.settled")).length === 2,
        "the run that the agent opened",
      );
      const [, opened] = await house.data("command.queued");
      expect(opened).toMatchObject({ type: "outside", source: expect.stringMatching(/\S/) });
      expect((await house.data("run.settled"))[1]).toMatchObject({ answer: "by myself" });
    });

  test(`[EN10] ${name}: nothing is told, and no harness is sent anything, before it is durable`, async () => {
    const house = await start();
    await house.run({ kind: "answer", text: "first" });
    const before = house.staged.received();
    const told: unknown[] = [];
    const text = await house.staged.play({ kind: "answer", text: "second" });
    const { head, epoch } = await house.session.read();
    house.session.observe(
      { frame: (frame) => told.push(frame) > 0, end: () => {} },
      { after: `${epoch}.${head}` },
    );
    await turns(8);
    const toldBefore = told.length;
    const release = house.holdSyncs();
    const receipt = house.session.send({ type: "prompt", requestId: "held", text });
    await turns(100);
    expect(told.slice(toldBefore)).toEqual([]);
    if (!can.eager) expect(house.staged.received()).toBe(before);
    release();
    const { commandId } = await receipt;
    expect(await house.settled(commandId!)).toMatchObject({ answer: "second" });
  });

  if (can.images)
    test(`[EN11] ${name}: an image of a prompt reaches who answers it`, async () => {
      const house = await start();
      expect(await house.run({ kind: "image" })).toMatchObject({ answer: "seen" });
      expect(house.staged.images()).toBe(1);
    });
}

/** What a stage can show beside the engine's own abilities. */
export interface Has {
  /** It has a process of its own, and `kill`. */
  readonly process: boolean;
  /** Its agent can speak by itself: `speak`. */
  readonly outside: boolean;
  /** False: its agent has no call that a person must allow, though its engine could ask. */
  readonly asks?: false;
  /** False: its agent cannot fail a run by an error of its provider, but tells it as an answer. */
  readonly fails?: false;
}
