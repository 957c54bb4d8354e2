import type { Move } from "@lichen/runtime/testing";
import { expect, test } from "vitest";
import { Rig } from "./rig.ts";
import { assistantLine, line, scriptedHarness } from "./scripted.ts";

const permission = (prompt: string): Move => ({
  ask: { kind: "tool", prompt, key: prompt, tool: "Bash", input: { command: "ls" } },
});
const question = (prompt: string): Move => ({
  ask: {
    kind: "question",
    prompt,
    key: prompt,
    tool: "AskUserQuestion",
    questions: [{ question: "Which?", options: [{ label: "A" }, { label: "B" }] }],
  },
});

/** Plays what the message names, then says what came of it. */
const asking = scriptedHarness({
  script: (work): Move[] => [
    ...(work.text === "ask" ? [question("q-1")] : []),
    ...(work.text === "run" ? [permission("p-1")] : []),
    ...(work.text === "both" ? [permission("p-2"), question("q-2"), permission("p-3")] : []),
    {
      say: (seen) =>
        seen.answers
          .map(({ outcome, answers, message }) => JSON.stringify({ outcome, answers, message }))
          .join(" "),
    },
    { append: [assistantLine("over")] },
  ],
});

const answer = (rig: Rig, id: string, json: object) =>
  rig.tell(`/v1/sessions/a/prompts/${id}`, { json });

test("[MA26] a prompt is answered once, by our id of it or by the harness's own", async () => {
  await using rig = await Rig.open({ harnesses: [asking] });
  await rig.make("a");
  for (const kind of ["theirs", "ours"]) {
    const { turns } = await rig.info("a");
    await rig.send("a", "run");
    expect(await rig.until("a", (it) => it.state === "waiting")).toMatchObject({ pending: 1 });
    const [waiting] = rig.machine.sessions.get("a").board.waiting;
    const id = kind === "ours" ? waiting!.approvalId : "p-1";
    const both = await Promise.all([
      answer(rig, id, { allow: true }),
      answer(rig, id, { allow: false, message: "no" }),
    ]);
    expect(both.map(({ status }) => status).sort((a, b) => a - b)).toEqual([204, 409]);
    await rig.until("a", (it) => it.turns > turns && it.state === "idle" && it.pending === 0);
    expect((await answer(rig, id, { allow: true })).status).toBe(409);
  }
  expect((await answer(rig, "never-asked", { allow: true })).status).toBe(409);
  expect((await answer(rig, "p-1", { allow: "yes" })).status).toBe(400);
  expect((await answer(rig, "p-1", { allow: true, until: "x" })).status).toBe(400);
  expect((await rig.tell("/v1/sessions/b/prompts/p-1", { json: { allow: true } })).status).toBe(
    404,
  );
});

test("[MA26] a question is not allowed without its answers, and may be declined without", async () => {
  await using rig = await Rig.open({ harnesses: [asking] });
  await rig.make("a");
  await rig.send("a", "ask");
  await rig.until("a", (it) => it.state === "waiting");
  for (const without of [{ allow: true }, { allow: true, answers: {} }]) {
    const { status, body } = await answer(rig, "q-1", without);
    expect([status, body]).toMatchObject([409, { error: expect.stringContaining("answers") }]);
  }
  expect((await answer(rig, "q-1", { allow: true, answers: { "Which?": "A, B" } })).status).toBe(
    204,
  );
  await rig.until("a", (it) => it.turns === 1);
  await rig.send("a", "ask");
  await rig.until("a", (it) => it.state === "waiting");
  expect((await answer(rig, "q-1", { allow: false, message: "later" })).status).toBe(204);
  await using reader = await rig.events("a");
  const events = await reader.upTo(({ seq }) => seq === 5);
  expect(events.filter(({ kind }) => kind === "answer").map(({ data }) => data)).toEqual([
    { prompt: "q-1", allow: true, message: "", answers: { "Which?": "A, B" } },
    { prompt: "q-1", allow: false, message: "later" },
  ]);
});

test("[MA26] what is no answer to the question is refused with the question, alike at every door", async () => {
  await using rig = await Rig.open({ harnesses: [asking] });
  const { id } = await rig.make("a");
  await rig.send("a", "ask");
  await rig.until("a", (it) => it.state === "waiting");
  const [waiting] = rig.machine.sessions.get("a").board.waiting;
  const { approvalId } = waiting!;
  for (const [at, wrong] of [
    { allow: true },
    { allow: true, answers: { "Nonsense?": "A" } },
    { allow: true, answers: { "Which?": 3 } },
    { allow: true, answers: { "Which?": "" } },
  ].entries()) {
    const error = expect.stringMatching(/^answers: .*"Which\?"/) as unknown;
    expect(await answer(rig, "q-1", wrong)).toMatchObject({ status: 409, body: { error } });
    const command = { type: "answer", requestId: `a${at}`, approvalId, ...wrong };
    expect(await rig.tell(`/agents/${id}/sessions/main/commands`, { json: command })).toMatchObject(
      { status: 400, body: { error: { code: "invalid", message: error } } },
    );
  }
  expect((await answer(rig, "q-1", { allow: true, answers: { "Which?": "A" } })).status).toBe(204);
});

test("[MA26] a prompt of a turn that was interrupted, restarted or is gone can be answered no more", async () => {
  await using rig = await Rig.open({ harnesses: [asking] });
  await rig.make("a");
  await rig.send("a", "run");
  await rig.until("a", (it) => it.state === "waiting");
  expect((await rig.tell("/v1/sessions/a/interrupt", { method: "POST" })).status).toBe(202);
  await rig.until("a", (it) => it.state === "idle" && it.pending === 0);
  expect((await answer(rig, "p-1", { allow: true })).status).toBe(409);
});

test("[MA26] whoever answers as fast as the harness's own line is told is not refused", async () => {
  const told = Promise.withResolvers<void>();
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        script: [
          { append: [line({ type: "control_request", request_id: "p-1" })] },
          { gate: told.promise },
          permission("p-1"),
          { say: "ok" },
        ],
      }),
    ],
  });
  await rig.make("a");
  await using reader = await rig.events("a");
  await rig.send("a", "run");
  await reader.upTo(({ kind }) => kind === "claude");
  const answering = answer(rig, "p-1", { allow: true });
  told.resolve();
  expect((await answering).status).toBe(204);
});

test("[MA20] auto-approve answers the tools that wait, as itself, and never a question", async () => {
  await using rig = await Rig.open({ harnesses: [asking] });
  await rig.make("a");
  await rig.send("a", "both");
  await rig.until("a", (it) => it.state === "waiting");
  const on = await rig.tell("/v1/sessions/a", { method: "PATCH", json: { auto_approve: true } });
  expect([on.status, on.body]).toMatchObject([200, { auto_approve: true }]);
  await using reader = await rig.events("a");
  const events = await reader.upTo(({ kind }) => kind === "answer");
  expect(events.at(-1)).toMatchObject({
    by: "auto-approve",
    data: { prompt: "p-2", allow: true },
  });
  // The question that comes next waits for a person.
  const { pending } = await rig.until("a", (it) => it.state === "waiting");
  expect(pending).toBe(1);
  expect((await answer(rig, "q-2", { allow: true, answers: { "Which?": "A" } })).status).toBe(204);
});

test("[MA20] a setting that the process did not take stays what it was, and its failure is told", async () => {
  let isDeaf = false;
  const told: [string, boolean][] = [];
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        deaf: () => isDeaf,
        told: (what, { settings }) => told.push([what, settings().autoApprove]),
      }),
    ],
  });
  await rig.make("a", { auto_approve: true });
  expect(told).toEqual([["settingsChanged", true]]);
  isDeaf = true;
  const off = await rig.tell("/v1/sessions/a/settings", { json: { auto_approve: false } });
  expect(off.status).toBe(500);
  expect(await rig.info("a")).toMatchObject({ auto_approve: true });
  isDeaf = false;
  expect(
    (await rig.tell("/v1/sessions/a/settings", { json: { auto_approve: false } })).body,
  ).toMatchObject({ auto_approve: false });
  expect(told.at(-1)).toEqual(["settingsChanged", false]);
  await using reader = await rig.events("a");
  expect((await reader.take(4)).map(({ data }) => data["auto_approve"])).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

test("[MA31] a star is set without an event, and a setting that is what it was changes nothing", async () => {
  await using rig = await Rig.open();
  await rig.make("a");
  const starred = await rig.tell("/v1/sessions/a", { method: "PATCH", json: { starred: true } });
  expect(starred.body).toMatchObject({ starred: true, last_seq: 0 });
  await rig.tell("/v1/sessions/a", { method: "PATCH", json: { keep_running: true } });
  const same = await rig.tell("/v1/sessions/a", { method: "PATCH", json: { keep_running: true } });
  expect(same.body).toMatchObject({ keep_running: true, last_seq: 1 });
  for (const json of [
    { starred: "yes" },
    { colour: 1 },
    { meshes: ["home"] },
    { accept_caged: true },
  ])
    expect((await rig.tell("/v1/sessions/a/settings", { json })).status).toBe(400);
  const later = { meshes: [], accept_files_from: [], accept_caged: false, fresh_by_agents: false };
  expect((await rig.tell("/v1/sessions/a/settings", { json: later })).status).toBe(200);
});

test("[MA25] an empty message is refused, one sent again is a duplicate, other words under its id are a conflict", async () => {
  await using rig = await Rig.open();
  await rig.make("a");
  for (const text of ["", " \n\t"]) expect((await rig.send("a", text)).status).toBe(409);
  const many = await Promise.all(Array.from({ length: 8 }, () => rig.send("a", "once", "m1")));
  expect(many.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
    200, 200, 200, 200, 200, 200, 200, 202,
  ]);
  expect((await rig.send("a", "other", "m1")).status).toBe(409);
  expect((await rig.send("a", "x", "a b")).status).toBe(400);
  await rig.send("a", "without an id");
  await rig.send("a", "without an id");
  await rig.until("a", (it) => it.turns === 3);
  await using reader = await rig.events("a");
  expect((await reader.take(3)).map(({ data }) => data)).toEqual([
    { text: "once", id: "m1" },
    { text: "without an id" },
    { text: "without an id" },
  ]);
});

test("[MA25] a message that comes while it works joins the turn where the harness folds, and waits where it does not", async () => {
  const gates = { claude: Promise.withResolvers<void>(), pi: Promise.withResolvers<void>() };
  const working = (name: "claude" | "pi") =>
    scriptedHarness({
      name,
      folds: name === "claude",
      script: () => [{ gate: gates[name].promise }, { steers: true }, { say: "ok" }],
    });
  await using rig = await Rig.open({ harnesses: [working("claude"), working("pi")] });
  for (const harness of ["claude", "pi"] as const) {
    await rig.make(harness, { harness });
    await rig.send(harness, "first", "m1");
    await rig.until(harness, (it) => it.state === "working");
    await rig.send(harness, "second", "m2");
    gates[harness].resolve();
  }
  expect(await rig.until("claude", (it) => it.state === "idle")).toMatchObject({ turns: 1 });
  expect(await rig.until("pi", (it) => it.turns === 2)).toMatchObject({ state: "idle" });
  // Sent again after all is over it is still the same message.
  expect((await rig.send("claude", "second", "m2")).status).toBe(200);
});

test("[MA27] an interrupt stops the turn in hand and leaves what waits", async () => {
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        folds: false,
        script: (work) => (work.text === "slow" ? [{ hang: true }] : [{ say: "ok" }]),
      }),
    ],
  });
  await rig.make("a");
  expect((await rig.tell("/v1/sessions/a/interrupt", { method: "POST" })).status).toBe(409);
  await rig.send("a", "slow");
  await rig.until("a", (it) => it.state === "working");
  await rig.send("a", "quick");
  expect(await rig.tell("/v1/sessions/a/interrupt", { method: "POST" })).toEqual({
    status: 202,
    body: undefined,
  });
  await rig.until("a", (it) => it.turns === 2 && it.state === "idle");
  await using reader = await rig.events("a");
  const messages = (await reader.take(3)).filter(({ kind }) => kind === "message");
  expect(messages.map(({ data }) => data["text"])).toEqual(["slow", "quick"]);
});
