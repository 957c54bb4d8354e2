// Takes the secrets of a request out of what its server says: some servers repeat what they were sent.

import type { Auth } from "../../auth/resolver.ts";

/** Replaces every secret of `auth` in a text. */
export type Redact = (text: string) => string;

export function redactor(auth: Auth): Redact {
  const secrets = [
    ...new Set(
      secretsOf(auth).flatMap((it) => [
        it,
        JSON.stringify(it).slice(1, -1),
        encodeURIComponent(it),
      ]),
    ),
  ];
  // The longest first, so that none leaves a rest of another.
  secrets.sort((a, b) => b.length - a.length);
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), text);
}

/** The headers that carry it, by lower-case name. */
export function headersOf(auth: Auth): Readonly<Record<string, string>> {
  if (auth.kind === "none") return {};
  return auth.kind === "oauth" ? { authorization: `Bearer ${auth.token}` } : auth.headers;
}

/** Whole values and, where a scheme stands before one (`Bearer …`), what follows it. */
function secretsOf(auth: Auth): string[] {
  return Object.values(headersOf(auth))
    .flatMap((value) => [value, value.slice(value.indexOf(" ") + 1)])
    .map((secret) => secret.trim())
    .filter((secret) => secret.length >= 4);
}
