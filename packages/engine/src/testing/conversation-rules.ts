// What real providers refuse in a conversation, so that a test cannot pass on one they would not take.
//
//   - A call without its result, and a result without its call. Where a message with calls must be followed at once by
//     their results, anything in between counts as missing.
//   - No messages at all, and empty text blocks.
//   - On request, two neighbours of the user's role: some OpenAI-compatible servers insist on alternation.

import type { ReceivedMessage, ReceivedRequest } from "./received-request.ts";

/** What is wrong with the request's conversation; undefined where a provider would take it. */
export function objectionTo(request: ReceivedRequest, mustAlternate: boolean): string | undefined {
  const { messages, wire } = request;
  const spoken = messages.filter(({ role }) => role !== "system" && role !== "developer");
  if (spoken.length === 0) return "The conversation has no message.";
  const open = new Set<string>();
  let before: ReceivedMessage | undefined;
  for (const [at, message] of spoken.entries()) {
    if (message.hasEmptyText && wire === "anthropic")
      return `Message ${at} has an empty text block.`;
    for (const { id } of message.results)
      if (!open.delete(id))
        return `Message ${at} has a result for ${id}, which no call before it has.`;
    const isInTime = wire === "responses" || message.results.length > 0 || open.size === 0;
    const isSplit = wire === "anthropic" && message.results.length > 0 && open.size > 0;
    if (!isInTime || isSplit)
      return `The calls ${[...open].join(", ")} have no result right after them; message ${at} stands there.`;
    if (mustAlternate && message.role === "user" && before?.role === "user")
      return `Messages ${at - 1} and ${at} are both the user's; roles must alternate.`;
    for (const { id } of message.calls) open.add(id);
    before = message;
  }
  if (open.size > 0) return `The calls ${[...open].join(", ")} have no result.`;
  return undefined;
}
