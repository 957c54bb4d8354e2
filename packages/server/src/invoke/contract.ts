// The small contract of an agent: one method that runs one prompt and streams what happens.
//
// What every implementation keeps (`testing/agent.contract.ts` is this list as a suite):
//   exactly one terminal event (`completed` or `failed`), and it is the last, unless the caller left: then none;
//   whatever goes wrong is a `failed` event, never a throw;
//   `return()` on the iterator stops the work promptly, and the stream is silent from then on;
//   event types may be added, terminal types may not: a consumer passes over what it does not know.

import type { AgentEvent } from "@lichen/wire";

export type { AgentEvent };

export interface Agent {
  invoke(scope: Scope, prompt: Prompt): AsyncIterable<AgentEvent>;
}

export interface Scope {
  /** The caller's name for one conversation: equal strings mean the same one. */
  session: string;
}

export interface Prompt {
  text: string;
  images?: ImageRef[];
}

export interface ImageRef {
  mimeType: string;
  /** Base64. */
  data: string;
}

/** Codes of a `failed` event that come from the contract itself; a refusal carries the code of its fault. */
export const sessionBusyCode = "session_busy";
export const abortedCode = "aborted";
export const interruptedCode = "interrupted";
