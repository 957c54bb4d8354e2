export type { AuthState } from "../auth-state.ts";
export type { ConfigOf, ConnectionAuth, SecretOf } from "../connection-auth.ts";
export type { SignedIn, SignInOptions } from "../sign-in.ts";
export { type OpenAuth, openAuth, type OpenAuthOptions } from "./open-auth.ts";
export { createSecrets, type SecretsOptions } from "./secrets.ts";
