// One call with auth that may turn out to be expired: refreshed once, sent once more, and never a third time.
//
//   A call that is answered as expired did not run: that is what a 401 means (RFC 9110, 15.5.2), and the only case in
//   which a write is sent twice. A server that answers so after it did the work breaks the protocol; nobody could tell.

import { RefreshFailedError, TokenExpiredError } from "./failures.ts";
import type { Auth, AuthFailure, AuthResolver, ConnectionRef } from "./resolver.ts";

export interface RefreshRetryOptions<T> {
  readonly signal: AbortSignal;
  /** Whether an answer says that the auth has expired, such as a 401. A `TokenExpiredError` thrown by `send` says so too. */
  readonly isExpired?: (value: T) => boolean;
}

export type RefreshRetryResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: AuthFailure };

type Sent<T> =
  | { readonly isExpired: boolean; readonly value: T }
  | { readonly isExpired: true; readonly error: AuthFailure };

/**
 * Resolves, sends, and where that is answered as expired refreshes once and sends once more. The second answer stands,
 * expired or not; a refresh that fails is `refresh_failed`. Whatever else `send` throws is thrown on. Nothing is kept.
 */
export async function withRefreshRetry<T>(
  resolver: AuthResolver,
  ref: ConnectionRef,
  send: (auth: Auth) => Promise<T>,
  { signal, isExpired = () => false }: RefreshRetryOptions<T>,
): Promise<RefreshRetryResult<T>> {
  const attempt = async (auth: Auth): Promise<Sent<T>> => {
    try {
      const value = await send(auth);
      return { isExpired: isExpired(value), value };
    } catch (error) {
      if (!isTokenExpired(error)) throw error;
      return { isExpired: true, error: new TokenExpiredError(ref, error.message) };
    }
  };
  const resolved = await resolver.resolve(ref, signal);
  if (!resolved.ok) return resolved;
  const { auth } = resolved;
  const first = await attempt(auth);
  if (!first.isExpired || auth.kind !== "oauth" || !resolver.refresh) return resultOf(first);
  signal.throwIfAborted();
  const renewed = await resolver.refresh(ref, auth.version, signal);
  if (!renewed.ok) return { ok: false, error: new RefreshFailedError(ref, renewed.error.message) };
  return resultOf(await attempt(renewed.auth));
}

function resultOf<T>(sent: Sent<T>): RefreshRetryResult<T> {
  return "error" in sent ? { ok: false, error: sent.error } : { ok: true, value: sent.value };
}

/** By its code, which holds across bundles and realms. */
function isTokenExpired(error: unknown): error is Error {
  return error instanceof Error && "code" in error && error.code === "token_expired";
}
