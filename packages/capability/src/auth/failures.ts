// Why there is no auth, as values: made by resolvers, read by connectors. None of them holds a secret.

import type { AuthFailure, ConnectionRef } from "./resolver.ts";

/** No capability has this id. */
export class ConnectionNotFoundError extends Error implements AuthFailure {
  override readonly name = "ConnectionNotFoundError";
  readonly code = "connection_not_found";

  constructor(ref: ConnectionRef, message?: string) {
    super(message ?? `No connection is called ${ref.id}: attach it first, or correct its name.`);
  }
}

/** The capability needs a credential and has none that can be used. */
export class AuthNotConfiguredError extends Error implements AuthFailure {
  override readonly name = "AuthNotConfiguredError";
  readonly code = "auth_not_configured";

  constructor(ref: ConnectionRef, message?: string) {
    super(message ?? `${ref.id} has no credential yet: sign in, or set its secret.`);
  }
}

/** The credential has expired and nothing renews it. A `send` of `withRefreshRetry` may throw it too. */
export class TokenExpiredError extends Error implements AuthFailure {
  override readonly name = "TokenExpiredError";
  readonly code = "token_expired";

  constructor(ref: ConnectionRef, message?: string) {
    super(message ?? `The sign-in of ${ref.id} has expired: sign in again.`);
  }
}

/** The credential could not be renewed; the one from before is kept. */
export class RefreshFailedError extends Error implements AuthFailure {
  override readonly name = "RefreshFailedError";
  readonly code = "refresh_failed";

  constructor(ref: ConnectionRef, message?: string) {
    super(message ?? `The sign-in of ${ref.id} could not be renewed: try again, or sign in again.`);
  }
}
