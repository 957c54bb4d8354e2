// What is asked of an authorization server: a client of our own, tokens for a code, a refresh token or a client's
// secret, and to forget them. Every failure is an `AuthProblem`.

import type { AuthorizationServer, Client, ClientAuth, TokenEndpointResponse } from "oauth4webapi";
import { isLoopback, type OauthFetch } from "./oauth-http.ts";
import { AuthProblem, toProblem } from "./problem.ts";
import type { Tokens } from "./token-store.ts";

type Oauth = typeof import("oauth4webapi");

/** One client at one server. */
export interface ServerClient {
  readonly server: AuthorizationServer;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** As the server named it when the client registered; chosen from its metadata otherwise. */
  readonly authMethod?: string | undefined;
  readonly indicator?: string | undefined;
  readonly fetch: OauthFetch;
  readonly now: () => number;
}

/** Tokens for the code of a redirect. Checks its state and its issuer first. */
export function exchangeCode(
  at: ServerClient,
  redirect: {
    readonly parameters: URLSearchParams;
    readonly state: string;
    readonly uri: string;
    readonly verifier: string;
  },
  asked: readonly string[] | undefined,
): Promise<Tokens> {
  return asking(at, async (oauth, client, auth, options) => {
    const { parameters, state, uri, verifier } = redirect;
    const checked = oauth.validateAuthResponse(at.server, client, parameters, state);
    const response = await oauth.authorizationCodeGrantRequest(
      at.server,
      client,
      auth,
      checked,
      uri,
      verifier,
      { ...options, additionalParameters: indicatorOf(at) },
    );
    const answer = await oauth.processAuthorizationCodeResponse(at.server, client, response);
    return tokensOf(at, answer, { asked });
  });
}

/** New tokens for a refresh token. Asks for what was granted and takes no more than that. */
export function refreshTokens(at: ServerClient, before: Tokens, refresh: string): Promise<Tokens> {
  return asking(at, async (oauth, client, auth, options) => {
    const scope = before.scopes?.join(" ");
    const response = await oauth.refreshTokenGrantRequest(at.server, client, auth, refresh, {
      ...options,
      additionalParameters: { ...indicatorOf(at), ...(scope && { scope }) },
    });
    const answer = await oauth.processRefreshTokenResponse(at.server, client, response);
    return tokensOf(at, answer, { before: { ...before, refresh } });
  });
}

/** Tokens for the client itself. */
export function clientTokens(
  at: ServerClient,
  scopes: readonly string[] | undefined,
): Promise<Tokens> {
  return asking(at, async (oauth, client, auth, options) => {
    const scope = scopes?.join(" ");
    const response = await oauth.clientCredentialsGrantRequest(
      at.server,
      client,
      auth,
      { ...indicatorOf(at), ...(scope && { scope }) },
      options,
    );
    const answer = await oauth.processClientCredentialsResponse(at.server, client, response);
    const { refresh: _, ...tokens } = tokensOf(at, answer, { asked: scopes });
    return tokens;
  });
}

/** Asks the server to forget a token; false where it has no such door. */
export function revokeToken(at: ServerClient, token: string): Promise<boolean> {
  if (at.server.revocation_endpoint === undefined) return Promise.resolve(false);
  return asking(at, async (oauth, client, auth, options) => {
    await oauth.processRevocationResponse(
      await oauth.revocationRequest(at.server, client, auth, token, options),
    );
    return true;
  });
}

export interface NewClient {
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly secretExpiresAt?: number;
  readonly authMethod: string;
}

/** Registers a client (RFC 7591). */
export async function registerClient(
  server: AuthorizationServer,
  redirectUri: string,
  scopes: readonly string[] | undefined,
  fetch: OauthFetch,
): Promise<NewClient> {
  const { host } = new URL(server.issuer);
  if (server.registration_endpoint === undefined)
    throw new AuthProblem(
      "invalid",
      `${host} registers no clients by itself: register one there and name it as auth.clientId.`,
    );
  try {
    const oauth = await import("oauth4webapi");
    const supported = server.token_endpoint_auth_methods_supported ?? ["none"];
    const method = ["none", "client_secret_basic", "client_secret_post"].find((one) =>
      supported.includes(one),
    );
    const response = await oauth.dynamicClientRegistrationRequest(
      server,
      {
        client_name: "Lichen",
        application_type: "native",
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: method ?? "none",
        ...(scopes && scopes.length > 0 && { scope: scopes.join(" ") }),
      },
      { [oauth.customFetch]: fetch, [oauth.allowInsecureRequests]: isLocal(server) },
    );
    // Some answer with 200, which means the same, or leave out that a secret never ends.
    const created = new Response(endless(await response.text()), {
      status: response.status === 200 ? 201 : response.status,
      headers: response.headers,
    });
    const made = await oauth.processDynamicClientRegistrationResponse(created);
    const { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method } = made;
    return {
      clientId: client_id,
      ...(typeof client_secret === "string" &&
        client_secret !== "" && { clientSecret: client_secret }),
      ...(typeof client_secret_expires_at === "number" &&
        client_secret_expires_at > 0 && { secretExpiresAt: client_secret_expires_at * 1_000 }),
      authMethod:
        typeof token_endpoint_auth_method === "string"
          ? token_endpoint_auth_method
          : client_secret
            ? "client_secret_basic"
            : "none",
    };
  } catch (error) {
    throw toProblem(error, host);
  }
}

/** A registration whose secret has an end, `0` for never, where it says none. */
function endless(registration: string): string {
  try {
    const told: unknown = JSON.parse(registration);
    if (typeof told !== "object" || told === null || !("client_secret" in told))
      return registration;
    return JSON.stringify({ client_secret_expires_at: 0, ...told });
  } catch {
    // It is refused with its reader's words.
    return registration;
  }
}

async function asking<T>(
  at: ServerClient,
  work: (
    oauth: Oauth,
    client: Client,
    auth: ClientAuth,
    options: Record<symbol, unknown>,
  ) => Promise<T>,
): Promise<T> {
  const { host } = new URL(at.server.issuer);
  try {
    const oauth = await import("oauth4webapi");
    const options = {
      [oauth.customFetch]: at.fetch,
      [oauth.allowInsecureRequests]: isLocal(at.server),
    };
    return await work(oauth, { client_id: at.clientId }, clientAuth(oauth, at), options);
  } catch (error) {
    throw toProblem(error, host);
  }
}

/** The fetch refuses what may not be asked; this only lets it see http to this computer. */
function isLocal(server: AuthorizationServer): boolean {
  return isLoopback(new URL(server.issuer));
}

function clientAuth(oauth: Oauth, { server, clientSecret, authMethod }: ServerClient): ClientAuth {
  if (clientSecret === undefined || authMethod === "none") return oauth.None();
  const supported = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  const posts =
    authMethod === "client_secret_post" ||
    (authMethod === undefined &&
      !supported.includes("client_secret_basic") &&
      supported.includes("client_secret_post"));
  return posts ? oauth.ClientSecretPost(clientSecret) : basic(clientSecret);
}

/** As forms are written: a server that compares before it decodes still knows a name with a `-` in it. */
function basic(clientSecret: string): ClientAuth {
  const written = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1);
  return (_server, { client_id: clientId }, _body, headers) => {
    const pair = `${written(clientId)}:${written(clientSecret)}`;
    headers.set("authorization", `Basic ${btoa(pair)}`);
  };
}

function indicatorOf({ indicator }: ServerClient): Record<string, string> {
  return indicator === undefined ? {} : { resource: indicator };
}

function tokensOf(
  { server, now }: ServerClient,
  answer: TokenEndpointResponse,
  { asked, before }: { asked?: readonly string[] | undefined; before?: Tokens },
): Tokens {
  const { host } = new URL(server.issuer);
  const { access_token: access, refresh_token, expires_in, scope } = answer;
  if (answer.token_type !== "bearer")
    throw new AuthProblem("unavailable", `${host} gives tokens that are no bearer tokens.`);
  if (!/^[\x21-\x7e]{1,65536}$/.test(access))
    throw new AuthProblem("unavailable", `${host} gives a token that no header can hold.`);
  const told = scope?.split(" ").filter(Boolean);
  const granted = before?.scopes;
  // A renewal never widens what a person agreed to.
  const scopes = before
    ? granted && told
      ? granted.filter((one) => told.includes(one))
      : granted
    : (told ?? asked);
  const refresh = refresh_token ?? before?.refresh;
  return {
    access,
    ...(refresh !== undefined && { refresh }),
    ...(expires_in !== undefined && {
      expiresAt: now() + Math.min(Math.floor(expires_in), 315_360_000) * 1_000,
    }),
    ...(scopes && { scopes }),
  };
}
