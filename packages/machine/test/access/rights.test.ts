import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AccessRig, type Ask } from "./rig.ts";

/**
 * What each may do, by class of route. `own` and `others` are processes of the session in question and of another one;
 * who is nobody gets 401 everywhere. Another session is to a process as if it were not there.
 */
const classes = {
  read: { owner: "yes", viewer: "yes", own: "yes", others: "no", peer: "no" },
  readAll: { owner: "yes", viewer: "yes", own: "no", others: "no", peer: "no" },
  /** A list in which a session's process finds its own session alone. */
  list: { owner: "yes", viewer: "yes", own: "yes", others: "yes", peer: "no" },
  send: { owner: "yes", viewer: "no", own: "no", others: "no", peer: "no" },
  answer: { owner: "yes", viewer: "no", own: "no", others: "no", peer: "no" },
  change: { owner: "yes", viewer: "no", own: "no", others: "no", peer: "no" },
  devices: { owner: "yes", viewer: "no", own: "no", others: "no", peer: "no" },
  near: { owner: "yes", viewer: "yes", own: "no", others: "no", peer: "yes" },
} as const;
type Class = keyof typeof classes;

/** Every route of the machine API. A route that is new needs its line here before it is anybody's. */
const routes: Record<string, Class> = {
  "GET /v1/sessions": "list",
  "POST /v1/sessions": "change",
  "DELETE /v1/sessions/:name": "change",
  "PATCH /v1/sessions/:name": "change",
  "POST /v1/sessions/:name/settings": "change",
  "POST /v1/sessions/:name/rename": "change",
  "POST /v1/sessions/:name/restart": "change",
  "POST /v1/sessions/:name/new": "change",
  "POST /v1/sessions/:name/messages": "send",
  "POST /v1/sessions/:name/prompts/:id": "answer",
  "POST /v1/sessions/:name/interrupt": "send",
  "GET /v1/sessions/:name/events": "read",
  "GET /v1/sessions/:name/history": "read",
  "GET /v1/sessions/:name/search": "read",
  "POST /v1/sessions/:name/files": "send",
  "GET /v1/harnesses": "readAll",
  "GET /v1/conversations": "readAll",
  "POST /v1/terminals/:pid/stop": "change",
  "GET /v1/usage": "readAll",
  "POST /v1/sessions/:name/cage": "change",
  "POST /v1/sessions/:name/voice": "send",
  "POST /v1/sessions/:name/voice/:id/retry": "send",
  "POST /v1/sessions/:name/transcribe": "send",
  "GET /v1/sessions/:name/drop": "read",
  "POST /v1/sessions/:name/drop": "change",
  "DELETE /v1/sessions/:name/drop": "change",
  "POST /v1/sessions/:name/outbox/send": "change",
  "GET /v1/tasks": "readAll",
  "GET /v1/devices": "devices",
  "POST /v1/devices": "devices",
  "PATCH /v1/devices/:device": "devices",
  "DELETE /v1/devices/:device": "devices",
  "POST /v1/pair": "devices",
  "GET /v1/pair/:pair": "devices",
  "DELETE /v1/pair/:pair": "devices",
  "GET /v1/peers": "near",
  "GET /v1/meshes": "near",
};
/** The one that asks for no credential. */
const open = "POST /v1/pair/claim";

const src = new URL("../../src", import.meta.url).pathname;
const paths = readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .flatMap((file) => [
    ...readFileSync(join(src, file), "utf8").matchAll(
      /(?:machine|session)Route\(\s*app,\s*"([^"]+)"/g,
    ),
  ])
  .map((match) => match[1]!);

const meshes = {
  self: { id: "k0", name: "here" },
  networks: [{ label: "home", addrs: ["127.0.0.2"] }],
  nodes: [{ id: "k1", name: "laptop", network: "home", addrs: ["127.0.0.3"] }],
};

describe("who may do what on a machine", () => {
  test("[DV31] every route of the machine API has a class, and does for each caller what the table of rights says", async () => {
    await using rig = await AccessRig.open({ meshes });
    const other = await rig.make("other");
    const socketOfOther = rig.access.sockets.open(other.id).path;
    const device = await rig.pair("phone");
    const viewer = await rig.pair("wall screen", "viewer");
    const wrong: string[] = [];
    const seen = new Set<string>();
    for (const path of paths) {
      const allow = await rig.ask(path, { method: "PURGE" });
      expect(allow.status, path).toBe(405);
      const methods = String(allow.headers.allow)
        .split(", ")
        .filter((method) => method !== "HEAD");
      for (const method of methods) {
        const route = `${method} ${path}`;
        seen.add(route);
        if (route === open) continue;
        const kind = routes[route];
        if (!kind) {
          wrong.push(`${route} has no class`);
          continue;
        }
        const { id } = await made(rig, "work");
        const own = rig.access.sockets.open(id);
        const ask: Ask = method === "GET" ? { method: "HEAD" } : { method, json: {} };
        const status = async (from: Ask) =>
          (
            await rig.ask(path.replace(":name", "work").replace(/:\w+/, "dev_x"), {
              ...ask,
              ...from,
            })
          ).status;
        const got = {
          nobody: await status({ token: null }),
          stranger: await status({ token: null, from: "127.0.0.9", to: "127.0.0.2" }),
          // This machine's own address in a mesh is no credential.
          self: await status({ token: null, from: "127.0.0.2", to: "127.0.0.2" }),
          liar: await status({ token: "lichen_device_nobodys" }),
          peer: await status({ token: null, from: "127.0.0.3", to: "127.0.0.2" }),
          others: await status({ socket: socketOfOther }),
          own: await status({ socket: own.path }),
          viewer: await status({ token: viewer.key }),
          device: await status({ token: device.key }),
        };
        await made(rig, "work");
        const owner = await status({});
        own.release();
        const may = classes[kind];
        const wanted = (outcome: "yes" | "no") => (outcome === "yes" ? owner : 403);
        const table = {
          nobody: 401,
          stranger: 401,
          self: 401,
          liar: 401,
          peer: wanted(may.peer),
          others: path.includes(":name") ? 404 : wanted(may.others),
          own: wanted(may.own),
          viewer: wanted(may.viewer),
          device: owner,
        };
        for (const [who, status] of Object.entries(got))
          if (status !== table[who as keyof typeof table])
            wrong.push(`${route}: ${who} ${status}, not ${table[who as keyof typeof table]}`);
        if ([401, 403].includes(owner)) wrong.push(`${route}: the owner ${owner}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(seen.size).toBeGreaterThan(20);
    expect(rig.reports).toEqual([]);
  });

  test("[DV32] no process of an agent answers a prompt or changes a setting, whatever credential it shows on its socket", async () => {
    await using rig = await AccessRig.open({ script: () => [{ ask: bash }, { say: "done" }] });
    const { id } = await rig.make("work");
    const own = rig.access.sockets.open(id);
    const phone = await rig.pair("phone");
    await rig.ask("/v1/sessions/work/messages", { json: { text: "go" } });
    const approval = await waitingIn(rig, id);
    for (const token of [null, rig.host.token, phone.key]) {
      const over = { socket: own.path, token };
      const cookie = {
        cookie: `lichen_x=${phone.id}.99999999999.${"0".repeat(64)}`,
        "lichen-page": "0".repeat(64),
      };
      const answer = { json: { allow: true }, headers: cookie, ...over };
      expect((await rig.ask(`/v1/sessions/work/prompts/${approval}`, answer)).status).toBe(403);
      const command = { type: "answer", requestId: "r", approvalId: approval, allow: true };
      const path = `/agents/${id}/sessions/main/commands`;
      expect((await rig.ask(path, { json: command, ...over })).status).toBe(403);
      const setting = { json: { auto_approve: true }, ...over };
      expect((await rig.ask("/v1/sessions/work/settings", setting)).status).toBe(403);
      expect((await rig.ask("/v1/pair", { json: {}, ...over })).status).toBe(403);
      // What it may is to read its own session, on either API.
      expect((await rig.ask("/v1/sessions", over)).body.sessions).toEqual([
        expect.objectContaining({ name: "work", pending: 1, auto_approve: false }),
      ]);
      expect((await rig.ask(`/agents/${id}/sessions/main`, over)).status).toBe(200);
    }
    const answered = await rig.ask(`/v1/sessions/work/prompts/${approval}`, {
      json: { allow: true },
      token: phone.key,
    });
    expect(answered.status).toBe(204);
    const { body } = await rig.ask(`/agents/${id}/sessions/main`);
    expect(body.entries.find((entry) => entry.kind === "approval.answered")).toMatchObject({
      by: "phone",
    });
  });

  test("[DV33] a page of another site reaches none of these routes: neither as text, nor as a form, nor by a name that resolves here", async () => {
    await using rig = await AccessRig.open({ meshes });
    await rig.make("work");
    const laptop = { token: null, from: "127.0.0.3", to: "127.0.0.2" };
    const { body: peers } = await rig.ask("/v1/peers");
    await rig.ask("/v1/devices", { json: { peer: peers.peers[0]?.id } });
    const json = JSON.stringify({ text: "do it" });
    const reaches = (headers: Record<string, string>, body = json) =>
      rig.ask("/v1/sessions/work/messages", { ...laptop, method: "POST", body, headers });
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
      expect((await reaches({ "content-type": type })).status, type).toBe(415);
      const origin = "http://evil.example";
      expect((await reaches({ "content-type": type, origin })).status, type).toBe(403);
    }
    const plain = { "content-type": "application/json" };
    for (const origin of ["http://evil.example", "null", "http://127.0.0.2:1"])
      expect((await reaches({ ...plain, origin })).status, origin).toBe(403);
    expect((await reaches({ ...plain, "sec-fetch-site": "cross-site" })).status).toBe(403);
    for (const host of ["evil.example", `evil.example:${rig.port}`, "127.0.0.2", "localhost:1"])
      expect((await reaches({ ...plain, host })).status, host).toBe(403);
    const claim = { json: { code: "x", name: "y" }, token: null };
    for (const headers of [{ host: "evil.example" }, { origin: "http://evil.example" }])
      expect((await rig.ask("/v1/pair/claim", { ...claim, headers })).status).toBe(403);
    const asText = { body: JSON.stringify(claim.json), method: "POST", token: null };
    const text = { headers: { "content-type": "text/plain" } };
    expect((await rig.ask("/v1/pair/claim", { ...asText, ...text })).status).toBe(415);
    const own = { ...plain, host: `127.0.0.2:${rig.port}`, origin: `http://127.0.0.2:${rig.port}` };
    expect((await reaches(own)).status).toBe(202);
  });
});

const bash = {
  kind: "tool",
  key: "k",
  prompt: "run it?",
  tool: "Bash",
  input: { command: "ls" },
} as const;

async function made(rig: AccessRig, name: string): Promise<{ readonly id: string }> {
  const { body } = await rig.ask("/v1/sessions");
  const there = body.sessions.find((session) => session.name === name);
  return there ?? (await rig.make(name));
}

/** The approval that waits in a session, once one does. */
async function waitingIn(rig: AccessRig, agent: string): Promise<string> {
  for (;;) {
    const { body } = await rig.ask(`/agents/${agent}/sessions/main`);
    const [first] = body.approvals;
    if (first) return first.approvalId;
    await new Promise((resolve) => void setImmediate(resolve));
  }
}
