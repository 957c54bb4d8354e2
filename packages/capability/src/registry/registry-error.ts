// What the registry refuses, with a code for programs and a sentence for people.

export type RegistryErrorCode =
  /** There is no such capability, or it was released. */
  | "unknown_capability"
  /** No factory for the kind. */
  | "unknown_kind"
  /** The lifecycle has no such move. */
  | "invalid_move"
  | "invalid"
  /** The id is in use, or was used by another request. */
  | "conflict"
  /** More than one row at once, and no transaction to hold them together. */
  | "no_transaction"
  /** The connector could not be made or its operations not be listed; `cause` says more. */
  | "attach_failed"
  | "closed";

export class RegistryError extends Error {
  override readonly name = "RegistryError";
  readonly code: RegistryErrorCode;

  constructor(code: RegistryErrorCode, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
  }

  /** True across bundles, where `instanceof` is not. */
  static is(value: unknown): value is RegistryError {
    return value instanceof Error && value.name === "RegistryError" && "code" in value;
  }
}
