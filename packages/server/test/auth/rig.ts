// What the tests of auth share: a folder of their own, a clock, one agent's auth over a real file, and a search for
// secrets in whatever somebody could read.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import type { Auth, AuthResult } from "@lichen/capability";
import { Fault } from "@lichen/wire";
import { expect } from "vitest";
import type { ConnectionAuth } from "../../src/auth/connection-auth.ts";
import { type Credentials, openCredentials } from "../../src/auth/host/credentials-db.ts";
import { type OpenAuth, openAuth, type OpenAuthOptions } from "../../src/auth/host/open-auth.ts";
import type { Login } from "../../src/auth/token-store.ts";
import { AuthorizationServer } from "./authorization-server.ts";

export const { signal } = new AbortController();
export const agentId = "agent1";
export const mail = { id: "mail" };

export interface Rig {
  readonly server: AuthorizationServer;
  readonly folder: string;
  readonly path: string;
  readonly connections: Record<string, ConnectionAuth>;
  readonly credentials: Credentials;
  readonly clock: { now: number };
  readonly env: Record<string, string>;
  readonly open: (options?: Partial<OpenAuthOptions>) => Promise<OpenAuth>;
  /** As if a person had signed in to `mail` before. */
  readonly signedIn: (scope?: string) => Login;
}

export async function withRig(body: (rig: Rig) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "lichen-auth-"));
  const path = join(folder, "state", "credentials.db");
  const opened: OpenAuth[] = [];
  await using server = await AuthorizationServer.open();
  const credentials = await openCredentials(path);
  const clock = { now: 1_800_000_000_000 };
  const env: Record<string, string> = {};
  const connections: Record<string, ConnectionAuth> = {
    mail: { auth: { type: "oauth" }, resource: server.resource },
  };
  try {
    await body({
      server,
      folder,
      path,
      connections,
      credentials,
      clock,
      env,
      async open(options = {}) {
        const auth = await openAuth({
          path,
          agentId,
          folder,
          env,
          configOf: (id) => connections[id],
          now: () => clock.now,
          ...options,
        });
        opened.push(auth);
        return auth;
      },
      signedIn(scope) {
        server.addClient("own-client");
        const tokens = server.grant("own-client", scope, server.resource);
        const login: Login = {
          source: {
            type: "oauth",
            issuer: server.origin,
            clientId: "own-client",
            resource: server.resource,
            indicator: server.resource,
          },
          tokens: {
            access: String(tokens["access_token"]),
            refresh: String(tokens["refresh_token"]),
            expiresAt: clock.now + 3_600_000,
            scopes: String(tokens["scope"]).split(" "),
          },
        };
        credentials.of(agentId).put("mail", login);
        return login;
      },
    });
  } finally {
    await Promise.all(opened.map((auth) => auth.close()));
    credentials.close();
    await rm(folder, { recursive: true });
  }
}

/** The token of an answer; fails where there is none. */
export function tokenOf(result: AuthResult): Extract<Auth, { kind: "oauth" }> {
  if (!result.ok || result.auth.kind !== "oauth") throw new Error(`no token: ${inspect(result)}`);
  return result.auth;
}

/** The code and sentence of a failure, which holds no secret anywhere. */
export function failureOf(
  result: AuthResult,
  server: AuthorizationServer,
): { code: string; message: string } {
  if (result.ok) throw new Error("no failure");
  expectClean(result.error, server);
  const { code, message } = result.error;
  return { code, message };
}

/** The `Fault` that work rejects with, which holds no secret anywhere. */
export async function faultOf(work: Promise<unknown>, server: AuthorizationServer): Promise<Fault> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expectClean(error, server);
  if (!Fault.is(error)) throw new Error("no refusal", { cause: error });
  return error;
}

/** Looks through messages, stacks, causes and fields, hidden ones too. */
export function expectClean(value: unknown, server: AuthorizationServer): void {
  const all = [
    inspect(value, { depth: 20, showHidden: true, getters: true, maxStringLength: null }),
    JSON.stringify(value) ?? "",
  ].join("\n");
  expect(all).not.toContain("canary");
  for (const secret of server.secrets) expect(all).not.toContain(secret);
}
