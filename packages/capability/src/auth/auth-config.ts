// How a capability authenticates, as its row says it: names of secrets, never a secret.

export type AuthConfig =
  | { readonly type: "none" }
  /**
   * A header whose value holds a secret, at the place of `{}`: `Authorization` with `Bearer {}` where nothing else is
   * named, another header with `{}`.
   */
  | {
      readonly type: "header";
      readonly header?: string;
      readonly format?: string;
      /** Its name among the variables of the host or in `.secrets/.env`. */
      readonly secret: string;
    }
  /** OAuth 2.1: a person signs in once (PKCE; a client is registered by itself where none is named). */
  | {
      readonly type: "oauth";
      /** The authorization server; found from the resource where left out. */
      readonly issuer?: string;
      readonly scopes?: readonly string[];
      readonly clientId?: string;
      /** Name of the secret that holds the client's. */
      readonly clientSecret?: string;
    }
  | {
      readonly type: "client_credentials";
      readonly issuer: string;
      readonly scopes?: readonly string[];
      readonly clientId: string;
      /** Name of the secret that holds the client's. */
      readonly clientSecret: string;
    };
