// What is kept of sign-ins, and who renews one: a port of one agent's rows, which other processes write too.
//
//   A version is never used twice for one connection, also across signing out and in again.
//   Who renews holds a lease: an owner, an end, and a fencing number that rises whenever the lease changes hands. What a
//   holder writes counts only while the lease is still under its number.

/** Times in ms since the epoch. */
export interface Tokens {
  readonly access: string;
  readonly refresh?: string;
  /** Left out where the server did not say. */
  readonly expiresAt?: number;
  /** Granted ones; left out where neither asked for nor told. */
  readonly scopes?: readonly string[];
}

/** Who gave the tokens, to whom, and for what. They are used for nothing else. */
export interface LoginSource {
  readonly type: "oauth" | "client_credentials";
  readonly issuer: string;
  readonly clientId: string;
  /** The address of the connection at that time. */
  readonly resource?: string;
  /** What the server was told that the tokens are for. */
  readonly indicator?: string;
}

export interface Login {
  readonly source: LoginSource;
  readonly tokens: Tokens;
}

export interface StoredLogin extends Login {
  readonly version: number;
  /** The server said that this refresh token is no longer good. */
  readonly isRefused: boolean;
}

export interface Lease {
  readonly id: string;
  readonly owner: string;
  readonly fence: number;
}

export interface LeaseState {
  readonly fence: number;
  readonly isHeld: boolean;
  /** How the renewal under this number failed. */
  readonly failure?: string;
}

/** A client that registered itself with a server. */
export interface Registration {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly secretExpiresAt?: number;
  readonly authMethod: string;
  readonly redirectUri: string;
}

/** Throws a `Fault` where the store cannot be read or written. */
export interface TokenStore {
  read(id: string): StoredLogin | undefined;
  /**
   * A sign-in, with the client that registered itself for it: stands in place of what was there, and of what a running
   * renewal would write.
   */
  put(id: string, login: Login, registration?: Registration): StoredLogin;
  /** A sign-out: forgets the tokens and the registration; a running renewal writes nothing. */
  clear(id: string): void;
  /** The lease for `ms`, or who holds it. */
  lease(id: string, owner: string, now: number, ms: number): Lease | LeaseState;
  leaseState(id: string, now: number): LeaseState;
  /** Stores what a renewal brought and gives the lease back; undefined where the lease is another's by now. */
  renewed(lease: Lease, login: Login): StoredLogin | undefined;
  /** Gives the lease back and keeps the tokens; `isRefused`: their refresh token will never be good again. */
  release(lease: Lease, failure?: { readonly message: string; readonly isRefused: boolean }): void;
  registration(id: string): Registration | undefined;
}
