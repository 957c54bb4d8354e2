import { describe, expect, test } from "vitest";
import { serveHost } from "../../src/host/serve.ts";
import { type Answer, openRig, refused, type Rig } from "./rig.ts";
import { openAgentRig } from "./agent-rig.ts";

const login = async (rig: Rig, token: string): Promise<Answer> =>
  rig.ask("/login", { token: null, json: { token } });

const cookieOf = (answer: Answer): string => answer.headers["set-cookie"]![0]!.split(";")[0]!;

/** What a page of the host sends by itself, and what it says. */
const halvesOf = (answer: Answer) => ({ cookie: cookieOf(answer), "lichen-page": pageOf(answer) });

const pageOf = (answer: Answer): string => (answer.json() as { page: string }).page;

describe("who comes in", () => {
  test("[H3] without a known credential every route but /health and /login answers 401, also one that is not there", async () => {
    await using rig = await openAgentRig();
    const requests = [
      ["GET", "/agents"],
      ["GET", "/events"],
      ["GET", "/agents/a/sessions"],
      ["POST", "/agents/a/sessions"],
      ["GET", "/agents/a/sessions/s"],
      ["PATCH", "/agents/a/sessions/s"],
      ["DELETE", "/agents/a/sessions/s"],
      ["PUT", "/agents/a/sessions/s"],
      ["POST", "/agents/a/sessions/s/fork"],
      ["POST", "/agents/a/sessions/s/commands"],
      ["POST", "/agents/a/sessions/s/withdraw"],
      ["GET", "/agents/a/sessions/s/settlement"],
      ["GET", "/agents/a/sessions/s/events"],
      ["GET", "/agents/a/sessions/s/search"],
      ["GET", `/agents/a/sessions/s/blobs/${"0".repeat(64)}`],
      ["POST", "/agents/a/invoke"],
      ["GET", "/agents/nobody/sessions"],
      ["GET", "/nothing"],
    ] as const;
    for (const [method, path] of requests)
      for (const token of [null, "wrong", `${rig.tokens.owner}x`, rig.tokens.owner.slice(0, -1)]) {
        const answer = await rig.ask(path, { method, token });
        expect(refused(answer), `${method} ${path}`).toMatchObject({
          status: 401,
          code: "unauthenticated",
        });
        expect(answer.headers["www-authenticate"]).toBe('Bearer realm="lichen"');
      }
    expect((await rig.ask("/health", { token: null })).status).toBe(200);
  });

  test("[H3] a credential in another place or form is none", async () => {
    await using rig = await openAgentRig();
    const { owner } = rig.tokens;
    for (const headers of [
      { authorization: owner },
      { authorization: `Basic ${owner}` },
      { authorization: `Bearer  ` },
      { authorization: `Bearer ${owner} ${owner}` },
      { authorization: `Bearer ${owner}, Bearer ${owner}` },
      { cookie: `lichen=${owner}` },
      { "x-token": owner },
    ])
      expect((await rig.ask("/agents", { token: null, headers })).status).toBe(401);
    expect((await rig.ask(`/agents?token=${owner}`, { token: null })).status).toBe(401);
    expect(
      (await rig.ask("/agents", { token: null, headers: { authorization: `bearer ${owner}` } }))
        .status,
    ).toBe(200);
  });

  test("[H5] a browser exchanges a token once for a cookie that no script reads, no other site sends and that tells nothing of the token", async () => {
    await using rig = await openAgentRig();
    const answer = await login(rig, rig.tokens.owner);
    expect(answer.status).toBe(200);
    const [header] = answer.headers["set-cookie"]!;
    expect(header).toContain("; HttpOnly; SameSite=Strict");
    expect(header).not.toContain(rig.tokens.owner);
    expect(header).not.toContain(rig.tokens.sha256(rig.tokens.owner));
    expect(header).not.toContain("Secure");
    expect(answer.text).not.toContain(rig.tokens.owner);
    expect(answer.text).not.toContain(rig.tokens.sha256(rig.tokens.owner));
    const headers = { ...halvesOf(answer), cookie: `other=1; ${cookieOf(answer)}; more=2` };
    expect((await rig.ask("/agents", { token: null, headers })).status).toBe(200);
    expect(refused(await login(rig, "wrong"))).toMatchObject({ code: "unauthenticated" });
  });

  test("[H5] what another server on the same computer is sent, or a script could read, is no credential by itself", async () => {
    await using rig = await openAgentRig();
    const one = halvesOf(await login(rig, rig.tokens.owner));
    const viewer = rig.tokens.issue({ kind: "viewer" });
    const other = halvesOf(await login(rig, viewer.token));
    const seal = one.cookie.split(".").at(-1)!;
    for (const headers of [
      { cookie: one.cookie },
      { "lichen-page": one["lichen-page"] },
      { cookie: one.cookie, "lichen-page": other["lichen-page"] },
      { cookie: other.cookie, "lichen-page": one["lichen-page"] },
      { cookie: one.cookie, "lichen-page": seal },
      { cookie: one.cookie, "lichen-page": "" },
      { authorization: `Bearer ${one["lichen-page"]}`, cookie: one.cookie },
    ])
      for (const [path, method] of [
        ["/agents", "GET"],
        ["/events", "GET"],
        ["/agents/a/sessions", "POST"],
      ] as const)
        expect((await rig.ask(path, { method, token: null, headers })).status, path).toBe(401);
    for (const headers of [one, other])
      expect((await rig.ask("/agents", { token: null, headers })).status).toBe(200);
  });

  test("[H5] a cookie that was changed, has ended, or whose token is void is none", async () => {
    await using rig = await openAgentRig();
    const owners = await login(rig, rig.tokens.owner);
    const cookie = cookieOf(owners);
    const viewer = rig.tokens.issue({ kind: "viewer" });
    const viewersLogin = await login(rig, viewer.token);
    const viewers = cookieOf(viewersLogin);
    const status = async (value: string, answer = owners) =>
      (await rig.ask("/agents", { token: null, headers: { ...halvesOf(answer), cookie: value } }))
        .status;
    expect(await status(viewers, viewersLogin)).toBe(200);

    const [name, id, end, seal] = /^(\w+)=([\w-]+)\.(\d+)\.(\w+)$/.exec(cookie)!.slice(1) as [
      string,
      string,
      string,
      string,
    ];
    const viewerSeal = viewers.split(".").at(-1)!;
    for (const forged of [
      `${name}=${id}.${Number(end) + 1}.${seal}`,
      `${name}=${viewer.id}.${end}.${seal}`,
      `${name}=${id}.${end}.${viewerSeal}`,
      `${name}=${id}.${end}.${"0".repeat(64)}`,
      `${name}=${id}.${end}.`,
      `${name}2=${id}.${end}.${seal}`,
    ])
      expect(await status(forged), forged).toBe(401);

    rig.tokens.revoke(viewer.id);
    expect(await status(viewers, viewersLogin)).toBe(401);
    expect(await status(cookie)).toBe(200);
    rig.clock.advance(30 * 24 * 3_600_000);
    expect(await status(cookie)).toBe(401);
    const again = await login(rig, rig.tokens.owner);
    expect(await status(cookieOf(again), again)).toBe(200);
    rig.tokens.rotate();
    expect(await status(cookieOf(again), again)).toBe(401);
  });

  test("[H5] two hosts on one computer do not take each other's cookie from the browser", async () => {
    await using one = await openAgentRig();
    await using two = await openAgentRig();
    const logins = [await login(one, one.tokens.owner), await login(two, two.tokens.owner)];
    const cookies = logins.map(cookieOf);
    expect(new Set(cookies.map((cookie) => cookie.split("=")[0])).size).toBe(2);
    for (const [at, rig] of [one, two].entries()) {
      const headers = { cookie: cookies.join("; "), "lichen-page": pageOf(logins[at]!) };
      expect((await rig.ask("/agents", { token: null, headers })).status).toBe(200);
    }
  });

  test("[H5] behind TLS the cookie is for TLS alone, and a logout takes it back", async () => {
    await using rig = await openAgentRig({ publicUrl: "https://lichen.example" });
    const cookieFor = async (host: string) => {
      const json = { token: rig.tokens.owner };
      const answer = await rig.ask("/login", { token: null, json, headers: { host } });
      return answer.headers["set-cookie"]![0];
    };
    expect(await cookieFor("lichen.example")).toContain("; Secure");
    expect(await cookieFor(`127.0.0.1:${rig.served.port}`)).not.toContain("Secure");
    const out = await rig.ask("/logout", { method: "POST", token: null });
    expect(out.headers["set-cookie"]![0]).toMatch(/^lichen_\w{8}=; Path=\/; Max-Age=0; HttpOnly/);
  });

  test("[H5] a page of another site cannot log a browser in or out", async () => {
    await using rig = await openAgentRig();
    const headers = { origin: "https://evil.example" };
    const answer = await rig.ask("/login", { json: { token: rig.tokens.owner }, headers });
    expect(answer.status).toBe(403);
    expect(answer.headers["set-cookie"]).toBeUndefined();
    const form = await rig.ask("/login", {
      token: null,
      body: `{"token":"${rig.tokens.owner}"}`,
      headers: { "content-type": "text/plain" },
    });
    expect(form.status).toBe(415);
  });
});

describe("the routes that are there", () => {
  test("[H7] a route that is not there is 404, and what is there in another spelling is not there", async () => {
    await using rig = await openAgentRig();
    for (const path of [
      "/",
      "/nothing",
      "/agents/",
      "/AGENTS",
      "/%61gents",
      "//agents",
      "/agents/a",
      "/agents/a/sessions/",
      "/agents/a/sessions/s/",
      "/agents/a/sessions/s/nothing",
      "/agents/a/sessions//commands",
      "/agents/a/sessions/s/commands/x",
    ])
      expect(refused(await rig.ask(path)), path).toMatchObject({
        status: 404,
        code: "unknown_route",
      });
    expect(refused(await rig.ask("/agents/nobody/sessions"))).toMatchObject({
      status: 404,
      code: "unknown_agent",
    });
  });

  test("[H7] a method that a route does not take is 405 and the answer says which it takes", async () => {
    await using rig = await openAgentRig();
    for (const [path, method, allow] of [
      ["/health", "POST", "HEAD, GET"],
      ["/login", "GET", "POST"],
      ["/agents", "DELETE", "HEAD, GET"],
      ["/agents/a/sessions", "PUT", "HEAD, GET, POST"],
      ["/agents/a/sessions/s", "POST", "HEAD, GET, PATCH, DELETE"],
      ["/agents/a/sessions/s/commands", "GET", "POST"],
      ["/agents/a/sessions/s/commands", "OPTIONS", "POST"],
      ["/agents/a/invoke", "HEAD", "POST"],
    ] as const) {
      const answer = await rig.ask(path, { method });
      expect([answer.status, answer.headers.allow], `${method} ${path}`).toEqual([405, allow]);
    }
  });

  test("[H7] HEAD tells what GET would, without the body, and leaves no stream behind", async () => {
    await using rig = await openAgentRig();
    const health = await rig.ask("/health", { method: "HEAD" });
    expect([health.status, health.text]).toEqual([200, ""]);
    const events = await rig.ask("/events", { method: "HEAD" });
    expect([events.status, events.text]).toEqual([200, ""]);
    expect(events.headers["content-type"]).toBe("text/event-stream");
    expect(rig.door.openStreams).toBe(0);
  });

  test("[H12] /health says whether the host is there, which wire it speaks and what it can do", async () => {
    let isReady = false;
    await using rig = await openRig({
      features: ["invoke"],
      owner: () =>
        isReady
          ? {
              agents: () => [],
              agent: () => undefined,
              observeHost: () => ({ resume: () => {}, close: () => {} }),
            }
          : undefined,
    });
    const health = async () => {
      const answer = await rig.ask("/health", { token: null });
      return [answer.status, answer.json()];
    };
    const common = { wire: 1, features: ["models", "capabilities", "invoke"] };
    expect(await health()).toEqual([503, { status: "starting", ...common }]);
    expect(refused(await rig.ask("/agents"))).toMatchObject({ status: 503, code: "unavailable" });
    expect((await rig.ask("/agents")).headers["retry-after"]).toBe("1");
    isReady = true;
    expect(await health()).toEqual([200, { status: "ok", ...common }]);
    rig.door.drain();
    expect(await health()).toEqual([503, { status: "draining", ...common }]);
    expect(refused(await rig.ask("/agents"))).toMatchObject({ status: 503, code: "unavailable" });
    expect(refused(await rig.ask("/login", { json: { token: "x" } }))).toMatchObject({
      code: "unavailable",
    });
  });

  test("[H12] a challenge is answered with a proof that only the token's holder can make", async () => {
    await using rig = await openRig();
    const nonce = "n".repeat(32);
    const answer = await rig.ask(`/health?challenge=${nonce}`, { token: null });
    const { proof } = answer.json() as { proof: string };
    const { createHmac } = await import("node:crypto");
    expect(proof).toBe(createHmac("sha256", rig.tokens.owner).update(nonce).digest("hex"));
    for (const bad of ["", "short", "x".repeat(129), "n".repeat(31) + "%0a", "é".repeat(20)])
      expect(refused(await rig.ask(`/health?challenge=${encodeURIComponent(bad)}`))).toMatchObject({
        status: 400,
        code: "invalid",
      });
    expect(refused(await rig.ask("/health?other=1")).message).toContain('"other"');
  });

  test("[H31] a host vouches for the addresses that are its own, and for no name that may lead elsewhere", async () => {
    await using rig = await openRig({
      allowedHosts: ["Box.example", "box.example:8443", "localhost:9000"],
      publicUrl: "https://lichen.example",
    });
    const { port } = rig.served;
    const nonce = "n".repeat(32);
    const { createHmac } = await import("node:crypto");
    const vouchFor = (host: string) =>
      createHmac("sha256", rig.tokens.owner)
        .update(`lichen vouches ${nonce} ${host}`)
        .digest("hex");
    for (const [host, isVouched] of [
      [`127.0.0.1:${port}`, true],
      // Somebody else may listen there, or be what this name leads to.
      [`[::1]:${port}`, false],
      [`localhost:${port}`, false],
      ["box.example", true],
      ["BOX.example", true],
      ["box.example:8443", true],
      ["box.example:9000", false],
      ["lichen.example", true],
      ["lichen.example:8443", false],
      ["127.0.0.1:9000", true],
      ["[::1]:9000", true],
      ["localhost:9000", false],
    ] as const) {
      const answer = await rig.ask(`/health?challenge=${nonce}`, {
        token: null,
        headers: { host },
      });
      const { proof, vouch } = answer.json() as { proof: string; vouch?: string };
      expect(proof, host).toHaveLength(64);
      expect(vouch, host).toBe(isVouched ? vouchFor(host.toLowerCase()) : undefined);
    }
    expect((await rig.ask("/health", { token: null })).json()).not.toHaveProperty("vouch");
    const elsewhere = { token: null, headers: { host: "127.0.0.1:9001" } };
    expect(refused(await rig.ask(`/health?challenge=${nonce}`, elsewhere)).code).toBe("denied");
  });

  test("[H31] a host on all addresses of a kind vouches for those alone", async () => {
    const serve = async (bind: string) => {
      const served = await serveHost({ fetch: () => new Response(), port: 0, bind });
      await served.close({ graceMs: 0 });
      return { ...served, bound: [...served.boundTo] };
    };
    const all = await serve("0.0.0.0");
    expect(all.bound).toContain(`127.0.0.1:${all.port}`);
    expect(all.bound.filter((host) => !/^[\d.]+:\d+$/.test(host))).toEqual([]);
    const named = await serve("localhost");
    expect(named.bound).toEqual([new URL(named.url).host]);
    expect(named.url).not.toContain("localhost");
  });

  test("[H11] a bug is an id that the log has, and nothing else of it leaves", async () => {
    await using rig = await openRig({
      owner: () => ({
        agents: () => {
          throw new Error("SECRET in /home/someone/state");
        },
        agent: () => undefined,
        observeHost: () => {
          throw "SECRET text";
        },
      }),
    });
    for (const path of ["/agents?", "/events"]) {
      const answer = await rig.ask(path);
      const { status, code, message } = refused(answer);
      expect([status, code]).toEqual([500, "internal"]);
      const bug = rig.bugs.at(-1)!;
      expect(message).toContain(bug.id);
      expect(bug.path).toBe(path.replace("?", ""));
      expect(String(bug.error)).toContain("SECRET");
      expect(JSON.stringify([answer.headers, answer.text])).not.toMatch(/SECRET|home/);
    }
    expect(rig.bugs).toHaveLength(2);
  });
});
