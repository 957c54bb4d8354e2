import type { CapabilityFactory } from "@lichen/capability";
import { CapabilityDetail, CapabilityInfo, CapabilityList } from "@lichen/wire";
import { expect, test } from "vitest";
import { openAgentRig } from "./agent-rig.ts";
import { sessionRoutes } from "../../src/door/session-routes.ts";
import { Streams } from "../../src/door/streams.ts";
import { type Ask, refused } from "./rig.ts";

/** An echo that one may have to be allowed to hear, and as many operations beside it as a test wants. */
function echoes(more = 0): CapabilityFactory {
  const input = { type: "object" };
  const others = Array.from({ length: more }, (_, at) => ({
    name: `op${String(at).padStart(4, "0")}`,
    description: "",
    input,
    label: "write" as const,
  }));
  return {
    kind: "echo",
    create: ({ id }) => ({
      id,
      kind: "echo",
      namespace: "echo",
      operations: async () => [
        { name: "say", description: "Says it.", input, label: "read" },
        { name: "shout", description: "Shouts it.", input, label: "write", confirm: true },
        ...others,
      ],
      call: async (operation, given) => ({ operation, given }),
    }),
  };
}

const resolver = { resolve: async () => ({ ok: true, auth: { kind: "none" } }) as const };

function openEchoes(more?: number) {
  return openAgentRig({ capabilities: { factories: [echoes(more)], resolver } });
}

const all = "/agents/a/capabilities";
const attach: Ask = { json: { requestId: "r", kind: "echo" } };

test("[H90] a capability is attached once (201, then 200), listed, shown, changed, refreshed and detached (204, also when gone)", async () => {
  await using rig = await openEchoes();
  const made = await rig.ask(all, attach);
  expect(made.status).toBe(201);
  const info = CapabilityInfo.parse(made.json());
  const again = await rig.ask(all, attach);
  expect([again.status, again.json()]).toEqual([200, made.json()]);
  const other = { json: { requestId: "r", kind: "echo", namespace: "other" } };
  expect(refused(await rig.ask(all, other))).toMatchObject({ status: 409, code: "conflict" });
  const listed = await rig.ask(all);
  expect(CapabilityList.parse(listed.json()).capabilities).toEqual([info]);
  const one = `${all}/${info.id}`;
  expect(CapabilityDetail.parse((await rig.ask(one)).json()).info).toEqual(info);
  const changed = await rig.ask(one, { method: "PATCH", json: { namespace: "hall" } });
  expect([changed.status, changed.json()]).toMatchObject([200, { namespace: "hall" }]);
  expect((await rig.ask(`${one}/refresh`, { method: "POST" })).json()).toEqual(changed.json());
  for (const _ of ["first", "again"])
    expect((await rig.ask(one, { method: "DELETE" })).status).toBe(204);
  expect(refused(await rig.ask(one))).toMatchObject({ status: 404, code: "unknown_capability" });
});

test("[H90] operations come in pages of 200 at most, however many there are", async () => {
  await using rig = await openEchoes(1_000);
  const { id } = (await rig.ask(all, attach)).json() as CapabilityInfo;
  const found: string[] = [];
  let query = "?limit=200";
  for (let pages = 0; ; pages++) {
    const { operations, next } = CapabilityDetail.parse(
      (await rig.ask(`${all}/${id}${query}`)).json(),
    );
    expect(operations.length).toBeLessThanOrEqual(200);
    found.push(...operations.map((operation) => operation.property));
    if (next === undefined) {
      expect(pages).toBe(5);
      break;
    }
    query = `?limit=200&after=${encodeURIComponent(next)}`;
  }
  expect(new Set(found).size).toBe(1_002);
  for (const bad of ["limit=201", "limit=0", "after=", "before=x", "limit=1&limit=2"])
    expect(refused(await rig.ask(`${all}/${id}?${bad}`)), bad).toMatchObject({ code: "invalid" });
});

test("[H91] an operation is called with its input; one that a person must allow only with the owner's word in the body", async () => {
  await using rig = await openEchoes();
  const { id } = (await rig.ask(all, attach)).json() as CapabilityInfo;
  const call = (json: object) => rig.ask(`${all}/${id}/call`, { json });
  const input = { text: "ä ☃" };
  const said = await call({ operation: "say", input });
  expect([said.status, said.json()]).toEqual([
    200,
    { ok: true, value: { operation: "say", given: input } },
  ]);
  for (const confirm of [{}, { confirm: false }])
    expect(refused(await call({ operation: "shout", input, ...confirm }))).toMatchObject({
      status: 403,
      code: "denied",
    });
  const shouted = await call({ operation: "shout", input, confirm: true });
  expect(shouted.json()).toMatchObject({ ok: true, value: { operation: "shout" } });
  expect(refused(await call({ operation: "whisper" }))).toMatchObject({ status: 400 });
});

test("[H95] one that a file of the agent's folder declares is 400 for PATCH and DELETE, with the file, and stays as it is", async () => {
  await using rig = await openEchoes();
  const file = "connections/cave.ts";
  const labels = { shout: "confirm" } as const;
  await rig.agent.capabilities.registry.attach({ id: "cave", kind: "echo", labels, file });
  const one = `${all}/cave`;
  const changed = await rig.ask(one, { method: "PATCH", json: { labels: { shout: "read" } } });
  expect(refused(changed)).toMatchObject({
    ...{ status: 400, code: "invalid" },
    message: `cave belongs to the agent's folder: change it in ${file}.`,
  });
  expect(refused(await rig.ask(one, { method: "DELETE" }))).toMatchObject({
    ...{ status: 400, code: "invalid" },
    message: `cave belongs to the agent's folder: take it out of ${file}.`,
  });
  const { info } = (await rig.ask(one)).json() as CapabilityDetail;
  expect(info).toMatchObject({ state: "active", labels, file });
});

test("[H92] grants of a session replace the ones before; an older version is 409 and stale", async () => {
  await using rig = await openEchoes();
  await rig.agent.create({ requestId: "c", session: "s" });
  const put = (json: object, session = "s") =>
    rig.ask(`/agents/a/sessions/${session}/grants`, { method: "PUT", json });
  expect((await put({ version: 2, grants: { echo: "read" } })).status).toBe(204);
  expect((await put({ version: 2, grants: { echo: "none" } })).status).toBe(204);
  expect(refused(await put({ version: 1, grants: {} }))).toMatchObject({
    status: 409,
    code: "stale",
  });
  expect(refused(await put({ version: 3, grants: {} }, "none"))).toMatchObject({
    status: 404,
    code: "unknown_session",
  });
  const { entries } = await rig.agent.session("s").read();
  expect(entries.map(({ data }) => data)).toEqual([
    { version: 2, grants: { echo: "read" } },
    { version: 2, grants: { echo: "none" } },
  ]);
});

test("[H93] what is unknown, too deep, too large or no id is refused and named, and nothing happens", async () => {
  await using rig = await openEchoes();
  await rig.agent.create({ requestId: "c", session: "s" });
  const deep = JSON.parse(`${'{"a":'.repeat(101)}1${"}".repeat(101)}`) as object;
  const grants = { path: "/agents/a/sessions/s/grants", method: "PUT" };
  const cases: [{ path: string; method?: string }, object, number, string][] = [
    [{ path: all }, { requestId: "r", kind: "echo", more: 1 }, 400, "more"],
    [{ path: all }, { kind: "echo" }, 400, "requestId"],
    [{ path: all }, { requestId: "r", kind: "Echo!" }, 400, "kind"],
    [{ path: all }, { requestId: "r", kind: "ftp" }, 400, "ftp"],
    [{ path: all }, { requestId: "r", kind: "echo", namespace: "a b" }, 400, "namespace"],
    [{ path: all }, { requestId: "r", kind: "echo", labels: { say: "maybe" } }, 400, "labels"],
    [{ path: all }, { requestId: "r", kind: "echo", config: deep }, 400, "deeper"],
    [{ path: all }, { requestId: "r", kind: "echo", config: { a: "x".repeat(2 ** 20) } }, 413, ""],
    [{ path: `${all}/c/call` }, { operation: "say", input: [] }, 400, "input"],
    [{ path: `${all}/c/call` }, { operation: "" }, 400, "operation"],
    [{ path: `${all}/c/call` }, { operation: "say", confirm: "yes" }, 400, "confirm"],
    [{ path: `${all}/${"x".repeat(129)}/call` }, { operation: "say" }, 400, "capability"],
    [{ path: `${all}/..%2f..`, method: "PATCH" }, {}, 400, "capability"],
    [grants, { version: -1, grants: {} }, 400, "version"],
    [grants, { version: 1, grants: { a: "all" } }, 400, "grants"],
    [grants, { version: 1, grants: {}, session: "t" }, 400, "session"],
  ];
  for (const [{ path, method }, json, status, named] of cases) {
    const ask = method === undefined ? { json } : { json, method };
    const answer = refused(await rig.ask(path, ask));
    expect(answer, `${path} ${named}`).toMatchObject({ status });
    expect(answer.message).toContain(named);
  }
  const wrong = await rig.ask(all, { method: "PUT", json: {} });
  expect([wrong.status, wrong.headers.allow]).toEqual([405, "HEAD, GET, POST"]);
  expect(((await rig.ask(all)).json() as CapabilityList).capabilities).toEqual([]);
  expect((await rig.agent.session("s").read()).entries).toEqual([]);
});

test("[H94] the routes that a program embeds say nothing of capabilities and take no grants", async () => {
  await using rig = await openEchoes();
  await rig.agent.create({ requestId: "c", session: "s" });
  const streams = new Streams(rig.clock.after);
  const routes = sessionRoutes(rig.agent, { streams, log: (bug) => rig.bugs.push(bug) });
  expect((await routes.request("/sessions")).status).toBe(200);
  for (const [method, path] of [
    ["GET", "/capabilities"],
    ["POST", "/capabilities"],
    ["PUT", "/sessions/s/grants"],
  ] as const)
    expect((await routes.request(path, { method })).status, path).toBe(404);
});
