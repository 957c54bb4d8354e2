import { expect, test } from "vitest";
import { type Ask, Rig } from "./rig.ts";
import { scriptedHarness } from "./scripted.ts";

const deeds: [string, Ask][] = [
  ["/v1/sessions", { json: { name: "b", dir: "~/b" } }],
  ["/v1/sessions/a", { method: "PATCH", json: { auto_approve: true } }],
  ["/v1/sessions/a/settings", { json: { auto_approve: true } }],
  ["/v1/sessions/a/rename", { json: { name: "c" } }],
  ["/v1/sessions/a/restart", { method: "POST" }],
  ["/v1/sessions/a/new", { method: "POST" }],
  ["/v1/sessions/a/messages", { json: { text: "hello" } }],
  ["/v1/sessions/a/prompts/p-1", { json: { allow: true } }],
  ["/v1/sessions/a/interrupt", { method: "POST" }],
  ["/v1/sessions/a", { method: "DELETE" }],
];

test("[MA18] a viewer reads everything and changes nothing", async () => {
  await using rig = await Rig.open();
  await rig.make("a");
  const { token } = rig.host.tokens.issue({ kind: "viewer" });
  for (const [path, ask] of deeds)
    expect([path, (await rig.tell(path, { ...ask, token })).status]).toEqual([path, 403]);
  for (const path of ["/v1/sessions", "/v1/harnesses"])
    expect((await rig.tell(path, { token })).status).toBe(200);
  const events = await rig.ask("/v1/sessions/a/events", { token });
  expect(events.status).toBe(200);
  await events.body?.cancel();
  expect(await rig.info("a")).toMatchObject({ last_seq: 0, auto_approve: false });
});

test("[MA18] a session's process sees its own session, does nothing to it, and knows of no other", async () => {
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({
        script: [{ ask: { kind: "tool", prompt: "p-1", tool: "Bash", input: {} } }, { say: "ok" }],
      }),
    ],
  });
  const { id } = await rig.make("a");
  await rig.make("b");
  await rig.send("a", "go");
  await rig.until("a", (it) => it.state === "waiting");
  const { token } = rig.host.tokens.issue({ kind: "session", agent: id, session: "main" });
  const own = await rig.tell("/v1/sessions", { token });
  expect((own.body as { sessions: { name: string }[] }).sessions.map(({ name }) => name)).toEqual([
    "a",
  ]);
  for (const [path, ask] of deeds)
    expect([path, (await rig.tell(path, { ...ask, token })).status]).toEqual([path, 403]);
  const [waiting] = rig.machine.sessions.get("a").board.waiting;
  const byOurId = `/v1/sessions/a/prompts/${waiting!.approvalId}`;
  expect((await rig.tell(byOurId, { json: { allow: true }, token })).status).toBe(403);
  const events = await rig.ask("/v1/sessions/a/events", { token });
  expect(events.status).toBe(200);
  await events.body?.cancel();
  for (const path of [
    "/v1/sessions/b/events",
    "/v1/sessions/none/events",
    "/v1/sessions/b/messages",
  ]) {
    const ask = path.endsWith("messages") ? { json: { text: "x" } } : {};
    expect([path, (await rig.tell(path, { ...ask, token })).status]).toEqual([path, 404]);
  }
  expect(await rig.info("a")).toMatchObject({ state: "waiting", pending: 1 });
});

test("[MA18] nobody comes in without a credential, from a foreign page, or with a body that is no JSON", async () => {
  await using rig = await Rig.open();
  await rig.make("a");
  for (const [path, ask] of deeds)
    expect((await rig.tell(path, { ...ask, token: null })).status).toBe(401);
  expect((await rig.tell("/v1/sessions", { token: "wrong" })).status).toBe(401);
  const foreign = { json: { text: "x" }, headers: { origin: "http://evil.example" } };
  expect((await rig.tell("/v1/sessions/a/messages", foreign)).status).toBe(403);
  const plain = { body: '{"text":"x"}', headers: { "content-type": "text/plain" } };
  expect((await rig.tell("/v1/sessions/a/messages", plain)).status).toBe(415);
  expect((await rig.tell("/v1/sessions/a/messages", { body: "{" })).status).toBe(400);
  const huge = { json: { text: "x".repeat(1_100_000) } };
  expect((await rig.tell("/v1/sessions/a/messages", huge)).status).toBe(413);
  expect(await rig.info("a")).toMatchObject({ last_seq: 0 });
});

test("[MA19] a refusal is a sentence under `error`, with our code of it beside", async () => {
  await using rig = await Rig.open();
  await rig.make("a");
  const refusals: [string, Ask, number, object][] = [
    ["/v1/sessions/none", { method: "DELETE" }, 404, { code: "unknown_session", retryable: false }],
    ["/v1/nothing", {}, 404, { code: "unknown_route" }],
    ["/v1", {}, 404, { code: "unknown_route" }],
    ["/v1/sessions", { method: "PUT" }, 405, { code: "unknown_route" }],
    ["/v1/sessions/a/messages", { json: { text: "x", urgent: true } }, 400, { code: "invalid" }],
    ["/v1/sessions?limit=1", {}, 400, { code: "invalid" }],
    ["/v1/sessions/a/interrupt", { method: "POST" }, 409, { code: "conflict" }],
    ["/v1/sessions", { token: null }, 401, { code: "unauthenticated" }],
  ];
  for (const [path, ask, status, words] of refusals) {
    const refused = await rig.tell(path, ask);
    expect([path, refused]).toMatchObject([
      path,
      { status, body: { ...words, error: expect.stringMatching(/\w+ \w+/) } },
    ]);
  }
  expect(
    (await rig.ask("/v1/sessions", { token: null })).headers.get("www-authenticate"),
  ).toContain("Bearer");
  const allowed = (await rig.ask("/v1/sessions", { method: "PUT" })).headers.get("allow");
  expect(allowed).toBe("HEAD, GET, POST");
});

test("[MA18] what a device does carries its name, what this machine does none", async () => {
  await using rig = await Rig.open();
  await rig.make("a");
  const seat = rig.machine.sessions.get("a");
  await seat.send({ text: "from the phone", id: "m1" }, "phone");
  await seat.configure({ auto_approve: true }, "phone");
  await rig.send("a", "from here");
  await using reader = await rig.events("a");
  const events = await reader.take(3);
  expect(events.map(({ kind, by }) => `${kind} by ${by ?? "this machine"}`).sort()).toEqual([
    "message by phone",
    "message by this machine",
    "setting by phone",
  ]);
});

test("[MA37] what comes out of a cage changes nothing, also with an owner's credential, and may look", async () => {
  await using rig = await Rig.open();
  await rig.make("a");
  const headers = { "x-shrooms-caged": "laptop/review" };
  for (const [path, ask] of deeds)
    expect([path, (await rig.tell(path, { ...ask, headers })).status]).toEqual([path, 403]);
  const { id } = await rig.info("a");
  const own = `/agents/${id}/sessions`;
  const command = { type: "prompt", requestId: "r", text: "go" };
  for (const [path, ask] of [
    [`${own}/main/commands`, { json: command }],
    [`${own}/main`, { method: "PATCH", json: { title: "other" } }],
    [`${own}/main`, { method: "DELETE" }],
    [own, { json: { requestId: "r", session: "more" } }],
    [`/agents/${id}/invoke`, { json: { session: "more", text: "go" } }],
  ] as const)
    expect([path, (await rig.tell(path, { ...ask, headers })).status]).toEqual([path, 403]);
  for (const path of ["/v1/sessions", own, `${own}/main`])
    expect((await rig.tell(path, { headers })).status).toBe(200);
  expect(await rig.info("a")).toMatchObject({ last_seq: 0, auto_approve: false });
});
