// What a connection's auth is made from, and whether what is stored was given for it.

import type { AuthConfig } from "@lichen/capability";
import type { LoginSource } from "./token-store.ts";

export interface ConnectionAuth {
  readonly auth: AuthConfig;
  /** Where its calls go: an MCP server's URL, a service's base URL. Tokens are good for this address only. */
  readonly resource?: string | undefined;
  /** What people call it; the id where it is left out. */
  readonly name?: string | undefined;
}

/** The auth of a connection by its id, as it is now. */
export type ConfigOf = (id: string) => ConnectionAuth | undefined;

/** A secret by its name, as it is now. Throws a `Fault` where its place must not be read. */
export type SecretOf = (name: string) => Promise<string | undefined>;

/** Whether tokens from `source` are those that the connection asks for: another address or server never gets them. */
export function isFor(source: LoginSource, { auth, resource }: ConnectionAuth): boolean {
  if (auth.type !== source.type) return false;
  if (auth.issuer !== undefined && !isSame(auth.issuer, source.issuer)) return false;
  if (auth.clientId !== undefined && auth.clientId !== source.clientId) return false;
  return isSame(resource, source.resource);
}

function isSame(a: string | undefined, b: string | undefined): boolean {
  if (a === b) return true;
  const [one, other] = [URL.parse(a ?? ""), URL.parse(b ?? "")];
  return one !== null && other !== null && one.href === other.href;
}
