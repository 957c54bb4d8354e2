// Which authorization server a connection has, and what that says of itself.
//
//   Who owns the agent names the server, or the resource does, under its own origin (RFC 9728). A server's metadata
//   (RFC 8414, OpenID) counts only where it gives the very issuer it was asked for.

import type { AuthorizationServer } from "oauth4webapi";
import { allowedUrl, type OauthFetch } from "./oauth-http.ts";
import { AuthProblem, toProblem } from "./problem.ts";

export interface FoundServer {
  readonly server: AuthorizationServer;
  /** What the resource calls itself: sent along, so that tokens are good for it only. */
  readonly indicator?: string;
  /** What the resource asks for. */
  readonly scopes?: readonly string[];
}

export interface Whereabouts {
  /** As its owner names it. */
  readonly issuer?: string | undefined;
  readonly resource?: string | undefined;
}

/** Throws an `AuthProblem`. */
export async function findServer(
  { issuer, resource }: Whereabouts,
  fetch: OauthFetch,
): Promise<FoundServer> {
  const address = resource === undefined ? undefined : URL.parse(resource);
  if (address) address.hash = "";
  const told = address ? await resourceMetadata(address, fetch) : undefined;
  const hint = {
    ...(told?.indicator !== undefined && { indicator: told.indicator }),
    ...(told?.scopes !== undefined && { scopes: told.scopes }),
  };
  if (issuer !== undefined) return { server: await serverMetadata(issuer, fetch), ...hint };
  if (!address)
    throw new AuthProblem(
      "invalid",
      "It is not known where to sign in: name the authorization server as auth.issuer.",
    );
  const named = told ? told.servers[0] : address.origin;
  if (named === undefined)
    throw new AuthProblem(
      "invalid",
      `${address.host} names no authorization server: name one as auth.issuer.`,
    );
  const server = await serverMetadata(allowedUrl(named, address).href, fetch, named);
  if (!server.code_challenge_methods_supported?.includes("S256"))
    throw new AuthProblem(
      "invalid",
      `${new URL(server.issuer).host} does not say that it supports PKCE, which keeps a sign-in from being stolen. If you trust it, name it as auth.issuer.`,
    );
  return { server, ...hint };
}

/** The metadata of an issuer. `asNamed`: what it is to call itself, to the letter. Throws an `AuthProblem`. */
export async function serverMetadata(
  issuer: string,
  fetch: OauthFetch,
  asNamed = issuer,
): Promise<AuthorizationServer> {
  const url = URL.parse(issuer);
  if (!url || url.search !== "" || url.hash !== "")
    throw new AuthProblem("invalid", "The issuer of its auth is no address of a server.");
  allowedUrl(url.href, url);
  const { processDiscoveryResponse } = await import("oauth4webapi");
  const path = url.pathname.replace(/\/$/, "");
  const places = [
    `/.well-known/oauth-authorization-server${path}`,
    `/.well-known/openid-configuration${path}`,
    ...(path === "" ? [] : [`${path}/.well-known/openid-configuration`]),
  ];
  for (const place of places) {
    const response = await fetch(new URL(place, url.origin).href, accepting);
    if (response.status !== 200) {
      if (response.status >= 500)
        throw new AuthProblem("unavailable", `${url.host} fails (${response.status}): try later.`);
      continue;
    }
    let server: AuthorizationServer;
    try {
      server = await processDiscoveryResponse(new URL(asNamed), response);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === mismatch)
        throw new AuthProblem(
          "denied",
          `${url.host} says that it is another server than the one that was asked for: nothing is sent to it.`,
        );
      throw toProblem(error, url.host);
    }
    // Every endpoint that is used later is looked at now.
    for (const endpoint of [
      server.authorization_endpoint,
      server.token_endpoint,
      server.registration_endpoint,
      server.revocation_endpoint,
    ])
      if (endpoint !== undefined) allowedUrl(endpoint, url);
    return server;
  }
  throw new AuthProblem(
    "invalid",
    `${url.host} tells of no way to sign in: name the authorization server as auth.issuer.`,
  );
}

const accepting = { headers: { accept: "application/json" } };
const mismatch = "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED";

interface ResourceSays {
  readonly indicator: string;
  readonly servers: readonly string[];
  readonly scopes?: readonly string[];
}

/** What the resource says of itself; undefined where it says nothing. */
async function resourceMetadata(
  resource: URL,
  fetch: OauthFetch,
): Promise<ResourceSays | undefined> {
  const path = resource.pathname === "/" ? "" : resource.pathname;
  const challenge = await challengeOf(resource, fetch);
  const places = [
    ...(challenge.place === undefined ? [] : [challenge.place]),
    `/.well-known/oauth-protected-resource${path}${resource.search}`,
    ...(path === "" ? [] : ["/.well-known/oauth-protected-resource"]),
  ];
  for (const place of places) {
    const url = new URL(place, resource.origin);
    // Another origin cannot speak for this one.
    if (url.origin !== resource.origin) continue;
    const response = await fetch(url.href, accepting);
    if (response.status !== 200) continue;
    const said = readObject(await response.text());
    const { resource: name, authorization_servers: servers } = said;
    if (typeof name !== "string" || !covers(name, resource))
      throw new AuthProblem(
        "denied",
        `${resource.host} gives the metadata of another resource: nothing is sent.`,
      );
    const scopes = challenge.scopes ?? texts(said["scopes_supported"]);
    return { indicator: name, servers: texts(servers) ?? [], ...(scopes && { scopes }) };
  }
  return undefined;
}

/** What the resource answers to who brings nothing. An MCP server may only take what is posted, and is asked so then. */
async function challengeOf(
  resource: URL,
  fetch: OauthFetch,
): Promise<{ readonly place?: string; readonly scopes?: readonly string[] }> {
  const headers = { accept: "application/json, text/event-stream" };
  const ask = (init: RequestInit): Promise<Response | undefined> =>
    fetch(resource.href, init).catch((error: unknown) => {
      // It may be a stream, or an address that only takes requests of another kind: it need not say anything here.
      if (error instanceof AuthProblem && error.code === "unavailable") return undefined;
      throw error;
    });
  const got = await ask({ headers });
  const response = [400, 404, 405, 406].includes(got?.status ?? 0)
    ? await ask({
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      })
    : got;
  const challenge = response?.status === 401 ? response.headers.get("www-authenticate") : null;
  const value = (name: string): string | undefined =>
    challenge?.match(new RegExp(`(?:^|[\\s,])${name}="([^"\\\\]{1,2000})"`, "i"))?.[1];
  const place = value("resource_metadata");
  const scope = value("scope");
  return {
    ...(place !== undefined && URL.canParse(place) && { place }),
    ...(scope !== undefined && { scopes: scope.split(" ").filter(Boolean) }),
  };
}

/** Whether a resource of this name has the address in it: same origin, and the path or one above it. */
function covers(name: string, address: URL): boolean {
  const url = URL.parse(name);
  if (!url || url.origin !== address.origin || url.hash !== "") return false;
  const below = url.pathname.endsWith("/") ? url.pathname : `${url.pathname}/`;
  return `${address.pathname}/`.startsWith(below);
}

function readObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function texts(value: unknown): string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter((one): one is string => typeof one === "string" && one !== "");
}
