// Ramps for code that does not resolve auth per call yet. Both are temporary: what moves over ends with a resolver that
// asks its source of truth at every call.

import { AuthNotConfiguredError } from "./failures.ts";
import type { AuthResolver } from "./resolver.ts";

/** Adds nothing to any call: for what needs no auth, until it has a resolver. */
export const noResolveAuth: AuthResolver = {
  resolve: () => Promise.resolve({ ok: true, auth: { kind: "none" } }),
};

/** A bearer token, headers by name, or nothing. */
export type LegacyAuth = string | Readonly<Record<string, string>> | undefined;

/**
 * Auth as it was captured at setup, or better a function that still knows where to look, asked at every call. It can
 * renew nothing: a token that was handed over as text stays what it was.
 */
export function fromLegacyAuth(
  legacy: LegacyAuth | ((id: string) => LegacyAuth | Promise<LegacyAuth>),
): AuthResolver {
  return {
    async resolve(ref) {
      const found = typeof legacy === "function" ? await legacy(ref.id) : legacy;
      if (found === undefined || found === "")
        return { ok: false, error: new AuthNotConfiguredError(ref) };
      const headers =
        typeof found === "string"
          ? { authorization: `Bearer ${found}` }
          : Object.fromEntries(
              Object.entries(found).map(([name, value]) => [name.toLowerCase(), value]),
            );
      return { ok: true, auth: { kind: "header", headers } };
    },
  };
}
