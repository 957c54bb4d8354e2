// Two clients of a machine that do things to one session at once: each such meeting has one end, and both are told it.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { eventIn, type TestEvent } from "../rig.ts";
import type { Body } from "../access/rig.ts";
import { processesOf } from "../processes.ts";
import { Stage } from "./stage.ts";

const openStage = () => Stage.open(mkdtempSync(join(tmpdir(), "lichen-at-once-")));
const sorted = (...statuses: number[]) => statuses.toSorted((a, b) => a - b);

/** All numbered events of a session. */
async function eventsOf(stage: Stage, name: string): Promise<TestEvent[]> {
  const { last_seq: last } = await stage.info(name);
  const answer = await stage.rig.stream(`/v1/sessions/${name}/events`, { method: "GET" });
  let text = "";
  answer.setEncoding("utf8");
  for await (const chunk of answer) {
    text += String(chunk);
    const events = text
      .split("\n\n")
      .slice(0, -1)
      .flatMap((block) => eventIn(block) ?? [])
      .filter(({ id }) => id !== undefined);
    if (events.length < last) continue;
    answer.destroy();
    return events;
  }
  throw new Error(`it ended before: ${text}`);
}

async function entriesOf(stage: Stage, name: string): Promise<Body["entries"]> {
  const { id } = await stage.info(name);
  return (await stage.rig.ask(`/agents/${id}/sessions/main?limit=200`)).body.entries;
}

test("[MA27] an interrupt right behind a message stops it, however little was done about it by then", async () => {
  await using stage = await openStage();
  await stage.rig.make("a");
  for (let round = 0; round < 12; round++) {
    expect((await stage.send("a", "hang")).status).toBe(202);
    expect((await stage.post("a", "interrupt")).status).toBe(202);
    await stage.until("a", (it) => it.state === "idle");
  }
  // With nothing in hand it changes nothing.
  await stage.send("a", "hello");
  await stage.until("a", (it) => it.preview === "you said hello" && it.state === "idle");
  const { last_seq: before } = await stage.info("a");
  expect((await stage.post("a", "interrupt")).status).toBe(202);
  expect(await stage.info("a")).toMatchObject({ last_seq: before, state: "idle", running: true });
  const settled = (await entriesOf(stage, "a")).filter(({ kind }) => kind === "run.settled");
  expect(settled).toHaveLength(13);
  expect(stage.rig.reports).toEqual([]);
}, 60_000);

test("[MA38] who interrupts, restarts, begins anew, or changes the model or a setting stands by what came of it", async () => {
  await using stage = await openStage();
  const { name } = await stage.words("working");
  const phone = { token: stage.phone };
  expect((await stage.post(name, "interrupt", undefined, phone)).status).toBe(202);
  await stage.until(name, (it) => it.state === "idle");
  expect((await stage.post(name, "restart", undefined, phone)).status).toBe(204);
  const model = await stage.post(name, "settings", { model: "claude-sonnet-5" }, phone);
  expect(model.status).toBe(200);
  await stage.post(name, "settings", { keep_running: true }, phone);
  expect((await stage.post(name, "new", undefined, phone)).status).toBe(200);
  const entries = await entriesOf(stage, name);
  for (const kind of [
    "command.cancelled",
    "harness.restarted",
    "session.changed",
    "setting",
    "conversation.started",
  ])
    expect(
      entries.filter((it) => it.kind === kind).map(({ by }) => [kind, by]),
      kind,
    ).toEqual([[kind, "phone"]]);
  const shown = (await eventsOf(stage, name)).filter(({ by }) => by === "phone");
  expect(shown.map(({ kind }) => kind)).toEqual(["restarted", "setting", "new_conversation"]);
}, 60_000);

test("[MA25] one message that two devices send under one id is taken once, also after one of them was renamed", async () => {
  await using stage = await openStage();
  const { name } = await stage.words("idle");
  const send = (token: string, text = "hello") => stage.send(name, text, { id: "m-1", token });
  const [one, two] = await Promise.all([send(stage.phone), send(stage.desk)]);
  expect(sorted(one.status, two.status)).toEqual([200, 202]);
  const { body } = await stage.rig.ask("/v1/devices");
  for (const { id, name: called } of body.devices)
    await stage.rig.ask(`/v1/devices/${id}`, { method: "PATCH", json: { name: `my ${called}` } });
  for (const token of [stage.phone, stage.desk, stage.rig.host.token]) {
    const again = await send(token);
    expect([again.status, again.text]).toEqual([200, '{"duplicate":true}']);
  }
  expect((await send(stage.phone, "other")).status).toBe(409);
  await stage.until(name, (it) => it.turns === 1 && it.state === "idle");
  const messages = (await eventsOf(stage, name)).filter(({ kind }) => kind === "message");
  expect(messages.map(({ data }) => data)).toEqual([{ text: "hello", id: "m-1" }]);
}, 60_000);

test("[MA26] of two devices that answer one prompt one is heard, and its process hears it once", async () => {
  await using stage = await openStage();
  const { name } = await stage.words("waiting");
  const answer = (token: string, json: object) => stage.post(name, "prompts/p-1", json, { token });
  const [yes, no] = await Promise.all([
    answer(stage.phone, { allow: true }),
    answer(stage.desk, { allow: false, message: "no" }),
  ]);
  expect(sorted(yes.status, no.status)).toEqual([204, 409]);
  await stage.until(name, (it) => it.turns === 1 && it.state === "idle");
  const events = await eventsOf(stage, name);
  const isAllowed = yes.status === 204;
  expect(events.filter(({ kind }) => kind === "answer")).toMatchObject([
    { by: isAllowed ? "phone" : "desk", data: { prompt: "p-1", allow: isAllowed } },
  ]);
  const results = events.filter(({ data }) => JSON.stringify(data).includes("tool_result"));
  expect(JSON.stringify(results)).toContain(isAllowed ? '"allow"' : '"deny"');
  expect(results).toHaveLength(1);
}, 60_000);

test("[MA28] a message that meets a new conversation is in it or refuses it, and its process is not ended for that", async () => {
  await using stage = await openStage();
  await stage.rig.make("a");
  await stage.send("a", "hello");
  await stage.until("a", (it) => it.turns === 1 && it.state === "idle");
  const conversations = new Set<unknown>();
  let begun = 0;
  for (let round = 1; round <= 12; round++) {
    const text = `round ${round}`;
    const send = () => stage.send("a", text, { token: stage.phone });
    const fresh = () => stage.post("a", "new", undefined, { token: stage.desk });
    const [first, second] = await Promise.all(round % 2 ? [send(), fresh()] : [fresh(), send()]);
    const [sent, anew] = round % 2 ? [first, second] : [second, first];
    expect(sent.status).toBe(202);
    expect([200, 409]).toContain(anew.status);
    if (anew.status === 200) begun++;
    await stage.until("a", (it) => it.state === "idle" && it.turns === 1 + round);
    const events = await eventsOf(stage, "a");
    const asked = events.findIndex(({ data }) => data["text"] === text);
    const began = events.findLastIndex(({ kind }) => kind === "new_conversation");
    const stopped = events.slice(asked).filter(({ kind }) => kind === "stopped");
    // A new conversation ends the process of the former one, and no other.
    if (anew.status === 409) expect(stopped).toEqual([]);
    else expect(stopped.length).toBeLessThanOrEqual(1);
    const inits = events.slice(asked).filter(({ data }) => data["subtype"] === "init");
    expect(inits).toHaveLength(1);
    conversations.add(inits[0]?.data["session_id"]);
    if (anew.status === 200 && began > asked)
      // It came when all of the message was over.
      expect(events.slice(began).some(({ data }) => data["type"] === "result")).toBe(false);
  }
  expect(conversations.size).toBeGreaterThanOrEqual(begun === 0 ? 1 : 2);
  expect(await stage.info("a")).toMatchObject({ state: "idle", pending: 0 });
  expect(stage.rig.reports).toEqual([]);
}, 60_000);

test("[MA20] a setting that meets a restart holds for the process that lives then", async () => {
  await using stage = await openStage();
  const { name } = await stage.words("talked");
  for (const isOn of [true, false, true, false]) {
    const set = () => stage.post(name, "settings", { auto_approve: isOn }, { token: stage.phone });
    const restart = () => stage.post(name, "restart", undefined, { token: stage.desk });
    const both = await Promise.all(isOn ? [set(), restart()] : [restart(), set()]);
    expect(sorted(...both.map(({ status }) => status))).toEqual([200, 204]);
    expect(await stage.info(name)).toMatchObject({ auto_approve: isOn, running: true });
    const { turns } = await stage.info(name);
    await stage.send(name, "permit");
    if (!isOn) {
      await stage.until(name, (it) => it.pending === 1);
      const asked = (await eventsOf(stage, name)).findLast(
        ({ data }) => data["type"] === "control_request",
      );
      await stage.post(name, `prompts/${String(asked?.data["request_id"])}`, { allow: true });
    }
    await stage.until(name, (it) => it.state === "idle" && it.turns === turns + 1);
  }
  expect(stage.rig.reports).toEqual([]);
}, 60_000);

test("[MA14] a message that meets a deletion is gone with its session, and so is its process", async () => {
  await using stage = await openStage();
  for (let round = 0; round < 8; round++) {
    const { name } = await stage.words(round % 2 ? "talked" : "idle");
    const { id } = await stage.info(name);
    const [sent, deleted] = await Promise.all([
      stage.send(name, "hang", { token: stage.phone }),
      stage.rig.ask(`/v1/sessions/${name}`, { method: "DELETE", token: stage.desk }),
    ]);
    expect([202, 404, 409]).toContain(sent.status);
    expect(deleted.status).toBe(204);
    expect((await stage.rig.ask("/v1/sessions")).body.sessions).toEqual([]);
    expect((await stage.send(name, "hello")).status).toBe(404);
    expect(processesOf(id)).toEqual([]);
  }
  expect(stage.rig.reports).toEqual([]);
}, 60_000);
