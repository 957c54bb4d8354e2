// What of an auth is secret: the values of its headers and, where a scheme stands before one (`Bearer …`), what follows.

import { type Auth, authHeaders } from "../auth/resolver.ts";

export function secretsOf(auth: Auth): string[] {
  const named = auth.kind === "header" ? (auth.secrets ?? []) : [];
  const found = Object.values(authHeaders(auth)).flatMap((value) => {
    const bare = value.slice(value.indexOf(" ") + 1).trim();
    const decoded = /^basic /i.test(value) ? decodedOf(bare) : [];
    return [value, bare, ...decoded];
  });
  return [...found, ...named];
}

/** The password of `Basic`, and what stands before it with it. */
function decodedOf(base64: string): string[] {
  try {
    const pair = atob(base64);
    return [pair, pair.slice(pair.indexOf(":") + 1)];
  } catch {
    return [];
  }
}
