// Reads a stream of agent events to its end, for callers that want the answer and not the way to it.

import type { AgentEvent, Json } from "@lichen/wire";

export interface CollectResult {
  text: string;
  data?: Json;
}

/** A turn that ended in `failed`. */
export class AgentFailure extends Error {
  override readonly name = "AgentFailure";
  readonly details: string;
  readonly retryable: boolean;
  readonly code?: string;

  constructor(failure: { details: string; retryable: boolean; code?: string | undefined }) {
    super(failure.details);
    this.details = failure.details;
    this.retryable = failure.retryable;
    if (failure.code !== undefined) this.code = failure.code;
  }
}

/** The answer text and the data of `completed`. Throws `AgentFailure` on `failed`, an Error when no terminal comes. */
export async function collect(events: AsyncIterable<AgentEvent>): Promise<CollectResult> {
  let text = "";
  for await (const event of events) {
    // A newer agent may send types this version does not know; they are passed over.
    if (event.type === "text") text += event.delta;
    else if (event.type === "completed")
      return event.data === undefined ? { text } : { text, data: event.data };
    else if (event.type === "failed") throw new AgentFailure(event);
  }
  throw new Error("The agent's stream ended without a completed or failed event.");
}
