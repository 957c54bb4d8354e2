// Refusals: the closed list of codes, their HTTP statuses, and the one class that carries them.
//
// Source: docs "Codes and statuses" of the wire (SPEC W1). Adding a code is a wire change.

/** Every refusal a caller can act on, with the HTTP status it travels under. */
export const faultStatus = {
  invalid: 400,
  unauthenticated: 401,
  denied: 403,
  unknown_agent: 404,
  unknown_session: 404,
  unknown_command: 404,
  unknown_approval: 404,
  unknown_entry: 404,
  unknown_capability: 404,
  unknown_route: 404,
  conflict: 409,
  withdrawn: 409,
  closed: 409,
  busy: 409,
  stale: 409,
  diverged: 409,
  too_large: 413,
  unsupported_media: 415,
  capacity: 429,
  unreadable: 500,
  internal: 500,
  unavailable: 503,
} as const;

export type FaultCode = keyof typeof faultStatus;

/** A refusal with a code a program can branch on and a sentence a person can act on. */
export class Fault extends Error {
  override readonly name = "Fault";
  readonly code: FaultCode;
  readonly retryable: boolean;

  constructor(
    code: FaultCode,
    message: string,
    options: ErrorOptions & { retryable?: boolean } = {},
  ) {
    super(message, options);
    this.code = code;
    this.retryable = options.retryable ?? (code === "unavailable" || code === "capacity");
  }

  /** True across bundles and realms, where `instanceof` is not. */
  static is(value: unknown): value is Fault {
    return value instanceof Error && value.name === "Fault" && "code" in value;
  }
}

/** The body of a refusal on the wire: `{"error":{code,message,retryable}}`. */
export function faultBody(fault: Fault): {
  error: { code: FaultCode; message: string; retryable: boolean };
} {
  return { error: { code: fault.code, message: fault.message, retryable: fault.retryable } };
}
