// What tests send.

import type { Command } from "@lichen/wire";

/** A transparent picture of one pixel. */
export const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

export function prompt(
  requestId: string,
  text: string = `text of ${requestId}`,
): Extract<Command, { type: "prompt" }> {
  return { type: "prompt", requestId, text };
}
