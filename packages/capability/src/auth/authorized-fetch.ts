// A fetch that carries one connection's auth. It holds a resolver and no credential.
//
//   Auth is asked for at each request. A 401 renews it once, and the request is sent once more where its body can be.
//   Nothing goes to another origin: neither a request nor, through a redirect, what it carries.
//   No error holds what was sent as a credential.

import { OperationError } from "../failure.ts";
import { withRefreshRetry } from "./refresh-retry.ts";
import { unreachable, withAuth } from "./outgoing.ts";
import type { Auth, AuthResolver, ConnectionRef } from "./resolver.ts";

export interface AuthorizedFetchOptions {
  readonly resolver: AuthResolver;
  readonly ref: ConnectionRef;
  /** The only one that is talked to: `https://api.example.com`. Anything behind it is left out. */
  readonly origin: string;
  readonly fetch: (url: URL, init: RequestInit) => Promise<Response>;
}

export type AuthorizedFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

const maxRedirects = 5;

/**
 * Rejects with an `OperationError`: `other_origin`, `redirected`, `unreachable`, or the code of an `AuthFailure`; and
 * with the reason of an aborted signal. A redirect within the origin is followed for GET and HEAD; another one is
 * refused.
 */
export function authorizedFetch(options: AuthorizedFetchOptions): AuthorizedFetch {
  const { resolver, ref } = options;
  const { origin } = new URL(options.origin);
  return async (target, init = {}) => {
    const url = URL.parse(target);
    if (!url || url.origin !== origin)
      throw new OperationError(
        "other_origin",
        `${ref.id} talks to ${origin} only: nothing was sent anywhere else.`,
      );
    const signal = init.signal ?? new AbortController().signal;
    const again = canBeSentAgain(init.body);
    let refused: Response | undefined;
    const sent = await withRefreshRetry(
      resolver,
      ref,
      async (auth) => {
        // A body that is gone cannot be sent again; the renewed auth is there for the next request.
        if (refused && !again) return refused;
        await refused?.body?.cancel();
        const response = await follow(url, { ...init, signal }, auth, options);
        if (response.status === 401) refused = response;
        return response;
      },
      { signal, isExpired: (response) => response.status === 401 },
    );
    if (!sent.ok) throw new OperationError(sent.error.code, sent.error.message);
    return sent.value;
  };
}

async function follow(
  from: URL,
  init: RequestInit,
  auth: Auth,
  { fetch, ref }: AuthorizedFetchOptions,
): Promise<Response> {
  const request = {
    ...init,
    headers: withAuth(init.headers, auth, ref.id),
    redirect: "manual",
  } as const;
  const isSafe = /^(?:GET|HEAD)$/i.test(init.method ?? "GET");
  let url = from;
  for (let step = 0; ; step++) {
    const response = await fetched(url, request, fetch);
    const place = response.headers.get("location");
    const redirects = [301, 302, 303, 307, 308].includes(response.status) && place !== null;
    if (!redirects && response.status !== 0) return response;
    await response.body?.cancel();
    const next = URL.parse(place ?? "", url);
    const refuse = (why: string): OperationError =>
      new OperationError("redirected", `${url.host} redirects ${why}. It was not followed.`);
    if (place === null || !next) throw refuse("to an address that cannot be read");
    if (next.origin !== url.origin) throw refuse("to another origin");
    if (!isSafe) throw refuse(`a ${init.method} to another path`);
    if (step === maxRedirects) throw refuse(`more than ${maxRedirects} times`);
    url = next;
  }
}

async function fetched(
  url: URL,
  init: RequestInit,
  fetch: AuthorizedFetchOptions["fetch"],
): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    init.signal?.throwIfAborted();
    throw unreachable(url.host, error);
  }
}

/** A stream is read once; everything else can be read again. */
function canBeSentAgain(body: RequestInit["body"]): boolean {
  return (
    body === undefined ||
    body === null ||
    typeof body === "string" ||
    body instanceof URLSearchParams ||
    body instanceof ArrayBuffer ||
    ArrayBuffer.isView(body) ||
    body instanceof Blob ||
    body instanceof FormData
  );
}
