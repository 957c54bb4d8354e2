// How a connection stands, for people: whether its auth is there, and until when. Never a token or a secret.

import { type ConfigOf, isFor, type SecretOf } from "./connection-auth.ts";
import type { TokenStore } from "./token-store.ts";

export interface AuthState {
  readonly type: "none" | "header" | "oauth" | "client_credentials";
  /**
   * `none` needs nothing, `ready` is at hand, `missing` was never set up or not for what it is now, `expired` needs a
   * person to sign in again.
   */
  readonly state: "none" | "ready" | "missing" | "expired";
  readonly issuer?: string;
  /** What was granted. */
  readonly scopes?: readonly string[];
  /** In ms since the epoch. */
  readonly expiresAt?: number;
  /** Whether it renews itself. */
  readonly isRenewable?: boolean;
}

export interface AuthStateParts {
  readonly store: TokenStore;
  readonly configOf: ConfigOf;
  readonly secret: SecretOf;
  readonly now: () => number;
}

/** Undefined where no connection has this id. Rejects with a `Fault` where the store or a secret cannot be read. */
export async function authState(id: string, parts: AuthStateParts): Promise<AuthState | undefined> {
  const connection = parts.configOf(id);
  if (!connection) return undefined;
  const { auth } = connection;
  const { type } = auth;
  if (type === "none") return { type, state: "none" };
  if (type === "header") return { type, state: await stateOfSecret(auth.secret, parts.secret) };
  const stored = parts.store.read(id);
  const login = stored && isFor(stored.source, connection) ? stored : undefined;
  if (type === "client_credentials") {
    const state = await stateOfSecret(auth.clientSecret, parts.secret);
    return { type, state, isRenewable: true, ...(login && told(login.tokens, auth.issuer)) };
  }
  if (!login) return { type, state: "missing" };
  const { refresh, expiresAt = Infinity } = login.tokens;
  const isRenewable = refresh !== undefined && !login.isRefused;
  return {
    type,
    state: isRenewable || expiresAt > parts.now() ? "ready" : "expired",
    isRenewable,
    ...told(login.tokens, login.source.issuer),
  };
}

async function stateOfSecret(name: string, secret: SecretOf): Promise<"ready" | "missing"> {
  return (await secret(name)) ? "ready" : "missing";
}

function told(
  { scopes, expiresAt }: { readonly scopes?: readonly string[]; readonly expiresAt?: number },
  issuer: string,
): Pick<AuthState, "issuer" | "scopes" | "expiresAt"> {
  return { issuer, ...(scopes && { scopes }), ...(expiresAt !== undefined && { expiresAt }) };
}
