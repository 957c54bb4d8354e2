import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Run } from "@lichen/runtime";
import { expect, test } from "vitest";
import { processesOf } from "./processes.ts";
import { Rig } from "./rig.ts";
import { assistantLine, line, scriptedHarness } from "./scripted.ts";

test("[MA14] a session that is deleted leaves no process and nothing in the store, twenty times in a row", async () => {
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({ script: [{ append: [assistantLine("working")] }, { hang: true }] }),
    ],
  });
  for (let time = 0; time < 20; time++) {
    const { id } = await rig.make("again");
    await rig.send("again", "go on for ever");
    await rig.until("again", (it) => it.state === "working" && it.last_seq === 2);
    expect(processesOf(id)).toHaveLength(1);
    const [first, second] = await Promise.all([
      rig.tell("/v1/sessions/again", { method: "DELETE" }),
      rig.tell("/v1/sessions/again", { method: "DELETE" }),
    ]);
    expect([first.status, second.status].filter((it) => it === 204)).not.toEqual([]);
    expect(processesOf(id)).toEqual([]);
    expect(rig.machine.owner.kept()).toEqual([]);
    expect((await rig.tell("/v1/sessions/again", { method: "DELETE" })).status).toBe(404);
  }
  expect(rig.reports).toEqual([]);
});

/** Kills a machine in the middle of something; the id of the agent that it was about. */
async function killed(root: string, moment: "deleting" | "making"): Promise<string> {
  const program = join(import.meta.dirname, "stuck-machine.ts");
  const child = spawn(process.execPath, [program, root, moment], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { PATH: process.env["PATH"] },
  });
  const ended = once(child, "exit");
  let id = "";
  for await (const said of child.stdout) {
    id = String(said).trim();
    break;
  }
  child.kill("SIGKILL");
  await ended;
  return id;
}

test("[MA14] a session whose machine was killed in the middle of its deletion is gone from the next one, process and all", async () => {
  const root = mkdtempSync(join(tmpdir(), "lichen-machine-"));
  const id = await killed(root, "deleting");
  expect(processesOf(id)).toHaveLength(1);
  await using rig = await Rig.open({ root });
  expect(rig.machine.owner.kept()).toEqual([]);
  expect(processesOf(id)).toEqual([]);
  expect(await rig.list()).toEqual([]);
  await rig.make("a");
  expect(rig.reports).toEqual([]);
});

test("[MA12] a session whose machine was killed while it was made was never there, and its name is free", async () => {
  const root = mkdtempSync(join(tmpdir(), "lichen-machine-"));
  const id = await killed(root, "making");
  await using rig = await Rig.open({ root });
  expect(rig.machine.owner.kept()).toEqual([]);
  expect(processesOf(id)).toEqual([]);
  expect(await rig.list()).toEqual([]);
  const made = await rig.make("a");
  await rig.close();
  await using again = await Rig.open({ root });
  expect(await again.info("a")).toMatchObject({ id: made.id });
  expect([...rig.reports, ...again.reports]).toEqual([]);
});

test("[MA14] a session that is deleted through the agent's own door is gone from the machine", async () => {
  await using rig = await Rig.open();
  const { id } = await rig.make("a");
  const gone = await rig.tell(`/agents/${id}/sessions/main`, { method: "DELETE" });
  expect(gone.status).toBe(204);
  for (let tries = 0; (await rig.list()).length > 0; tries++) {
    if (tries > 1_000) throw new Error("it is still listed");
  }
  expect(rig.machine.owner.kept()).toEqual([]);
  await rig.make("a");
});

test("[MA22] a session that is renamed keeps its id, its numbers and its history, and readers follow it", async () => {
  await using rig = await Rig.open({
    harnesses: [scriptedHarness({ script: [{ append: [assistantLine("hi")] }, { say: "hi" }] })],
  });
  const before = await rig.make("old");
  await rig.send("old", "one");
  await rig.until("old", (it) => it.turns === 1);
  await using follower = await rig.events("old");
  await follower.take(2);
  const renamed = await rig.tell("/v1/sessions/old/rename", { json: { name: " new " } });
  expect(renamed.status).toBe(200);
  expect(renamed.body).toMatchObject({
    id: before.id,
    epoch: before.epoch,
    name: "new",
    last_seq: 3,
  });
  expect(await follower.take(1)).toMatchObject([
    { id: 3, kind: "renamed", data: { from: "old", to: "new" } },
  ]);
  await rig.send("new", "two");
  expect(await follower.take(2)).toMatchObject([{ id: 4, kind: "message" }, { id: 5 }]);
  expect((await rig.send("old", "three")).status).toBe(404);
  expect((await rig.tell("/v1/sessions/new/rename", { json: { name: "a b" } })).status).toBe(409);
  expect((await rig.tell("/v1/sessions/none/rename", { json: { name: "x" } })).status).toBe(404);
  expect((await rig.tell("/v1/sessions/new/rename", { json: { name: "new" } })).status).toBe(200);
});

test("[MA23] a machine that is opened again has its sessions with their settings, numbers and messages", async () => {
  const harness = scriptedHarness({ script: [{ append: [assistantLine("hi")] }, { say: "hi" }] });
  const first = await Rig.open({ harnesses: [harness] });
  await first.make("a", { auto_approve: true });
  await first.tell("/v1/sessions/a", { method: "PATCH", json: { starred: true } });
  await first.send("a", "one", "m1");
  const before = await first.until("a", (it) => it.turns === 1 && it.state === "idle");
  await first.close();
  await using rig = await Rig.open({ harnesses: [harness], root: first.root });
  const after = await rig.info("a");
  expect({ ...after, running: before.running, last_seq: 0, last_time: "" }).toEqual({
    ...before,
    last_seq: 0,
    last_time: "",
  });
  expect(after.last_seq).toBeGreaterThanOrEqual(before.last_seq);
  expect((await rig.send("a", "one", "m1")).status).toBe(200);
  await rig.send("a", "two", "m2");
  await using reader = await rig.events("a", `?after=${before.last_seq}`);
  const [next] = await reader.take(1);
  expect(next?.id).toBe(before.last_seq + 1);
});

test("[MA23] after its process has died with the machine no session says for ever that it works", async () => {
  const stuck = scriptedHarness({ script: [{ append: [assistantLine("on it")] }, { hang: true }] });
  const first = await Rig.open({ harnesses: [stuck] });
  await first.make("a");
  await first.send("a", "one");
  await first.until("a", (it) => it.state === "working");
  await first.close();
  // Its program is gone meanwhile.
  const missing = scriptedHarness({ find: () => ({ missing: "Claude Code is not here." }) });
  await using rig = await Rig.open({ harnesses: [missing], root: first.root });
  const info = await rig.until("a", (it) => it.state === "idle");
  expect(info).toMatchObject({ missing: "Claude Code is not here.", running: false });
});

test("[MA24] a session whose program is missing is listed and read, says what is missing, and works once it is there", async () => {
  let isThere = true;
  const harness = scriptedHarness({
    script: [{ append: [assistantLine("hi")] }, { say: "hi" }],
    find: () => (isThere ? { command: [process.execPath] } : { missing: "Install Claude Code." }),
  });
  const first = await Rig.open({ harnesses: [harness] });
  await first.make("a");
  await first.send("a", "one");
  await first.until("a", (it) => it.turns === 1);
  await first.close();
  isThere = false;
  await using rig = await Rig.open({ harnesses: [harness], root: first.root });
  expect(await rig.info("a")).toMatchObject({ missing: "Install Claude Code.", preview: "hi" });
  await using reader = await rig.events("a");
  await reader.take(2);
  const refused = await rig.send("a", "two", "m2");
  expect(refused).toMatchObject({ status: 409, body: { error: "Install Claude Code." } });
  expect((await rig.tell("/v1/sessions/a/restart", { method: "POST" })).status).toBe(409);
  expect((await rig.tell("/v1/sessions", { json: { name: "b", dir: "~/b" } })).status).toBe(400);
  isThere = true;
  expect((await rig.send("a", "two", "m2")).status).toBe(202);
  const info = await rig.until("a", (it) => it.turns === 2);
  expect(info).not.toHaveProperty("missing");
});

test("[MA45] a call that only waited for a person when its machine went down was not made, also where its program is missing by then", async () => {
  const asks = { name: "write", label: "write", confirm: {} } as const;
  const runs = { name: "run", label: "write", effect: () => new Promise<never>(() => {}) } as const;
  for (const [calls, terminal] of [
    [[asks], "interrupted"],
    [[asks, runs], "outcome_unknown"],
  ] as const) {
    const first = await Rig.open({ harnesses: [scriptedHarness({ script: [{ calls }] })] });
    const { id } = await first.make("a");
    await first.send("a", "one");
    await first.until("a", (it) => it.state === "waiting");
    await first.close();
    const missing = scriptedHarness({ find: () => ({ missing: "Install Claude Code." }) });
    await using rig = await Rig.open({ harnesses: [missing], root: first.root });
    await rig.until("a", (it) => it.state === "idle");
    const { entries } = (await rig.tell(`/agents/${id}/sessions/main`)).body as {
      entries: { kind: string; data: Record<string, unknown> }[];
    };
    const of = (kind: string) => entries.filter((it) => it.kind === kind).map(({ data }) => data);
    expect(of("message.tool")[0]).toMatchObject({ name: "write", isError: true });
    expect(JSON.stringify(of("message.tool")[0])).toContain("it was not made");
    expect(of("message.tool")).toHaveLength(calls.length);
    expect(of("approval.withdrawn")).toHaveLength(1);
    expect(of("run.settled")).toMatchObject([{ terminal, diagnostic: "Install Claude Code." }]);
  }
});

test("[MA28] a new conversation goes on under the same numbers, and is not begun in the middle of something", async () => {
  const told: string[] = [];
  const open = Promise.withResolvers<void>();
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        told: (what) => told.push(what),
        script: (work) => [
          ...(work.text === "wait" ? [{ gate: open.promise }] : []),
          { append: [assistantLine("hi")] },
          { say: "hi" },
        ],
      }),
    ],
  });
  await rig.make("a");
  await rig.send("a", "wait");
  await rig.until("a", (it) => it.state === "working");
  expect((await rig.tell("/v1/sessions/a/new", { method: "POST" })).status).toBe(409);
  open.resolve();
  await rig.until("a", (it) => it.turns === 1);
  const fresh = await rig.tell("/v1/sessions/a/new", { method: "POST" });
  expect(fresh).toEqual({ status: 200, body: { session: "a", archived: "" } });
  expect(told).toEqual(["run wait", "newConversation"]);
  await rig.send("a", "two");
  await using reader = await rig.events("a");
  expect((await reader.take(5)).map(({ id, kind }) => [id, kind])).toEqual([
    [1, "message"],
    [2, "claude"],
    [3, "new_conversation"],
    [4, "message"],
    [5, "claude"],
  ]);
});

test("[MA29] a restart ends the process of that session alone and begins another", async () => {
  await using rig = await Rig.open();
  const [a, b] = [await rig.make("a"), await rig.make("b")];
  for (const name of ["a", "b"]) {
    await rig.send(name, "hello");
    await rig.until(name, (it) => it.turns === 1);
  }
  const [before, other] = [processesOf(a.id), processesOf(b.id)];
  expect(await rig.tell("/v1/sessions/a/restart", { method: "POST" })).toEqual({
    status: 204,
    body: undefined,
  });
  expect(processesOf(a.id)).toHaveLength(1);
  expect(processesOf(a.id)).not.toEqual(before);
  expect(processesOf(b.id)).toEqual(other);
  expect((await rig.tell("/v1/sessions/c/restart", { method: "POST" })).status).toBe(404);
  await rig.close();
  expect([...processesOf(a.id), ...processesOf(b.id)]).toEqual([]);
});

test("[MA33] the agents of a machine's sessions are there for every other door on the same listener", async () => {
  await using rig = await Rig.open({
    harnesses: [scriptedHarness({ script: [{ append: [line({ type: "x" })] }, { say: "done" }] })],
  });
  const { id } = await rig.make("demo");
  const { body } = await rig.tell("/agents");
  expect(body).toMatchObject({ agents: [{ agent: id, name: "demo", engine: "claude" }] });
  const sent = await rig.tell(`/agents/${id}/sessions/main/commands`, {
    json: { type: "prompt", requestId: "r1", text: "from the chat" },
  });
  expect(sent.status).toBe(202);
  await rig.until("demo", (it) => it.turns === 1);
  await using reader = await rig.events("demo");
  expect(await reader.take(2)).toMatchObject([
    { kind: "message", data: { text: "from the chat" } },
    {},
  ]);
  // A coding agent has one session.
  const other = await rig.tell(`/agents/${id}/sessions/other/commands`, {
    json: { type: "prompt", requestId: "r1", text: "from the chat" },
  });
  expect(other.status).toBe(202);
  const { commandId } = other.body as { commandId: string };
  const settled = await rig.tell(
    `/agents/${id}/sessions/other/settlement?commandId=${commandId}&timeoutMs=30000`,
  );
  expect(settled.body).toMatchObject({
    terminal: "failed",
    diagnostic: expect.stringContaining("one session, main"),
  });
  expect((await rig.tell("/health")).status).toBe(200);
});

test("[MA30] a session's info has every field that its clients know, whatever this machine has of it", async () => {
  await using rig = await Rig.open();
  const info = await rig.make("a");
  expect(info).toEqual({
    id: expect.stringMatching(/^[a-z0-9]{20}$/),
    epoch: expect.any(String),
    name: "a",
    dir: join(rig.home, "a"),
    state: "idle",
    pending: 0,
    running: false,
    last_seq: 0,
    last_time: info.created,
    turns: 0,
    auto_approve: false,
    context_used: 0,
    context_window: 0,
    preview: "",
    model: "",
    harness: "claude",
    caps: { approve: true, takeover: true },
    starred: false,
    keep_running: false,
    fresh_by_agents: false,
    tasks_open: 0,
    tasks_stalled: 0,
    limited: null,
    accept_caged: false,
    accept_files_from: [],
    file_requests: [],
    task_requests: [],
    meshes: [],
    cage: null,
    created: expect.stringMatching(/^\d{4}-.*Z$/),
  });
  const { body } = await rig.tell("/v1/sessions");
  expect(body).toEqual({ sessions: [info], limits: null, credits: [] });
});

test("[MA16] a session that is made anew under a name is told from the one before by its epoch and its id", async () => {
  await using rig = await Rig.open();
  const before = await rig.make("a");
  await rig.tell("/v1/sessions/a", { method: "DELETE" });
  const after = await rig.make("a");
  expect(after.epoch).not.toBe(before.epoch);
  expect(after.id).not.toBe(before.id);
});

test("[MA28] the process of a message that comes in with a new conversation is that of the new one, and stays up", async () => {
  const pids: number[] = [];
  const watched = async ({ run }: { readonly run: Run }): Promise<void> => {
    const { engine } = rig.machine.sessions.all().find(({ id }) => id === run.agent)!;
    for (let turn = 0; turn < 30; turn++) {
      pids.push(engine.standing().pid ?? 0);
      await new Promise((resolve) => void setImmediate(resolve));
    }
  };
  await using rig = await Rig.open({
    harnesses: [scriptedHarness({ script: () => [{ gate: watched }, { say: "ok" }] })],
  });
  /** Begins anew, and sends a message so much later; what came of it, and the processes that the message saw. */
  const meet = async (name: string, wait: number): Promise<[string, Set<number>]> => {
    const seat = rig.machine.sessions.get(name);
    const { turns } = await rig.info(name);
    pids.length = 0;
    const began = seat.fresh().then(
      () => "begun",
      () => "refused",
    );
    for (let turn = 0; turn < wait; turn++) await Promise.resolve();
    await seat.send({ text: `after ${wait}` });
    const end = await began;
    await rig.until(name, (it) => it.turns === turns + 1 && it.state === "idle");
    return [end, new Set(pids)];
  };
  await rig.make("a");
  await rig.send("a", "first");
  await rig.until("a", (it) => it.turns === 1);
  const ends = new Set<string>();
  for (let wait = 0; wait < 12; wait++) {
    const former = rig.machine.sessions.get("a").engine.standing().pid!;
    const [end, seen] = await meet("a", wait);
    ends.add(end);
    expect([wait, end, seen.size, seen.has(0)]).toEqual([wait, end, 1, false]);
    expect(seen.has(former)).toBe(end === "refused");
    // Nor is it ended where there was no process before.
    await rig.make(`b${wait}`);
    const [, first] = await meet(`b${wait}`, wait);
    expect([wait, first.size, first.has(0)]).toEqual([wait, 1, false]);
  }
  expect([...ends].sort()).toEqual(["begun", "refused"]);
});
