// A person signs a connection in, in a browser: OAuth 2.1 with PKCE, a client that registers itself, and a redirect to
// this computer. And out again.
//
//   State and issuer of the answer are checked, so that no other sign-in and no other server is taken for this one. The
//   verifier and the state live as long as the sign-in and are written nowhere.

import { Fault } from "@lichen/wire";
import type { AuthorizationServer } from "oauth4webapi";
import type { ConfigOf, ConnectionAuth, SecretOf } from "./connection-auth.ts";
import { findServer, type FoundServer, serverMetadata } from "./discovery.ts";
import { type OauthFetch, oauthFetch } from "./oauth-http.ts";
import { AuthProblem } from "./problem.ts";
import { exchangeCode, registerClient, revokeToken, type ServerClient } from "./token-endpoint.ts";
import type { Registration, TokenStore } from "./token-store.ts";

/** Where the browser comes back to. */
export interface Redirects {
  readonly uri: string;
  /** The first answer that is the awaited one. Rejects with the reason of the signal. */
  next(
    isAwaited: (parameters: URLSearchParams) => boolean,
    signal: AbortSignal,
  ): Promise<URLSearchParams>;
  close(): Promise<void>;
}

export interface SignInParts {
  readonly store: TokenStore;
  readonly configOf: ConfigOf;
  readonly secret: SecretOf;
  readonly fetch: OauthFetch;
  readonly now: () => number;
  readonly deadline: (ms: number) => AbortSignal;
  /** On a port, or any one for 0; undefined where the port is taken. */
  readonly listen: (port: number) => Promise<Redirects | undefined>;
}

export interface SignInOptions {
  /** Shows the address to a person, or opens it. Holds no secret. */
  readonly open: (url: string) => void | Promise<void>;
  /** What to ask for in place of the scopes of its auth. */
  readonly scopes?: readonly string[];
  /** For a client whose redirect is registered with a port. */
  readonly port?: number;
  /** How long a person may take; 300,000 ms. */
  readonly waitMs?: number;
  /** Registers a new client also where one did so before: its server may have forgotten that. */
  readonly isNewClient?: boolean;
  readonly signal?: AbortSignal;
}

export interface SignedIn {
  readonly issuer: string;
  readonly scopes?: readonly string[];
  /** In ms since the epoch; left out where the server did not say. */
  readonly expiresAt?: number;
  /** Whether it renews itself. */
  readonly isRenewable: boolean;
}

type OauthConfig = Extract<ConnectionAuth["auth"], { type: "oauth" }>;

const requestMs = 30_000;
const defaultWaitMs = 300_000;

/** Rejects with a `Fault` that says what to do, or with the reason of the signal. */
export async function signIn(
  id: string,
  parts: SignInParts,
  options: SignInOptions,
): Promise<SignedIn> {
  const connection = parts.configOf(id);
  if (!connection) throw unknown(id);
  const { auth, resource, name = id } = connection;
  if (auth.type !== "oauth")
    throw new Fault(
      "invalid",
      auth.type === "header"
        ? `${name} needs no signing in but the secret ${auth.secret}: put it into .secrets/.env of the agent's folder, or set the variable.`
        : `${name} needs no signing in: its auth is of the type ${auth.type}, and not oauth.`,
    );
  try {
    return await signInTo(id, { auth, resource }, parts, options);
  } catch (error) {
    options.signal?.throwIfAborted();
    if (error instanceof AuthProblem)
      throw new Fault(error.code, `Signing in to ${name} failed: ${error.message}`);
    throw error;
  }
}

async function signInTo(
  id: string,
  { auth, resource }: { readonly auth: OauthConfig; readonly resource: string | undefined },
  parts: SignInParts,
  options: SignInOptions,
): Promise<SignedIn> {
  const { open, waitMs = defaultWaitMs, signal } = options;
  const trusted = [resource, auth.issuer].flatMap((one) => URL.parse(one ?? "") ?? []);
  const guarded = (): OauthFetch =>
    oauthFetch(parts.fetch, trusted, either(parts.deadline(requestMs), signal));
  const secret =
    auth.clientSecret === undefined ? undefined : await parts.secret(auth.clientSecret);
  if (auth.clientSecret !== undefined && secret === undefined)
    throw new AuthProblem("invalid", `the secret ${auth.clientSecret} is not set.`);
  const found = await findServer({ issuer: auth.issuer, resource }, guarded());
  const { server, indicator } = found;
  const scopes = options.scopes ?? auth.scopes ?? scopesFor(found);
  const ask = { auth, server, scopes, fetch: guarded() };
  const { redirects, client } = await openClient(id, ask, parts, options);
  try {
    const oauth = await import("oauth4webapi");
    const [state, verifier] = [oauth.generateRandomState(), oauth.generateRandomCodeVerifier()];
    const url = authorizationUrl(server, {
      response_type: "code",
      client_id: client.clientId,
      redirect_uri: redirects.uri,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      ...(scopes && scopes.length > 0 && { scope: scopes.join(" ") }),
      ...(indicator !== undefined && { resource: indicator }),
    });
    // Whoever is faster than the person must not be missed.
    const patience = parts.deadline(waitMs);
    const answered = redirects.next(
      (parameters) => parameters.get("state") === state,
      either(patience, signal),
    );
    // What opens the page may take as long as it likes, but may not fail.
    const opening = (async () => open(url))();
    const parameters = await Promise.race([answered, opening.then(() => answered)]).catch(
      (error: unknown) => {
        signal?.throwIfAborted();
        if (!patience.aborted) throw error;
        throw new AuthProblem(
          "unavailable",
          "nobody came back from the browser in time. Try again.",
        );
      },
    );
    const at: ServerClient = {
      server,
      clientId: client.clientId,
      clientSecret: secret ?? client.clientSecret,
      authMethod: client.authMethod,
      indicator,
      fetch: guarded(),
      now: parts.now,
    };
    const redirect = { parameters, state, uri: redirects.uri, verifier };
    const tokens = await exchangeCode(at, redirect, scopes);
    const source = {
      type: "oauth",
      issuer: server.issuer,
      clientId: client.clientId,
      ...(resource !== undefined && { resource }),
      ...(indicator !== undefined && { indicator }),
    } as const;
    parts.store.put(id, { source, tokens }, client.registration);
    return {
      issuer: server.issuer,
      ...(tokens.scopes && { scopes: tokens.scopes }),
      ...(tokens.expiresAt !== undefined && { expiresAt: tokens.expiresAt }),
      isRenewable: tokens.refresh !== undefined,
    };
  } finally {
    await redirects.close();
  }
}

/** Forgets the sign-in here, then asks its server to do so too; says whether that did. Rejects with a `Fault`. */
export async function signOut(id: string, parts: SignInParts): Promise<{ isRevoked: boolean }> {
  const connection = parts.configOf(id);
  const login = parts.store.read(id);
  const registration = parts.store.registration(id);
  parts.store.clear(id);
  if (!login) return { isRevoked: false };
  const { source, tokens } = login;
  const auth = connection?.auth;
  try {
    const named = auth && "clientSecret" in auth && auth.clientSecret;
    const own = registration?.clientId === source.clientId ? registration : undefined;
    const issuer = new URL(source.issuer);
    const guarded = oauthFetch(parts.fetch, [issuer], parts.deadline(requestMs));
    const at: ServerClient = {
      server: await serverMetadata(source.issuer, guarded),
      clientId: source.clientId,
      clientSecret: (named ? await parts.secret(named) : undefined) ?? own?.clientSecret,
      authMethod: own?.authMethod,
      fetch: guarded,
      now: parts.now,
    };
    if (tokens.refresh !== undefined && !(await revokeToken(at, tokens.refresh)))
      return { isRevoked: false };
    return { isRevoked: await revokeToken(at, tokens.access) };
  } catch (error) {
    // It is gone here, which is what was asked for; the answer says that the server may still know it.
    if (error instanceof AuthProblem || Fault.is(error)) return { isRevoked: false };
    throw error;
  }
}

interface OwnClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly authMethod?: string;
  /** Kept once the sign-in has succeeded: what failed changes nothing. */
  readonly registration?: Registration;
}

/** A client for the redirect: the owner's, the one that registered itself before, or a new one. */
async function openClient(
  id: string,
  ask: {
    readonly auth: OauthConfig;
    readonly server: AuthorizationServer;
    readonly scopes: readonly string[] | undefined;
    readonly fetch: OauthFetch;
  },
  parts: SignInParts,
  { port, isNewClient }: SignInOptions,
): Promise<{ readonly redirects: Redirects; readonly client: OwnClient }> {
  const { auth, server, scopes, fetch } = ask;
  const isOurs = auth.clientId === undefined && isNewClient !== true;
  const stored = isOurs ? parts.store.registration(id) : undefined;
  const isGood =
    stored?.issuer === server.issuer && (stored.secretExpiresAt ?? Infinity) > parts.now();
  const before = isGood ? stored : undefined;
  const wantedPort = port ?? (before ? Number(new URL(before.redirectUri).port) : 0);
  const first = await parts.listen(wantedPort);
  if (!first && port !== undefined)
    throw new AuthProblem(
      "unavailable",
      `port ${port} of this computer is in use: name another one.`,
    );
  const redirects = first ?? (await parts.listen(0));
  if (!redirects) throw new AuthProblem("unavailable", "this computer has no free port.");
  try {
    if (auth.clientId !== undefined) return { redirects, client: { clientId: auth.clientId } };
    if (before?.redirectUri === redirects.uri)
      return { redirects, client: { ...before, registration: before } };
    const made = await registerClient(server, redirects.uri, scopes, fetch);
    const registration = { ...made, issuer: server.issuer, redirectUri: redirects.uri };
    return { redirects, client: { ...made, registration } };
  } catch (error) {
    await redirects.close();
    throw error;
  }
}

/** What the resource asks for; and that it may be renewed, where the server has a scope for that. */
function scopesFor({ server, scopes }: FoundServer): readonly string[] | undefined {
  const canStay = server.scopes_supported?.includes("offline_access");
  return canStay && scopes ? [...new Set([...scopes, "offline_access"])] : scopes;
}

function authorizationUrl(server: AuthorizationServer, parameters: Record<string, string>): string {
  const url = URL.parse(server.authorization_endpoint ?? "");
  if (!url)
    throw new AuthProblem("invalid", `${new URL(server.issuer).host} has no page to sign in on.`);
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  return url.href;
}

function either(one: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other ? AbortSignal.any([one, other]) : one;
}

function unknown(id: string): Fault {
  return new Fault("unknown_capability", `No connection is called ${id}: attach it first.`);
}
