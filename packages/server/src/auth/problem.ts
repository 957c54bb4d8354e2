// What goes wrong with an authorization server, as a sentence. What servers and libraries say may hold tokens, codes and
// secrets: nothing of theirs is passed on but known error words, and no error keeps another as its cause.

import type { FaultCode } from "@lichen/wire";

export class AuthProblem extends Error {
  override readonly name = "AuthProblem";
  readonly code: FaultCode;
  /** The server will not take this refresh token again. */
  readonly isRefused: boolean;

  constructor(code: FaultCode, message: string, isRefused = false) {
    super(message);
    this.code = code;
    this.isRefused = isRefused;
  }
}

const knownErrors = new Set(
  `access_denied consent_required interaction_required invalid_client invalid_client_metadata invalid_grant
  invalid_redirect_uri invalid_request invalid_scope invalid_software_statement invalid_target login_required
  server_error slow_down temporarily_unavailable unapproved_software_statement unauthorized_client
  unsupported_grant_type unsupported_response_type`.split(/\s+/),
);

/** Any error of a request to the server called `host`. */
export function toProblem(error: unknown, host: string): AuthProblem {
  if (error instanceof AuthProblem) return error;
  if (!(error instanceof Error)) return unusable(host);
  const status = "status" in error && typeof error.status === "number" ? error.status : undefined;
  const word = "error" in error && typeof error.error === "string" ? error.error : undefined;
  if (word !== undefined) {
    const known = knownErrors.has(word);
    return new AuthProblem(
      status !== undefined && status >= 500 ? "unavailable" : "denied",
      `${host} refused (${known ? word : "with an error of its own"}).`,
      known && word === "invalid_grant",
    );
  }
  if (error.name === "WWWAuthenticateChallengeError")
    return new AuthProblem("denied", `${host} refused this client.`);
  if (error.name === "TimeoutError" || error.name === "AbortError")
    return new AuthProblem("unavailable", `${host} did not answer in time.`);
  return unusable(host);
}

function unusable(host: string): AuthProblem {
  return new AuthProblem("unavailable", `${host} gave an answer that cannot be used.`);
}
