// Grants: a host's decisions about capability keys, read at every call. This file says what they look like and mean.

/** What a key allows; `write` includes `read`. */
export type Grant = "none" | "read" | "write";
export type Grants = Readonly<Record<string, Grant>>;

/** All that decides about a session's calls, as it stands now. */
export interface Access {
  /** The agent's own, where it has any. */
  readonly defaults?: Grants;
  /** Those delivered to this session; they come before the defaults, key by key. */
  readonly delivered?: Grants;
  /** Keys that fail closed: without a grant they are refused. */
  readonly required?: readonly string[];
  /** Every key is required. */
  readonly strict?: boolean;
}
