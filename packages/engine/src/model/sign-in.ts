// Signing in to providers: by which ways, and what is at hand already.

import type { AuthCheck, Provider } from "@earendil-works/pi-ai";
import { Fault } from "@lichen/wire";

/** With an account at the provider, or with a key that it gave. */
export type LoginWay = "account" | "key";

export interface ListedProvider {
  readonly id: string;
  readonly name: string;
  /** The ways to sign in, the account first; none where only variables and files of its own count. */
  readonly ways: readonly LoginWay[];
  /** Variables that may hold its key. */
  readonly variables: readonly string[];
  /** What is at hand. What is stored counts before any variable. */
  readonly found?: {
    readonly way: LoginWay;
    readonly isStored: boolean;
    /** Where it comes from, such as the name of a variable; never the secret. */
    readonly source?: string;
  };
}

export function waysOf(provider: Provider | undefined): LoginWay[] {
  return [
    ...(provider?.auth.oauth ? (["account"] as const) : []),
    ...(provider?.auth.apiKey?.login ? (["key"] as const) : []),
  ];
}

/** The way to take, and the library's word for it. Faults with `invalid` where the provider has none such. */
export function chosenWay(
  provider: Provider | undefined,
  { way, id, variables }: { way: LoginWay | undefined; id: string; variables: readonly string[] },
): "oauth" | "api_key" {
  const ways = waysOf(provider);
  const chosen = way ?? ways[0];
  if (chosen !== undefined && ways.includes(chosen))
    return chosen === "account" ? "oauth" : "api_key";
  if (ways.length > 0 && chosen === "account")
    throw new Fault("invalid", `${id} has no login with an account: sign in with a key.`);
  if (ways.length > 0) throw new Fault("invalid", `${id} takes no key: sign in with an account.`);
  const places = variables.length > 0 ? variables.join(", ") : "models.json";
  throw new Fault("invalid", `${id} takes its key from ${places}.`);
}

/** What was found for a provider, in the words of a list. */
export function foundOf(auth: AuthCheck, isStored: boolean): NonNullable<ListedProvider["found"]> {
  return {
    way: auth.type === "oauth" ? "account" : "key",
    isStored,
    ...(auth.source === undefined ? {} : { source: auth.source }),
  };
}
