import { describe, expect, test } from "vitest";
import { capabilityRoutesTable } from "../../src/door/capability-routes.ts";
import { sessionRoutesTable } from "../../src/door/session-routes.ts";
import { openAgentRig } from "./agent-rig.ts";
import type { Ask } from "./rig.ts";

/** Every cell: what each caller gets. `ok` is whatever the route answers to the owner. */
type Outcome = "ok" | 401 | 403 | 404;
interface Row {
  readonly deed: string;
  readonly path: string;
  readonly ask?: Ask;
  readonly owner: number;
  readonly viewer: Outcome;
  readonly own: Outcome;
  readonly others: Outcome;
}

const command = (body: object): Ask => ({ json: body });
const zeros = "0".repeat(64);
const rows: Row[] = [
  { deed: "list agents", path: "/agents", owner: 200, viewer: "ok", own: 403, others: 403 },
  {
    deed: "list sessions",
    path: "/agents/a/sessions",
    owner: 200,
    viewer: "ok",
    own: 403,
    others: 403,
  },
  {
    deed: "list models",
    path: "/agents/a/models",
    owner: 200,
    viewer: "ok",
    own: 403,
    others: 403,
  },
  {
    deed: "follow the host",
    path: "/events",
    ask: { method: "HEAD" },
    owner: 200,
    viewer: "ok",
    own: 403,
    others: 403,
  },
  ...(
    [
      ["read a session", "", 200, {}],
      ["follow a session", "/events", 200, { method: "HEAD" }],
      ["search a session", "/search?q=hello", 200, {}],
      ["read a settlement", "/settlement?commandId=cmd_x", 404, {}],
      ["read a blob", `/blobs/${zeros}`, 404, {}],
    ] as const
  ).map(([deed, path, owner, ask]): Row => ({
    deed,
    path: `/agents/a/sessions/mine${path}`,
    ask,
    owner,
    viewer: "ok",
    own: "ok",
    others: 404,
  })),
  ...(
    [
      [
        "send a prompt",
        "/sessions/mine/commands",
        { type: "prompt", requestId: "p", text: "x" },
        202,
      ],
      [
        "record a line",
        "/sessions/mine/commands",
        { type: "line", requestId: "l", text: "x" },
        202,
      ],
      [
        "cancel",
        "/sessions/mine/commands",
        { type: "cancel", requestId: "c", commandId: "cmd_x" },
        404,
      ],
      ["abort", "/sessions/mine/commands", { type: "abort", requestId: "a" }, 202],
      ["compact", "/sessions/mine/commands", { type: "compact", requestId: "k" }, 202],
      [
        "answer an approval",
        "/sessions/mine/commands",
        { type: "answer", requestId: "n", approvalId: "apr_x", allow: true },
        404,
      ],
      ["withdraw", "/sessions/mine/withdraw", { requestId: "w" }, 200],
      ["invoke", "/invoke", { session: "mine", text: "x", requestId: "i" }, 200],
      ["create a session", "/sessions", { requestId: "s", session: "new" }, 201],
      ["fork a session", "/sessions/mine/fork", { requestId: "f", session: "fork" }, 201],
    ] as const
  ).map(([deed, path, body, owner]): Row => ({
    deed,
    path: `/agents/a${path}`,
    ask: command(body),
    owner,
    viewer: 403,
    own: 403,
    others: 403,
  })),
  ...(
    [
      ["list capabilities", "/capabilities", 200, {}],
      ["see a capability", "/capabilities/none", 404, {}],
      [
        "attach a capability",
        "/capabilities",
        400,
        { json: { requestId: "r", kind: "nothing-of-the-sort" } },
      ],
      ["change a capability", "/capabilities/none", 404, { method: "PATCH", json: {} }],
      ["detach a capability", "/capabilities/none", 204, { method: "DELETE" }],
      ["refresh a capability", "/capabilities/none/refresh", 404, { method: "POST" }],
      ["call an operation", "/capabilities/none/call", 404, { json: { operation: "o" } }],
      [
        "deliver grants",
        "/sessions/mine/grants",
        204,
        { method: "PUT", json: { version: 1, grants: {} } },
      ],
    ] as const
  ).map(([deed, path, owner, ask]): Row => ({
    deed,
    path: `/agents/a${path}`,
    ask,
    owner,
    viewer: 403,
    own: 403,
    others: 403,
  })),
  {
    deed: "rename a session",
    path: "/agents/a/sessions/mine",
    ask: { method: "PATCH", json: { title: "t" } },
    owner: 200,
    viewer: 403,
    own: 403,
    others: 403,
  },
  {
    deed: "delete a session",
    path: "/agents/a/sessions/mine",
    ask: { method: "DELETE" },
    owner: 204,
    viewer: 403,
    own: 403,
    others: 403,
  },
];

describe("who may do what", () => {
  test("[H4] every route below an agent, with each of its methods, has a row in this table", () => {
    const pattern = (path: string) => new RegExp(`^/agents/a${path.replace(/:\w+/g, "[^/]+")}$`);
    const isTold = (method: string, path: string) =>
      rows.some(({ path: full, ask = {} }) => {
        const asked = ask.method ?? (ask.json === undefined ? "GET" : "POST");
        return (
          (asked === "HEAD" ? "GET" : asked) === method && pattern(path).test(full.split("?")[0]!)
        );
      });
    const untold = [...sessionRoutesTable, ...capabilityRoutesTable].flatMap(({ path, methods }) =>
      Object.keys(methods)
        .filter((method) => !isTold(method, path))
        .map((method) => `${method} ${path}`),
    );
    expect(untold).toEqual([]);
  });

  test("[H4] another machine, as a mesh proves it, does nothing on any of these routes", async () => {
    const peer = { kind: "peer", id: "k", name: "laptop.home", network: "home" } as const;
    await using rig = await openAgentRig({
      visitors: { keys: () => [], enter: () => true, ofLine: () => Promise.resolve(peer) },
    });
    await rig.agent.create({ requestId: "r1", session: "mine" });
    for (const { path, ask, deed } of rows)
      expect((await rig.ask(path, { ...ask, token: null })).status, deed).toBe(403);
  });

  for (const row of rows)
    test(`[H4] to ${row.deed} is allowed and refused as the table of rights says`, async () => {
      await using rig = await openAgentRig();
      await rig.agent.create({ requestId: "r1", session: "mine" });
      await rig.agent.create({ requestId: "r2", session: "theirs" });
      await rig.agent.session("mine").send({ type: "line", requestId: "r3", text: "hello" });
      const token = {
        viewer: rig.tokens.issue({ kind: "viewer" }).token,
        own: rig.tokens.issue({ kind: "session", agent: "a", session: "mine" }).token,
        others: rig.tokens.issue({ kind: "session", agent: "a", session: "theirs" }).token,
        stranger: rig.tokens.issue({ kind: "session", agent: "b", session: "mine" }).token,
        none: null,
      };
      const status = async (from: keyof typeof token) =>
        (await rig.ask(row.path, { ...row.ask, token: token[from] })).status;
      const wanted = (outcome: Outcome) => (outcome === "ok" ? row.owner : outcome);
      // The refused ask first: nothing of what they asked for may have happened when the owner asks.
      expect(await status("none"), "nobody").toBe(401);
      expect(await status("others"), "another session's process").toBe(wanted(row.others));
      expect(await status("stranger"), "another agent's process").toBe(wanted(row.others));
      expect(await status("own"), "the session's own process").toBe(wanted(row.own));
      expect(await status("viewer"), "a viewer").toBe(wanted(row.viewer));
      expect((await rig.ask(row.path, row.ask)).status, "the owner").toBe(row.owner);
    });

  test("[H4] a session's process learns nothing of which other sessions and agents exist", async () => {
    await using rig = await openAgentRig();
    await rig.agent.create({ requestId: "r1", session: "mine" });
    await rig.agent.create({ requestId: "r2", session: "theirs" });
    const { token } = rig.tokens.issue({ kind: "session", agent: "a", session: "mine" });
    const texts = await Promise.all(
      ["theirs", "absent"].map(async (session) =>
        (await rig.ask(`/agents/a/sessions/${session}`, { token })).text.replace(session, "X"),
      ),
    );
    expect(texts[0]).toBe(texts[1]);
    const agents = rig.tokens.issue({ kind: "session", agent: "b", session: "mine" }).token;
    const known = await rig.ask("/agents/a/sessions/mine", { token: agents });
    const unknown = await rig.ask("/agents/c/sessions/mine", { token: agents });
    expect(known.text.replace('\\"a\\"', "X")).toBe(unknown.text.replace('\\"c\\"', "X"));
  });
});
