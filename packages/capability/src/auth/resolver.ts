// Per-call auth: asked for at every outbound call, from the source of truth, and kept by nobody downstream.

/** What auth is asked for: a capability, by the id of its row. */
export interface ConnectionRef {
  readonly id: string;
}

export type Auth =
  /** Nothing to add. */
  | { readonly kind: "none" }
  /**
   * Headers to set on the request, by lower-case name. `secrets`: what stands in their values, where it is neither a whole
   * one nor what follows a scheme (`Bearer …`): nothing of it comes back from a server.
   */
  | {
      readonly kind: "header";
      readonly headers: Readonly<Record<string, string>>;
      readonly secrets?: readonly string[];
    }
  /** A bearer token that can be refreshed: sent as `authorization`. `version` changes with every refresh. */
  | { readonly kind: "oauth"; readonly token: string; readonly version: string };

export type AuthResult =
  | { readonly ok: true; readonly auth: Auth }
  | { readonly ok: false; readonly error: AuthFailure };

export interface AuthFailure {
  readonly code:
    | "connection_not_found"
    | "auth_not_configured"
    | "token_expired"
    | "refresh_failed";
  /** What happened and what to do next. Holds no secret. */
  readonly message: string;
}

/** Where credentials come from. Asked at each call; answers are values, and only an aborted signal rejects. */
export interface AuthResolver {
  resolve(ref: ConnectionRef, signal: AbortSignal): Promise<AuthResult>;
  /**
   * The server refused what `resolve` answered (`version` of it): renews it, once for all who ask at the same time.
   * Left out where nothing can be renewed.
   */
  refresh?(ref: ConnectionRef, version: string, signal: AbortSignal): Promise<AuthResult>;
}

/** The ref of a capability. Throws where the id is empty: nothing can be found under it. */
export function connectionRef(id: string): ConnectionRef {
  if (id === "") throw new TypeError("A connection's id must not be empty.");
  return { id };
}

/** The headers that carry an auth, by lower-case name. */
export function authHeaders(auth: Auth): Readonly<Record<string, string>> {
  if (auth.kind === "none") return {};
  return auth.kind === "oauth" ? { authorization: `Bearer ${auth.token}` } : auth.headers;
}
