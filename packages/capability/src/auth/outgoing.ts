// What every request with auth has in common: the headers that carry it, and what is said where it cannot be sent.

import { OperationError } from "../failure.ts";
import { type Auth, authHeaders } from "./resolver.ts";

/** The auth's headers come last: nothing stands in their place. The request's cookies of other names go behind the auth's. */
export function withAuth(given: RequestInit["headers"], auth: Auth, id: string): Headers {
  const headers = new Headers(given);
  for (const [name, value] of Object.entries(authHeaders(auth)))
    try {
      headers.set(name, name === "cookie" ? withCookies(value, headers.get(name) ?? "") : value);
    } catch {
      // The error would hold the value.
      throw new OperationError(
        "auth_not_configured",
        `The credential of ${id} cannot be sent: it has characters that a header cannot hold. Set it anew.`,
      );
    }
  return headers;
}

function withCookies(own: string, given: string): string {
  const cookies = (text: string) => text.split(";").map((cookie) => cookie.trim());
  const nameOf = (cookie: string) => cookie.split("=", 1)[0]?.trim();
  const taken = new Set(cookies(own).map(nameOf));
  const others = cookies(given).filter((cookie) => cookie !== "" && !taken.has(nameOf(cookie)));
  return [own, ...others].join("; ");
}

/** What a fetch says may hold the headers: only the system's code is passed on. */
export function unreachable(host: string, error: unknown): OperationError {
  return new OperationError("unreachable", `${host} cannot be reached${codeOf(error)}.`);
}

function codeOf(error: unknown): string {
  const found = [error, error instanceof Error ? error.cause : undefined]
    .map((one) => (one instanceof Error && "code" in one ? one.code : undefined))
    .find((code) => typeof code === "string" && /^[A-Z][A-Z0-9_]{1,40}$/.test(code));
  return typeof found === "string" ? ` (${found})` : "";
}
