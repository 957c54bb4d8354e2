// The auth of one agent's connections on Node: `credentials.db`, secrets, the resolver, and signing in and out.

import { randomBytes } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { type AuthState, authState } from "../auth-state.ts";
import { createAuthResolver, type StoredAuthResolver } from "../auth-resolver.ts";
import type { ConfigOf, SecretOf } from "../connection-auth.ts";
import type { OauthFetch } from "../oauth-http.ts";
import { signIn, type SignedIn, type SignInOptions, signOut } from "../sign-in.ts";
import { openCredentials } from "./credentials-db.ts";
import { listenForRedirect } from "./redirect-listener.ts";
import { createSecrets, type Environment } from "./secrets.ts";

export interface OpenAuthOptions {
  /** Of `credentials.db`: in the state directory, which no tool of the agent reads. Any process of this user may open it. */
  readonly path: string;
  readonly agentId: string;
  /** The agent's, for `.secrets/.env`. */
  readonly folder?: string | undefined;
  /** The host's variables, where secrets are looked for first. */
  readonly env: Environment;
  /** Asked at each call. */
  readonly configOf: ConfigOf;
  readonly fetch?: OauthFetch;
  readonly now?: () => number;
  /** How long the renewal of a process that died keeps others waiting; 30,000 ms. A renewal has two thirds of it. */
  readonly leaseMs?: number;
}

export interface OpenAuth {
  readonly resolver: StoredAuthResolver;
  /** A secret by its name; rejects with a `Fault` where its file must not be read. */
  readonly secret: SecretOf;
  signIn(id: string, options: SignInOptions): Promise<SignedIn>;
  signOut(id: string): Promise<{ isRevoked: boolean }>;
  state(id: string): Promise<AuthState | undefined>;
  /** Lets renewals end, which are bounded, and closes the file. */
  close(): Promise<void>;
}

/** Rejects with a `Fault` where the file cannot be opened. */
export async function openAuth(options: OpenAuthOptions): Promise<OpenAuth> {
  const { path, agentId, configOf, env, folder } = options;
  const { now = Date.now, fetch = globalThis.fetch } = options;
  const credentials = await openCredentials(path);
  const store = credentials.of(agentId);
  const secret = createSecrets({ env, folder });
  const parts = {
    store,
    configOf,
    secret,
    fetch,
    now,
    deadline: (ms: number) => AbortSignal.timeout(ms),
    listen: listenForRedirect,
  };
  const resolver = createAuthResolver({
    ...parts,
    wait: (ms) => wait(ms),
    randomId: (length) => randomBytes(length).toString("hex").slice(0, length),
    leaseMs: options.leaseMs,
  });
  let closing: Promise<void> | undefined;
  return {
    resolver,
    secret,
    signIn: (id, signing) => signIn(id, parts, signing),
    signOut: (id) => signOut(id, parts),
    state: (id) => authState(id, parts),
    close() {
      closing ??= resolver.close().finally(() => credentials.close());
      return closing;
    },
  };
}
