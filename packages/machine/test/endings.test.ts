import { rmSync } from "node:fs";
import { join } from "node:path";
import type { Move } from "@lichen/runtime/testing";
import { expect, test } from "vitest";
import { ownHarnesses } from "../src/index.ts";
import { processesOf } from "./processes.ts";
import { type EventReader, Rig, type TestEvent } from "./rig.ts";
import { line, scriptedHarness } from "./scripted.ts";

const agent = join(import.meta.dirname, "../../engine/test/acp/agent.ts");
const isResult = ({ data }: TestEvent): boolean => data["type"] === "result";
const stop = (rig: Rig, name = "a") =>
  rig.tell(`/v1/sessions/${name}/interrupt`, { method: "POST" });

/** All events up to a setting that is changed now. */
async function soFar(rig: Rig, reader: EventReader, name = "a"): Promise<TestEvent[]> {
  const keep_running = !(await rig.info(name)).keep_running;
  await rig.tell(`/v1/sessions/${name}/settings`, { json: { keep_running } });
  const events = await reader.upTo(({ kind }) => kind === "setting");
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, at) => events[0]!.seq + at));
  return events.slice(0, -1);
}

test("[MA41] a run that fails before its harness says a word ends in a result that says why", async () => {
  await using rig = await Rig.open({ harnesses: ownHarnesses() });
  const command = [process.execPath, agent, join(rig.root, "agent-state")];
  await rig.make("away", { harness: "acp", command: [...command, "--sign-in"] });
  await rig.make("gone", { harness: "acp", command });
  for (const name of ["away", "gone"]) {
    await using reader = await rig.events(name);
    if (name === "gone") {
      const { status } = await rig.send(name, "say hello", "before");
      expect(status).toBe(202);
      await rig.until(name, (it) => it.turns === 1 && it.state === "idle");
      await reader.upTo(isResult);
      rmSync(join(rig.home, "gone"), { recursive: true });
    }
    const { id } = await rig.info(name);
    const sent = await rig.tell(`/agents/${id}/sessions/main/commands`, {
      json: { type: "prompt", requestId: "r1", text: "say hello" },
    });
    expect(sent.status).toBe(202);
    const events = await reader.upTo(isResult);
    expect(events.at(-1)).toMatchObject({
      kind: "claude",
      data: { subtype: "error_during_execution", is_error: true, terminal: "failed" },
    });
    const { result } = events.at(-1)!.data as { result: string };
    expect(result).toContain(name === "away" ? "sign in" : "directory");
    expect(events.find(({ kind }) => kind === "message")?.data["text"]).toBe("say hello");
  }
});

test("[MA41] a run's end is told once: by the harness's own result, or by ours where that says nothing of the kind", async () => {
  const says: Record<string, readonly Move[]> = {
    done: [{ append: [line({ type: "result", subtype: "success" })] }, { say: "ok" }],
    fails: [{ fail: "out of luck" }],
    told: [{ append: [line({ type: "result", subtype: "error_max_turns" })] }, { fail: "no more" }],
    lies: [{ append: [line({ type: "result", subtype: "success" })] }, { fail: "it was nothing" }],
    goes_on: [
      { append: [line({ type: "result", is_error: true }), line({ type: "assistant" })] },
      { fail: "later" },
    ],
    breaks: [{ throws: "a bug" }],
    hangs: [{ append: [line({ type: "system" })] }, { hang: true }],
  };
  await using rig = await Rig.open({
    harnesses: [scriptedHarness({ folds: false, script: (work) => says[work.text] ?? [] })],
  });
  await rig.make("a");
  await using reader = await rig.events("a");
  const told: Record<string, unknown> = {};
  for (const [at, text] of Object.keys(says).entries()) {
    await rig.send("a", text);
    if (text === "hangs") {
      await reader.upTo(({ data }) => data["type"] === "system");
      await stop(rig);
    }
    await rig.until("a", (it) => it.turns === at + 1 && it.state === "idle");
    told[text] = (await soFar(rig, reader))
      .filter(isResult)
      .map(({ data }) => data["terminal"] ?? data["subtype"] ?? "theirs");
  }
  expect(told).toEqual({
    ...{ done: ["success"], fails: ["failed"], told: ["error_max_turns"] },
    ...{ lies: ["success", "failed"], goes_on: ["theirs", "failed"] },
    ...{ breaks: ["failed"], hangs: ["cancelled"] },
  });
});

test("[MA41] a message that never came to the harness is an event with its text, its id and the error", async () => {
  await using rig = await Rig.open({
    harnesses: [scriptedHarness({ folds: false, script: [{ hang: true }] })],
  });
  const { id: agentId } = await rig.make("a");
  await rig.send("a", "first");
  await rig.send("a", "second", "m2");
  const { pending } = (await (await rig.ask(`/agents/${agentId}/sessions/main`)).json()) as {
    pending: { commandId: string; text: string }[];
  };
  await rig.tell(`/agents/${agentId}/sessions/main/commands`, {
    json: { type: "cancel", requestId: "c1", commandId: pending[0]!.commandId },
  });
  await using reader = await rig.events("a");
  expect((await soFar(rig, reader)).map(({ kind, data }) => [kind, data])).toEqual([
    ["message", { text: "first" }],
    ["message", { text: "second", id: "m2", error: "It was stopped." }],
  ]);
});

test("[MA42] a prompt that was shown is closed by an event, whatever became of it", async () => {
  const ask = (prompt: string): readonly Move[] => [
    { append: [line({ type: "control_request", request_id: prompt })] },
    { ask: { kind: "tool", prompt, key: prompt, tool: "Bash", input: {} } },
    { say: "ok" },
  ];
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        script: (work) =>
          work.text === "withdraws"
            ? [
                ...ask(work.text).slice(0, 1),
                {
                  gate: async ({ run }) => {
                    const key = work.text;
                    const asked = run.ask({ key, prompt: key, kind: "tool", tool: "Bash" });
                    await rig.until("a", (it) => it.pending === 1);
                    await run.withdrawQuestion(key, "it needs it no more");
                    await asked;
                  },
                },
                { say: "ok" },
              ]
            : ask(work.text),
      }),
    ],
  });
  await rig.make("a");
  await using reader = await rig.events("a");
  const closing: TestEvent[] = [];
  for (const [at, text] of ["answered", "stopped", "withdraws"].entries()) {
    await rig.send("a", text);
    if (text !== "withdraws") await rig.until("a", (it) => it.state === "waiting");
    if (text === "answered")
      await rig.tell(`/v1/sessions/a/prompts/${text}`, { json: { allow: true } });
    if (text === "stopped") await stop(rig);
    await rig.until("a", (it) => it.turns === at + 1 && it.state === "idle");
    closing.push(
      ...(await soFar(rig, reader)).filter(
        ({ kind, data }) => kind === "answer" || data["type"] === "control_cancel_request",
      ),
    );
  }
  expect(closing.map(({ kind, data }) => [kind, data["prompt"] ?? data["request_id"]])).toEqual([
    ["answer", "answered"],
    ["claude", "stopped"],
    ["claude", "withdraws"],
  ]);
});

test("[MA42] a prompt whose agent is restarted is closed by an event before the agent stops", async () => {
  await using rig = await Rig.open({ harnesses: ownHarnesses() });
  const command = [process.execPath, agent, join(rig.root, "agent-state")];
  await rig.make("a", { harness: "acp", command });
  await using reader = await rig.events("a");
  await rig.send("a", "permit edit the file");
  const asked = await reader.upTo(({ data }) => data["type"] === "control_request");
  await rig.until("a", (it) => it.state === "waiting");
  expect((await rig.tell("/v1/sessions/a/restart", { method: "POST" })).status).toBe(204);
  const events = await reader.upTo(isResult);
  expect(events.find(({ data }) => data["type"] === "control_cancel_request")?.data).toMatchObject({
    request_id: asked.at(-1)!.data["request_id"],
  });
  expect(events.map(({ kind }) => kind)).toContain("stopped");
  expect(events.at(-1)?.data).toMatchObject({ is_error: true, terminal: "interrupted" });
});

test("[MA43] who deletes a session in the middle of its work is told that it was deleted, and nothing of its host", async () => {
  await using rig = await Rig.open({ harnesses: ownHarnesses() });
  const command = [process.execPath, agent, join(rig.root, "agent-state")];
  await rig.make("a", { harness: "acp", command });
  await using reader = await rig.events("a");
  await rig.send("a", "hang");
  await reader.upTo(({ kind }) => kind === "message");
  await rig.until("a", (it) => it.running && it.state === "working");
  expect((await rig.tell("/v1/sessions/a", { method: "DELETE" })).status).toBe(204);
  const events: TestEvent[] = [];
  for (let event = await reader.next(); event; event = await reader.next()) events.push(event);
  expect(events.find(({ kind }) => kind === "stopped")?.data).toEqual({
    reason: "its session was deleted",
  });
  expect(reader.comments.at(-1)).toContain("deleted");
  expect(rig.bugs).toEqual([]);
});

test("[MA29] a restart is answered once another process begins, also where the agent never greets", async () => {
  await using rig = await Rig.open({ harnesses: ownHarnesses() });
  const { id } = await rig.make("a", {
    harness: "acp",
    command: [process.execPath, "-e", "process.stdin.resume()"],
  });
  await rig.send("a", "say hello");
  await rig.until("a", ({ running }) => running && processesOf(id).length === 1);
  const before = processesOf(id);
  const asked = Date.now();
  expect((await rig.tell("/v1/sessions/a/restart", { method: "POST" })).status).toBe(204);
  expect(Date.now() - asked).toBeLessThan(20_000);
  await rig.until("a", () => processesOf(id).length === 1);
  expect(processesOf(id)).not.toEqual(before);
  await using reader = await rig.events("a");
  await reader.upTo(({ kind }) => kind === "restarted");
  expect(rig.bugs).toEqual([]);
});
