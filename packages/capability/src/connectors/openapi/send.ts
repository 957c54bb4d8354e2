// Sends a request with auth that is asked for now: refreshed once when the server refuses it, and then tried once more.
//
// Nothing is sent without the auth that the owner named, and nothing to another origin: a redirect is followed on the
// same origin, five times at most, and only for a request that changes nothing.

import { unreachable, withAuth } from "../../auth/outgoing.ts";
import type { Auth, AuthResolver, AuthResult } from "../../auth/resolver.ts";
import { OperationError } from "../../failure.ts";
import { Redactor } from "../../secrets/redactor.ts";
import { secretsOf } from "../../secrets/secrets-of.ts";
import type { ApiRequest } from "./request.ts";

export type AuthKind = "header" | "oauth" | "none";
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

export interface Sender {
  readonly connectionId: string;
  readonly authKind: AuthKind;
  /** Asked at each request. */
  resolve(): Promise<AuthResult>;
  readonly refresh?: NonNullable<AuthResolver["refresh"]>;
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly response: Response;
  /** Where it came from, after redirects. */
  readonly url: URL;
  readonly redact: Redactor;
}

const maxRedirects = 5;

/** Rejects with an `OperationError`: of auth, `unreachable`, `redirected`, `aborted`. */
export async function send(request: ApiRequest, sender: Sender): Promise<Answer> {
  const auth = await authOf(sender, () => sender.resolve());
  const answer = await follow(request, auth, sender);
  if (answer.response.status !== 401 || auth.kind !== "oauth" || !sender.refresh) return answer;
  await answer.response.body?.cancel();
  const { connectionId, signal, refresh } = sender;
  const renewed = await authOf(sender, () => refresh({ id: connectionId }, auth.version, signal));
  return follow(request, renewed, sender);
}

async function authOf(
  { authKind, connectionId, signal }: Sender,
  ask: () => Promise<AuthResult>,
): Promise<Auth> {
  if (authKind === "none") return { kind: "none" };
  const result = await unlessAborted(ask(), signal);
  if (!result.ok) throw new OperationError(result.error.code, result.error.message);
  if (result.auth.kind !== authKind)
    throw new OperationError(
      "auth_not_configured",
      `${connectionId} needs auth of the kind ${authKind} and was given ${result.auth.kind}. Nothing was sent.`,
    );
  return result.auth;
}

async function follow(request: ApiRequest, auth: Auth, sender: Sender): Promise<Answer> {
  const redact = new Redactor(secretsOf(auth));
  const headers = withAuth(request.headers, auth, sender.connectionId);
  const isSafe = request.method === "GET" || request.method === "HEAD";
  let { url } = request;
  for (let step = 0; ; step++) {
    throwIfAborted(sender.signal);
    const response = await fetched(url, { ...request, headers }, sender);
    const place = response.headers.get("location");
    if (response.status === 0)
      throw new OperationError("redirected", `${url.host} answers with a redirect.`);
    if (![301, 302, 303, 307, 308].includes(response.status) || place === null)
      return { response, url, redact };
    await response.body?.cancel();
    const next = URL.parse(place, url.href);
    if (!next || next.origin !== url.origin)
      throw new OperationError(
        "redirected",
        `${url.host} sends the call on to ${next ? redact.text(next.origin) : "an address that is none"}, which is another origin. It was not followed.`,
      );
    if (!isSafe)
      throw new OperationError(
        "redirected",
        `${url.host} sends the call on to another path, which is followed for GET only. Check the capability's baseUrl.`,
      );
    if (step === maxRedirects)
      throw new OperationError(
        "redirected",
        `${url.host} redirects more than ${maxRedirects} times.`,
      );
    url = next;
  }
}

async function fetched(
  url: URL,
  { method, headers, body }: ApiRequest,
  { fetch, signal }: Sender,
): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      headers,
      redirect: "manual",
      signal,
      ...(body !== undefined && { body }),
    });
  } catch (error) {
    throwIfAborted(signal);
    throw unreachable(url.host, error);
  }
}

export function throwIfAborted(signal: AbortSignal): void {
  if (!signal.aborted) return;
  if (signal.reason instanceof OperationError) throw signal.reason;
  const isLate = signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
  throw isLate
    ? new OperationError("timeout", "The server did not answer in time.")
    : new OperationError("aborted", "The call was stopped.");
}

/** Settles with `work`, or rejects as soon as the signal aborts. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  throwIfAborted(signal);
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(new Error("aborted"));
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } catch (error) {
    throwIfAborted(signal);
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
