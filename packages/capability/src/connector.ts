// The connector contract: what stands between the registry and a capability of any kind.
//
// A connector holds a resolver and never a credential: it asks for auth at every outbound call. It keeps nothing that a
// restart would have to bring back; what it is made from is its row.

import type { AuthResult } from "./auth/resolver.ts";
import type { JsonObject } from "./json.ts";
import type { Operation } from "./operation.ts";

export interface Connector {
  /** Of the capability's row; what auth is resolved for. */
  readonly id: string;
  /** `mcp`, `openapi`, `files`, `skills`, `ui`, or a host's own. */
  readonly kind: string;
  /** What it would like to be called in code; the registry decides. */
  readonly namespace: string;
  /** One line for the model: what it lends. */
  readonly description?: string;
  /** What it lends now. Rejects with an `OperationError` where its server cannot be reached or refuses. */
  operations(signal: AbortSignal): Promise<readonly Operation[]>;
  /**
   * Runs one operation; settles with JSON or, for what has no value, undefined. Rejects with an `OperationError`, also
   * for an input that does not fit. Ends soon after `context.signal` aborts.
   */
  call(operation: string, input: JsonObject, context: CallContext): Promise<unknown>;
  /** Tells when `operations` would answer something else; returns the way to stop listening. */
  onChanged?(listener: () => void): () => void;
  close?(): Promise<void>;
}

export interface CallContext {
  readonly signal: AbortSignal;
  /** Asks for the auth of this capability, now. Never kept by who asks. */
  resolve(): Promise<AuthResult>;
  /** Hands an image out of the program: the model sees it, the code gets a note in its place. Throws an `OperationError` past the bounds. */
  image(image: Image): ImageNote;
  /** Shows how far the call is; never stored. */
  progress(text: string): void;
  /** Shows data to a person beside the call; never reaches the model. */
  display(data: JsonObject): void;
  /** Asks a person, durably. Missing where nobody can be asked. */
  readonly ask?: (questions: readonly JsonObject[], description?: string) => Promise<JsonObject>;
}

export interface Image {
  /** `image/png`, `image/jpeg`, `image/gif` or `image/webp`. */
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** What code holds in place of an image. */
export type ImageNote = {
  readonly image: number;
  readonly mediaType: string;
  readonly bytes: number;
};
