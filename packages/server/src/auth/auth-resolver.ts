// The resolver of one agent's connections: headers from secrets, tokens from the store. It keeps neither.
//
//   Each call reads the secret or the store. A token that is about to expire is renewed first, once for all who ask, and
//   an old one goes on being used as long as it is good. Tokens go nowhere but to the address they were given for.

import {
  type AuthFailure,
  AuthNotConfiguredError,
  type AuthResolver,
  type AuthResult,
  ConnectionNotFoundError,
  type ConnectionRef,
  RefreshFailedError,
  TokenExpiredError,
} from "@lichen/capability";
import { Fault } from "@lichen/wire";
import { type ConfigOf, type ConnectionAuth, isFor, type SecretOf } from "./connection-auth.ts";
import { serverMetadata } from "./discovery.ts";
import { type OauthFetch, oauthFetch } from "./oauth-http.ts";
import { AuthProblem } from "./problem.ts";
import { type RenewalOptions, type Renewed, Renewals } from "./renewal.ts";
import { clientTokens, refreshTokens } from "./token-endpoint.ts";
import type { Login, StoredLogin } from "./token-store.ts";

export interface AuthResolverOptions extends RenewalOptions {
  readonly configOf: ConfigOf;
  readonly secret: SecretOf;
  readonly fetch: OauthFetch;
}

export interface StoredAuthResolver extends Required<AuthResolver> {
  /** Waits for no other process any more, and settles when no renewal is under way here. */
  close(): Promise<void>;
}

/** A token is renewed this long before it expires. */
const earlyMs = 10_000;

export function createAuthResolver(options: AuthResolverOptions): StoredAuthResolver {
  return new ConnectionResolver(options);
}

class ConnectionResolver implements StoredAuthResolver {
  readonly #options: AuthResolverOptions;
  readonly #renewals: Renewals;

  constructor(options: AuthResolverOptions) {
    this.#options = options;
    this.#renewals = new Renewals(options);
  }

  resolve(ref: ConnectionRef, signal: AbortSignal): Promise<AuthResult> {
    return this.#answering(ref, signal, async (connection, name) => {
      const { auth } = connection;
      if (auth.type === "none") return { ok: true, auth: { kind: "none" } };
      if (auth.type === "header") return headerAuth(name, auth, this.#options.secret);
      const stored = this.#options.store.read(ref.id);
      const login = stored && isFor(stored.source, connection) ? stored : undefined;
      if (!login && auth.type === "oauth") return notConfigured(name, signInFirst(name, stored));
      const { expiresAt = Infinity } = login?.tokens ?? { expiresAt: 0 };
      const now = this.#options.now();
      if (login && expiresAt - earlyMs > now) return tokenAuth(login);
      const renewed = await this.#renew(ref, connection, stored, signal);
      // The one of before is kept, and used until it ends.
      if (renewed.problem !== undefined && login && expiresAt > now) return tokenAuth(login);
      return this.#resultOf(name, connection, renewed);
    });
  }

  refresh(ref: ConnectionRef, version: string, signal: AbortSignal): Promise<AuthResult> {
    return this.#answering(ref, signal, async (connection, name) => {
      const { auth } = connection;
      if (auth.type === "none" || auth.type === "header") return this.resolve(ref, signal);
      const stored = this.#options.store.read(ref.id);
      const login = stored && isFor(stored.source, connection) ? stored : undefined;
      // Somebody was faster.
      if (!login || String(login.version) !== version) return this.resolve(ref, signal);
      return this.#resultOf(name, connection, await this.#renew(ref, connection, stored, signal));
    });
  }

  close(): Promise<void> {
    return this.#renewals.close();
  }

  async #answering(
    ref: ConnectionRef,
    signal: AbortSignal,
    answer: (connection: ConnectionAuth, name: string) => Promise<AuthResult>,
  ): Promise<AuthResult> {
    signal.throwIfAborted();
    const connection = this.#options.configOf(ref.id);
    if (!connection) return failed(new ConnectionNotFoundError(ref));
    const name = connection.name ?? ref.id;
    try {
      return await answer(connection, name);
    } catch (error) {
      // Of the store or of a secret's place; these say what to do and hold no secret.
      if (Fault.is(error)) return notConfigured(name, error.message);
      throw error;
    }
  }

  async #renew(
    { id }: ConnectionRef,
    connection: ConnectionAuth,
    stored: StoredLogin | undefined,
    signal: AbortSignal,
  ): Promise<Renewed | { readonly problem: "" }> {
    const { auth, name = id } = connection;
    const secretName = "clientSecret" in auth ? auth.clientSecret : undefined;
    if (secretName !== undefined && !(await this.#options.secret(secretName)))
      throw new Fault("invalid", unset(name, secretName));
    if (auth.type === "oauth") {
      if (stored?.tokens.refresh === undefined) return { problem: "" };
      if (stored.isRefused) return { problem: "its server takes it no longer." };
    }
    return this.#renewals.renew(
      id,
      stored?.version,
      (before, ending) => this.#bring(id, connection, before, ending),
      signal,
    );
  }

  async #bring(
    id: string,
    { auth, resource }: ConnectionAuth,
    before: StoredLogin | undefined,
    signal: AbortSignal,
  ): Promise<Login> {
    const { fetch, now, secret, store } = this.#options;
    if (auth.type === "client_credentials") {
      const clientSecret = await secret(auth.clientSecret);
      const guarded = oauthFetch(fetch, [new URL(auth.issuer)], signal);
      const server = await serverMetadata(auth.issuer, guarded);
      const { clientId, scopes } = auth;
      const at = { server, clientId, clientSecret, fetch: guarded, now };
      return {
        source: {
          type: auth.type,
          issuer: auth.issuer,
          clientId,
          ...(resource !== undefined && { resource }),
        },
        tokens: await clientTokens(at, scopes),
      };
    }
    const refresh = before?.tokens.refresh;
    if (auth.type !== "oauth" || !before || refresh === undefined)
      throw new AuthProblem("denied", "it was signed out.");
    const { source, tokens } = before;
    const registration = store.registration(id);
    const own = registration?.clientId === source.clientId ? registration : undefined;
    const named = auth.clientSecret === undefined ? undefined : await secret(auth.clientSecret);
    const guarded = oauthFetch(fetch, [new URL(source.issuer)], signal);
    const at = {
      server: await serverMetadata(source.issuer, guarded),
      clientId: source.clientId,
      clientSecret: named ?? own?.clientSecret,
      authMethod: own?.authMethod,
      indicator: source.indicator,
      fetch: guarded,
      now,
    };
    return { source, tokens: await refreshTokens(at, tokens, refresh) };
  }

  #resultOf(
    name: string,
    connection: ConnectionAuth,
    renewed: Renewed | { readonly problem: "" },
  ): AuthResult {
    if (renewed.problem === undefined)
      return isFor(renewed.login.source, connection)
        ? tokenAuth(renewed.login)
        : notConfigured(name, signInFirst(name, renewed.login));
    const ref = { id: name };
    const again =
      connection.auth.type === "oauth"
        ? `sign in again: lichen capability auth ${name}`
        : "check its client and the secret of it.";
    if (renewed.problem === "")
      return failed(
        new TokenExpiredError(
          ref,
          `The sign-in of ${name} has expired, and nothing renews it: ${again}`,
        ),
      );
    return failed(
      new RefreshFailedError(
        ref,
        `The sign-in of ${name} could not be renewed: ${renewed.problem} If it stays so, ${again}`,
      ),
    );
  }
}

async function headerAuth(
  name: string,
  auth: Extract<ConnectionAuth["auth"], { type: "header" }>,
  secret: SecretOf,
): Promise<AuthResult> {
  const value = await secret(auth.secret);
  if (value === undefined || value === "") return notConfigured(name, unset(name, auth.secret));
  const header = (auth.header ?? "authorization").toLowerCase();
  const format = auth.format ?? (header === "authorization" ? "Bearer {}" : "{}");
  const text = format.replace("{}", () => value);
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(header) || ofTheConnection.has(header))
    return notConfigured(
      name,
      `${name} wants its secret in a header that cannot be set: name another one.`,
    );
  if (!/^[\x20-\x7e]*$/.test(text))
    return notConfigured(
      name,
      `The secret ${auth.secret} has characters that a header cannot hold: set it anew.`,
    );
  const isBare = text.slice(text.indexOf(" ") + 1) === value;
  const secrets = isBare ? {} : { secrets: [value] };
  return { ok: true, auth: { kind: "header", headers: { [header]: text }, ...secrets } };
}

const ofTheConnection = new Set(["connection", "content-length", "host", "transfer-encoding"]);

function tokenAuth({ tokens, version }: StoredLogin): AuthResult {
  return { ok: true, auth: { kind: "oauth", token: tokens.access, version: String(version) } };
}

function signInFirst(name: string, stored: StoredLogin | undefined): string {
  return stored
    ? `${name} was signed in for another address, server or client than it has now: sign in again: lichen capability auth ${name}`
    : `${name} is not signed in: lichen capability auth ${name}`;
}

function unset(name: string, secret: string): string {
  return `${name} needs the secret ${secret}, which is not set: put it into .secrets/.env of the agent's folder, or set the variable.`;
}

function notConfigured(name: string, message: string): AuthResult {
  return failed(new AuthNotConfiguredError({ id: name }, message));
}

function failed(error: AuthFailure): AuthResult {
  return { ok: false, error };
}
