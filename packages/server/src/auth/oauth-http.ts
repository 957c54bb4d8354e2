// Requests to authorization servers: only where they may go, no further than a bound, and never on to another place.
//
//   Only https, or http to this computer itself. What a server elsewhere names never leads into this computer or a
//   private network. Redirects are not followed; of answers, JSON is read, to 256 KiB.

import { AuthProblem } from "./problem.ts";

export type OauthFetch = (url: string, init: RequestInit) => Promise<Response>;

const mostBytes = 262_144;

/** The fetch for one piece of work, which ends with `signal`. `trusted` are the addresses that the owner named. */
export function oauthFetch(
  fetch: OauthFetch,
  trusted: readonly URL[],
  signal: AbortSignal,
): OauthFetch {
  return async (target, init) => {
    const url = allowedByOne(target, trusted);
    let response: Response;
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      response = await fetch(url.href, { ...init, redirect: "manual", signal });
      bytes = await readCapped(response, url.host);
    } catch (error) {
      if (error instanceof AuthProblem) throw error;
      throw new AuthProblem(
        "unavailable",
        signal.aborted
          ? `${url.host} did not answer in time.`
          : `${url.host} cannot be reached${codeOf(error)}.`,
      );
    }
    if (response.status === 0 || (response.status >= 300 && response.status < 400))
      throw new AuthProblem(
        "unavailable",
        `${url.host} answers with a redirect, which is not followed: name the server's real address.`,
      );
    const { status, headers } = response;
    return new Response(status === 204 || status === 205 ? null : bytes, { status, headers });
  };
}

function allowedByOne(target: string, trusted: readonly URL[]): URL {
  let problem: unknown;
  for (const one of trusted)
    try {
      return allowedUrl(target, one);
    } catch (error) {
      problem = error;
    }
  throw problem ?? new AuthProblem("invalid", "It is not known where to sign in.");
}

/** An address that may be asked, named by a server at `trusted` or by the owner. Throws an `AuthProblem`. */
export function allowedUrl(target: string | undefined, trusted: URL): URL {
  const url = URL.parse(target ?? "");
  if (!url || url.username !== "" || url.password !== "")
    throw new AuthProblem("invalid", `${trusted.host} names an address that cannot be used.`);
  const isSecure = url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url));
  if (!isSecure)
    throw new AuthProblem(
      "invalid",
      `${url.host || "An address"} is not reached over https, so no credential is sent there: use its https address.`,
    );
  if (url.host !== trusted.host && isInward(url) && !isInward(trusted))
    throw new AuthProblem(
      "denied",
      `${trusted.host} names an address within a private network, which is not asked.`,
    );
  if (isLoopback(url) && !isLoopback(trusted))
    throw new AuthProblem(
      "denied",
      `${trusted.host} names an address of this computer, which is not asked.`,
    );
  return url;
}

/** This computer, by its own addresses: names other than `localhost` may be anybody's. */
export function isLoopback({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

/** Addresses as `URL` writes them, so in their one canonical form. */
function isInward(url: URL): boolean {
  const { hostname } = url;
  if (isLoopback(url)) return true;
  // Names without a dot are those of a network's own.
  if (/^[^.[]+\.?$|\.(?:localhost|local|internal|lan|home\.arpa)\.?$/.test(hostname)) return true;
  // IPv4 written as IPv6, or carried in it, says nothing that IPv4 does not; what is no address of one place, neither.
  if (/^\[(?:::|64:ff9b:|2002:|f[cdef])/.test(hostname)) return true;
  return /^(?:0|10|169\.254|192\.168|192\.0\.0|198\.1[89]|172\.(?:1[6-9]|2\d|3[01])|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])|2[2-5]\d)\.[\d.]+$/.test(
    hostname,
  );
}

async function readCapped(response: Response, host: string): Promise<Uint8Array<ArrayBuffer>> {
  if (!/^application\/(?:[\w.-]+\+)?json\b/i.test(response.headers.get("content-type") ?? "")) {
    // It may never end.
    await response.body?.cancel();
    return new Uint8Array();
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > mostBytes)
      throw new AuthProblem("unavailable", `${host} answers with more than ${mostBytes} bytes.`);
    chunks.push(chunk);
  }
  const all = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

function codeOf(error: unknown): string {
  const found = [error, error instanceof Error ? error.cause : undefined]
    .map((one) => (one instanceof Error && "code" in one ? one.code : undefined))
    .find((code) => typeof code === "string" && /^[A-Z][A-Z0-9_]{1,40}$/.test(code));
  return typeof found === "string" ? ` (${found})` : "";
}
