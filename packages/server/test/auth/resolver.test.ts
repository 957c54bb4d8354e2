import { expect, test } from "vitest";
import { withRefreshRetry } from "@lichen/capability";
import { agentId, failureOf, mail, signal, tokenOf, withRig } from "./rig.ts";

test("[V10] each resolve reads the store: a token that another process has put there is used by the next call", () =>
  withRig(async ({ open, signedIn }) => {
    const { resolver } = await open();
    const first = signedIn();
    expect(tokenOf(await resolver.resolve(mail, signal)).token).toBe(first.tokens.access);
    const second = signedIn();
    const now = tokenOf(await resolver.resolve(mail, signal));
    expect(now.token).toBe(second.tokens.access);
    expect(now.token).not.toBe(first.tokens.access);
  }));

test("[V10] a token that is about to expire is renewed first, once for all who ask at that time", () =>
  withRig(async ({ open, signedIn, clock, server }) => {
    const { resolver } = await open();
    signedIn();
    clock.now += 3_595_000;
    const all = await Promise.all(Array.from({ length: 20 }, () => resolver.resolve(mail, signal)));
    expect(new Set(all.map((one) => tokenOf(one).token)).size).toBe(1);
    expect(server.isGood(tokenOf(all[0]!).token)).toBe(true);
    expect([server.rotations, server.reuses]).toEqual([1, 0]);
    expect(server.asked).toEqual([
      { grant: "refresh_token", scope: "read write", resource: server.resource },
    ]);
  }));

test("[V11] a 401 is followed by one renewal and one more call; who still has the old version takes the new one", () =>
  withRig(async ({ open, signedIn, server }) => {
    const { resolver } = await open();
    const { tokens } = signedIn();
    server.forget(tokens.access);
    const call = () =>
      withRefreshRetry(
        resolver,
        mail,
        async (auth) => {
          const token = auth.kind === "oauth" ? auth.token : "";
          return fetch(server.resource, { headers: { authorization: `Bearer ${token}` } });
        },
        { signal, isExpired: ({ status }) => status === 401 },
      );
    const answers = await Promise.all([call(), call(), call()]);
    expect(answers.map((answer) => answer.ok && answer.value.status)).toEqual([200, 200, 200]);
    expect(server.rotations).toBe(1);
    const late = await resolver.refresh(mail, "1", signal);
    expect(server.isGood(tokenOf(late).token)).toBe(true);
    expect(server.rotations).toBe(1);
  }));

test("[V12] a renewal that fails keeps what there was: it is used until it ends, and then the failure is refresh_failed", () =>
  withRig(async ({ open, signedIn, clock, server, credentials }) => {
    const { resolver } = await open();
    const { tokens } = signedIn();
    server.instead = (request, response, form) => {
      if (request.url !== "/token") return false;
      response.writeHead(503, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: form.toString(), error_description: form.toString() }));
      return true;
    };
    const refused = await resolver.refresh(mail, "1", signal);
    expect(failureOf(refused, server).code).toBe("refresh_failed");
    expect(credentials.of(agentId).read("mail")).toMatchObject({ tokens, version: 1 });
    clock.now += 3_595_000;
    expect(tokenOf(await resolver.resolve(mail, signal)).token).toBe(tokens.access);
    clock.now += 10_000;
    const failure = failureOf(await resolver.resolve(mail, signal), server);
    expect(failure.code).toBe("refresh_failed");
    expect(failure.message).toContain("lichen capability auth mail");
    server.instead = () => false;
    expect(server.isGood(tokenOf(await resolver.resolve(mail, signal)).token)).toBe(true);
  }));

test("[V12] a refresh token that its server takes no longer is not sent again, until a person signs in", () =>
  withRig(async ({ open, signedIn, clock, server }) => {
    const auth = await open();
    const { tokens } = signedIn();
    // Somebody else has used it: the server sees a second use and ends the family.
    await fetch(`${server.origin}/token`, {
      method: "POST",
      body: new URLSearchParams({
        grant_type: "refresh_token",
        client_id: "own-client",
        refresh_token: tokens.refresh!,
      }),
    });
    clock.now += 3_600_000;
    for (let call = 0; call < 3; call++)
      expect(failureOf(await auth.resolver.resolve(mail, signal), server).code).toBe(
        "refresh_failed",
      );
    expect([server.reuses, server.asked.length]).toEqual([1, 2]);
    expect(await auth.state("mail")).toMatchObject({ state: "expired", isRenewable: false });
    signedIn();
    expect(server.isGood(tokenOf(await auth.resolver.resolve(mail, signal)).token)).toBe(true);
  }));

test("[V12] an expired token without a refresh token is token_expired", () =>
  withRig(async ({ open, signedIn, clock, credentials, server }) => {
    const { resolver } = await open();
    const { source, tokens } = signedIn();
    const { refresh: _, ...rest } = tokens;
    credentials.of(agentId).put("mail", { source, tokens: rest });
    clock.now += 3_600_000;
    const failure = failureOf(await resolver.resolve(mail, signal), server);
    expect(failure).toMatchObject({ code: "token_expired" });
    expect(failure.message).toContain("lichen capability auth mail");
  }));

test("[V13] a renewal asks for what was granted and keeps no more than that, whatever the server gives", () =>
  withRig(async ({ open, signedIn, server, credentials, connections }) => {
    const { resolver } = await open();
    connections["mail"] = {
      auth: { type: "oauth", scopes: ["read", "write", "admin"] },
      resource: server.resource,
    };
    signedIn("read");
    server.tokenAnswer = { scope: "read write admin" };
    for (const version of ["1", "2"]) await resolver.refresh(mail, version, signal);
    expect(server.asked.map(({ scope }) => scope)).toEqual(["read", "read"]);
    expect(credentials.of(agentId).read("mail")?.tokens.scopes).toEqual(["read"]);
  }));

test("[V14] tokens go nowhere but to the address, the server and the client that they were given for", () =>
  withRig(async ({ open, signedIn, server, connections }) => {
    const { resolver } = await open();
    signedIn();
    for (const [resource, auth] of [
      ["https://elsewhere.example/mcp", {}],
      [undefined, {}],
      [server.resource, { issuer: "https://elsewhere.example" }],
      [server.resource, { clientId: "another" }],
    ] as const) {
      connections["mail"] = { auth: { type: "oauth", ...auth }, resource };
      for (const asked of [resolver.resolve(mail, signal), resolver.refresh(mail, "1", signal)])
        expect(failureOf(await asked, server).code).toBe("auth_not_configured");
    }
    expect(server.paths).toEqual([]);
  }));

test("[V15] what is not there is said as a value: no such connection, not signed in, no auth needed", () =>
  withRig(async ({ open, connections, server, signedIn }) => {
    const { resolver } = await open();
    const lost = await resolver.resolve({ id: "nobody" }, signal);
    expect(failureOf(lost, server).code).toBe("connection_not_found");
    const missing = failureOf(await resolver.resolve(mail, signal), server);
    expect(missing).toMatchObject({ code: "auth_not_configured" });
    expect(missing.message).toContain("lichen capability auth mail");
    connections["open"] = { auth: { type: "none" } };
    expect(await resolver.resolve({ id: "open" }, signal)).toEqual({
      ok: true,
      auth: { kind: "none" },
    });
    signedIn();
    const gone = new AbortController();
    gone.abort(new Error("stopped"));
    await expect(resolver.resolve(mail, gone.signal)).rejects.toThrow("stopped");
  }));

test("[V16] a client's own token is kept until it expires or is refused, and then fetched again", () =>
  withRig(async ({ open, connections, server, env, clock }) => {
    const auth = await open();
    server.addClient("robot", "canary-robot-secret");
    connections["mail"] = {
      auth: {
        type: "client_credentials",
        issuer: server.origin,
        clientId: "robot",
        clientSecret: "ROBOT_SECRET",
        scopes: ["read"],
      },
      resource: server.resource,
    };
    const unset = failureOf(await auth.resolver.resolve(mail, signal), server);
    expect(unset).toMatchObject({ code: "auth_not_configured" });
    expect(unset.message).toContain("ROBOT_SECRET");
    env["ROBOT_SECRET"] = "canary-wrong";
    expect(failureOf(await auth.resolver.resolve(mail, signal), server).code).toBe(
      "refresh_failed",
    );
    env["ROBOT_SECRET"] = "canary-robot-secret";
    server.asked.length = 0;
    const first = tokenOf(await auth.resolver.resolve(mail, signal));
    expect(tokenOf(await auth.resolver.resolve(mail, signal))).toEqual(first);
    expect(server.asked).toEqual([{ grant: "client_credentials", scope: "read", resource: null }]);
    const second = tokenOf(await auth.resolver.refresh(mail, first.version, signal));
    expect(second.token).not.toBe(first.token);
    clock.now += 3_600_000;
    expect(await auth.state("mail")).toMatchObject({ state: "ready", scopes: ["read"] });
    const third = tokenOf(await auth.resolver.resolve(mail, signal));
    expect([third.token === second.token, server.asked.length]).toEqual([false, 3]);
  }));
