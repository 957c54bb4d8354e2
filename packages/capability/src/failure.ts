// What an operation can fail with: a code for programs, a sentence for people and models. Never a secret.

/**
 * A call that failed, as the code that made it sees it. `code` is one word of lower case and underscores
 * (`unknown_operation`, `denied`, `invalid_input`, `auth_not_configured`, `http_404`, `tool_error`, …).
 */
export class OperationError extends Error {
  override readonly name = "OperationError";
  readonly code: string;

  constructor(code: string, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
