import { expect, test } from "vitest";
import { allowedUrl } from "../../src/auth/oauth-http.ts";
import { AuthProblem } from "../../src/auth/problem.ts";
import type { SignInOptions } from "../../src/auth/sign-in.ts";
import {
  agentId,
  expectClean,
  failureOf,
  faultOf,
  mail,
  type Rig,
  signal,
  tokenOf,
  withRig,
} from "./rig.ts";

/** A browser whose person agrees to everything: it follows redirects as browsers do. */
async function browse(url: string): Promise<Response> {
  return fetch(url);
}

/** Signs in with a browser that does what `open` says. */
async function signInWith(
  { open: openAuth }: Rig,
  open: SignInOptions["open"],
  options: Partial<SignInOptions> = {},
) {
  const auth = await openAuth();
  return { auth, signed: auth.signIn("mail", { open, ...options }) };
}

/** Where a sign-in sends the browser, without going there. */
function parametersOf(url: string): URLSearchParams {
  return new URL(url).searchParams;
}

test("[V30] a sign-in finds the server from the resource, registers a client, and keeps what was granted", () =>
  withRig(async (rig) => {
    const { server } = rig;
    let url = "";
    let page = "";
    const { auth, signed } = await signInWith(rig, async (opened) => {
      url = opened;
      page = await (await browse(opened)).text();
    });
    expect(await signed).toEqual({
      issuer: server.origin,
      scopes: ["read"],
      expiresAt: rig.clock.now + 3_600_000,
      isRenewable: true,
    });
    const asked = parametersOf(url);
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: "code",
      client_id: "client-1",
      code_challenge_method: "S256",
      resource: server.resource,
      scope: "read",
    });
    expect(asked.get("redirect_uri")).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expectClean([url, page], server);
    expect(server.asked).toEqual([
      { grant: "authorization_code", scope: null, resource: server.resource },
    ]);
    const { token } = tokenOf(await auth.resolver.resolve(mail, signal));
    expect(server.isGood(token)).toBe(true);
    const state = await auth.state("mail");
    expect(state).toEqual({
      type: "oauth",
      state: "ready",
      isRenewable: true,
      issuer: server.origin,
      scopes: ["read"],
      expiresAt: rig.clock.now + 3_600_000,
    });
    expectClean(state, server);
  }));

test("[V30] a client that registered itself is used again, also with a secret of its own; signing out forgets it everywhere", () =>
  withRig(async (rig) => {
    const { server } = rig;
    server.givesSecret = true;
    const first = await signInWith(rig, async (url) => void (await browse(url)));
    await first.signed;
    const again = first.auth.signIn("mail", { open: async (url) => void (await browse(url)) });
    await again;
    expect(server.registrations).toBe(1);
    const { token, version } = tokenOf(await first.auth.resolver.resolve(mail, signal));
    const renewed = tokenOf(await first.auth.resolver.refresh(mail, version, signal));
    expect([renewed.token === token, server.rotations]).toEqual([false, 1]);
    await first.auth.signIn("mail", {
      open: async (url) => void (await browse(url)),
      isNewClient: true,
    });
    expect(server.registrations).toBe(2);
    const last = tokenOf(await first.auth.resolver.resolve(mail, signal)).token;
    expect(await first.auth.signOut("mail")).toEqual({ isRevoked: true });
    expect([server.revocations, server.isGood(last)]).toEqual([2, false]);
    expect(await first.auth.state("mail")).toEqual({ type: "oauth", state: "missing" });
    const gone = failureOf(await first.auth.resolver.resolve(mail, signal), server);
    expect(gone.code).toBe("auth_not_configured");
    expect(rig.credentials.of(agentId).registration("mail")).toBeUndefined();
    expect(await first.auth.signOut("mail")).toEqual({ isRevoked: false });
  }));

test("[V30] the owner may name the server, the client, its secret and the scopes", () =>
  withRig(async (rig) => {
    const { server, connections, env } = rig;
    server.addClient("by-hand", "canary-by-hand");
    server.metadata = { code_challenge_methods_supported: undefined };
    connections["mail"] = {
      auth: {
        type: "oauth",
        issuer: server.origin,
        clientId: "by-hand",
        clientSecret: "MAIL_CLIENT",
        scopes: ["write"],
      },
    };
    const { auth, signed } = await signInWith(rig, () => {});
    expect((await faultOf(signed, server)).message).toContain("MAIL_CLIENT");
    env["MAIL_CLIENT"] = "canary-by-hand";
    let url = "";
    const open = async (opened: string): Promise<void> => {
      url = opened;
      await browse(opened);
    };
    expect(await auth.signIn("mail", { open })).toMatchObject({ scopes: ["write"] });
    const asked = parametersOf(url);
    expect([asked.get("scope"), asked.get("resource")]).toEqual(["write", null]);
    expect(server.registrations).toBe(0);
    await auth.signIn("mail", { open, scopes: ["read", "write"] });
    expect(parametersOf(url).get("scope")).toBe("read write");
    const renewed = await auth.resolver.refresh(mail, "2", signal);
    expect(server.isGood(tokenOf(renewed).token)).toBe(true);
  }));

test("[V30] a server under a path is found where the standards put it, and a resource may say where its metadata lies", () =>
  withRig(async (rig) => {
    const { server, connections } = rig;
    const issuer = `${server.origin}/tenant`;
    const hidden = "/.well-known/oauth-authorization-server";
    const told: string[] = [];
    server.metadata = { issuer, authorization_response_iss_parameter_supported: undefined };
    server.redirect = { iss: issuer };
    server.instead = (request, response) => {
      const path = request.url ?? "";
      if (path === "/mcp") {
        const place = told.shift() ?? `${server.origin}/own-words`;
        response.setHeader(
          "www-authenticate",
          `Bearer scope="write", resource_metadata="${place}"`,
        );
        response.writeHead(401).end();
        return true;
      }
      const answer = (body: unknown): true => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify(body));
        return true;
      };
      if (path === "/own-words")
        return answer({ resource: server.origin, authorization_servers: [issuer] });
      if (path === "/tenant/.well-known/openid-configuration") {
        return answer({
          issuer,
          authorization_endpoint: `${server.origin}/authorize`,
          token_endpoint: `${server.origin}/token`,
          registration_endpoint: `${server.origin}/register`,
          code_challenge_methods_supported: ["S256"],
          scopes_supported: ["write", "offline_access"],
        });
      }
      return path.startsWith(hidden) ? (response.writeHead(404).end(), true) : false;
    };
    let url = "";
    const { auth, signed } = await signInWith(rig, async (opened) => {
      url = opened;
      await browse(opened);
    });
    expect(await signed).toMatchObject({ issuer });
    const asked = parametersOf(url);
    expect([asked.get("resource"), asked.get("scope")]).toEqual([
      server.origin,
      "write offline_access",
    ]);
    const tried = server.paths.filter((path) => path.includes("well-known"));
    expect(tried).toEqual([
      `GET ${hidden}/tenant`,
      "GET /.well-known/openid-configuration/tenant",
      "GET /tenant/.well-known/openid-configuration",
    ]);
    // Its own origin speaks for a resource, and no other one.
    told.push("https://attacker.example/own-words");
    server.resourceMetadata = { authorization_servers: [issuer], resource: server.resource };
    await auth.signIn("mail", { open: async (opened) => void (await browse(opened)) });
    expect(server.paths).toContain("GET /.well-known/oauth-protected-resource/mcp");
    // Who says nothing of itself is its own server, as in older times; a name in the config goes first.
    told.push("", "");
    connections["mail"] = { auth: { type: "oauth", issuer }, resource: `${server.origin}/plain` };
    expect(
      await auth.signIn("mail", { open: async (opened) => void (await browse(opened)) }),
    ).toMatchObject({ issuer });
  }));

test("[V31] an answer with another state, path, method or host is none: the sign-in goes on waiting for its own", () =>
  withRig(async (rig) => {
    const { server } = rig;
    const statuses: number[] = [];
    const { signed } = await signInWith(rig, async (url) => {
      const asked = parametersOf(url);
      const back = new URL(asked.get("redirect_uri")!);
      const answer = (changes: Record<string, string>): URL => {
        const to = new URL(back);
        const says = { code: "canary-stolen", state: asked.get("state")!, iss: server.origin };
        for (const [name, value] of Object.entries({ ...says, ...changes }))
          to.searchParams.set(name, value);
        return to;
      };
      const elsewhere = answer({});
      elsewhere.pathname = "/other";
      const named = answer({});
      named.hostname = "localhost";
      for (const [to, init] of [
        [answer({ state: "guessed" }), {}],
        [elsewhere, {}],
        [answer({}), { method: "POST" }],
        [named, {}],
      ] as const)
        statuses.push(
          await fetch(to, init).then(
            ({ status }) => status,
            () => 404,
          ),
        );
      statuses.push((await browse(url)).status);
    });
    await signed;
    expect(statuses).toEqual([404, 404, 404, 404, 200]);
    expect(server.asked).toHaveLength(1);
  }));

test("[V31] an answer of another issuer, or of none where the server promises one, ends the sign-in, and no code is sent", () =>
  withRig(async (rig) => {
    const { server } = rig;
    for (const iss of ["https://attacker.example", undefined]) {
      server.redirect = { iss };
      const { auth, signed } = await signInWith(rig, async (url) => void (await browse(url)));
      const fault = await faultOf(signed, server);
      expect(fault.message).toMatch(/^Signing in to mail failed/);
      expect(await auth.state("mail")).toMatchObject({ state: "missing" });
    }
    server.redirect = { error: "access_denied", error_description: "canary-words" };
    const { signed } = await signInWith(rig, async (url) => void (await browse(url)));
    expect((await faultOf(signed, server)).message).toContain("access_denied");
    expect(server.asked).toEqual([]);
  }));

test("[V31] metadata of another issuer or resource, or of a server that does not know PKCE, is refused", () =>
  withRig(async (rig) => {
    const { server } = rig;
    const refused = async (): Promise<string> => {
      const { signed } = await signInWith(rig, () => {
        throw new Error("nobody is sent there");
      });
      return (await faultOf(signed, server)).message;
    };
    server.metadata = { issuer: "https://elsewhere.example" };
    expect(await refused()).toContain("another server");
    server.metadata = { code_challenge_methods_supported: ["plain"] };
    expect(await refused()).toContain("PKCE");
    server.metadata = { registration_endpoint: undefined };
    expect(await refused()).toContain("auth.clientId");
    server.metadata = {};
    server.resourceMetadata = { resource: "https://elsewhere.example/mcp" };
    expect(await refused()).toContain("another resource");
    server.resourceMetadata = { authorization_servers: [] };
    expect(await refused()).toContain("auth.issuer");
    expect([server.registrations, server.asked.length]).toEqual([0, 0]);
  }));

test("[V32] only https is asked, or this computer itself; nothing elsewhere leads into it, nor on by a redirect", () =>
  withRig(async (rig) => {
    const { server, connections } = rig;
    const refused = async (): Promise<string> => {
      const { signed } = await signInWith(rig, () => {});
      return (await faultOf(signed, server)).message;
    };
    for (const endpoint of ["authorization_endpoint", "token_endpoint", "registration_endpoint"])
      for (const address of [
        "http://elsewhere.example/x",
        "javascript:alert(1)",
        "file:///etc/x",
      ]) {
        server.metadata = { [endpoint]: address };
        expect(await refused()).toMatch(/https|cannot be used/);
      }
    server.metadata = {};
    server.resourceMetadata = { authorization_servers: ["http://elsewhere.example"] };
    expect(await refused()).toContain("https");
    server.resourceMetadata = {};
    connections["mail"] = { auth: { type: "oauth" }, resource: "http://elsewhere.example/mcp" };
    expect(await refused()).toContain("https");
    connections["mail"] = { auth: { type: "oauth" }, resource: server.resource };
    server.instead = (request, response) => {
      if (!request.url?.startsWith("/.well-known/oauth-authorization")) return false;
      response.writeHead(302, { location: "/elsewhere" }).end();
      return true;
    };
    expect(await refused()).toContain("redirect");
    expect(server.paths).not.toContain("GET /elsewhere");
    server.instead = (request, response) => {
      if (!request.url?.startsWith("/.well-known/oauth-authorization")) return false;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"x":"${"x".repeat(300_000)}"}`);
      return true;
    };
    expect(await refused()).toContain("more than 262144 bytes");
    expect(server.registrations).toBe(0);
  }));

test("[V32] what a server elsewhere names does not lead into this computer or a private network", () => {
  const elsewhere = new URL("https://mail.example");
  for (const address of [
    "http://127.0.0.1:8080/token",
    "https://127.1/token",
    "https://2130706433/",
    "https://[::1]/",
    "https://localhost/",
    "https://localhost./",
    "https://a.localhost/",
    "https://10.1.2.3/",
    "https://172.20.0.1/",
    "https://192.168.1.1/",
    "https://169.254.169.254/latest",
    "https://100.64.0.1/",
    "https://0.0.0.0/",
    "https://[fd00::1]/",
    "https://[fe80::1]/",
    "https://[::ffff:10.0.0.1]/",
    "https://printer.local/",
    "https://router/",
    "https://box.lan/",
    "https://198.18.0.1/",
    "https://224.0.0.1/",
    "https://[::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[ff02::1]/",
    "https://user:pass@mail.example/",
    "http://mail.example/",
  ])
    expect(() => allowedUrl(address, elsewhere), address).toThrow(AuthProblem);
  for (const address of [
    "https://mail.example/token",
    "https://172.32.0.1/",
    "https://[2606:4700::1]/",
    "https://login.example",
  ])
    expect(allowedUrl(address, elsewhere).protocol).toBe("https:");
  // An owner's own server may name its neighbours.
  expect(allowedUrl("https://10.0.0.2/", new URL("https://10.0.0.1/")).host).toBe("10.0.0.2");
});

test("[V33] a token endpoint that repeats what it was sent, breaks off or gives odd tokens leaves no secret in the error", () =>
  withRig(async (rig) => {
    const { server } = rig;
    const { auth, signed } = await signInWith(rig, async (url) => void (await browse(url)));
    await signed;
    const statuses = [200, 302, 400, 401, 403, 500];
    const bodies = (form: URLSearchParams): string[] => [
      JSON.stringify({
        error: form.get("refresh_token") ?? form.get("code"),
        error_description: `${form.toString()}`,
      }),
      JSON.stringify({ access_token: form.toString(), token_type: form.toString() }),
      JSON.stringify({ access_token: `canary\n${form.toString()}`, token_type: "bearer" }),
      JSON.stringify({ access_token: "canary", token_type: "dpop", refresh_token: 7 }),
      `not json ${form.toString()}`,
      "",
    ];
    let at = 0;
    server.instead = (request, response, form) => {
      if (request.url !== "/token") return false;
      const body = bodies(form)[at % 6]!;
      const headers = {
        "content-type": "application/json",
        "www-authenticate": `Bearer realm="${form.toString()}"`,
      };
      if (at === 36) response.destroy();
      else response.writeHead(statuses[Math.floor(at / 6)]!, headers).end(body);
      return true;
    };
    const { version } = tokenOf(await auth.resolver.resolve(mail, signal));
    for (at = 0; at <= 36; at++) {
      const failure = failureOf(await auth.resolver.refresh(mail, version, signal), server);
      expect(failure.code).toBe("refresh_failed");
      if (at % 5 > 0) continue;
      const again = auth.signIn("mail", { open: async (url) => void (await browse(url)) });
      expect((await faultOf(again, server)).message).toMatch(/^Signing in to mail failed/);
    }
    expect(tokenOf(await auth.resolver.resolve(mail, signal)).version).toBe(version);
  }));

test("[V34] a sign-in ends by itself when nobody comes back, when it is stopped, and when the page cannot be opened", () =>
  withRig(async (rig) => {
    const { server } = rig;
    const late = await signInWith(rig, () => {}, { waitMs: 1 });
    expect((await faultOf(late.signed, server)).message).toContain("in time");
    const stop = new AbortController();
    const stopped = await signInWith(rig, () => stop.abort(new Error("stopped")), {
      signal: stop.signal,
    });
    await expect(stopped.signed).rejects.toThrow("stopped");
    const broken = await signInWith(rig, () => {
      throw new Error("no browser here");
    });
    await expect(broken.signed).rejects.toThrow("no browser here");
    expect(rig.credentials.of(agentId).registration("mail")).toBeUndefined();
    const slow = await signInWith(rig, async (url) => {
      await browse(url);
      await new Promise(() => {});
    });
    expect(await slow.signed).toMatchObject({ isRenewable: true });
    const nobody = late.auth.signIn("nobody", { open: () => {} });
    expect((await faultOf(nobody, server)).code).toBe("unknown_capability");
    rig.connections["mail"] = { auth: { type: "header", secret: "MAIL_KEY" } };
    const header = late.auth.signIn("mail", { open: () => {} });
    expect((await faultOf(header, server)).message).toContain("MAIL_KEY");
  }));
