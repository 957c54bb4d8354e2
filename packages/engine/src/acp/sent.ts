// What is known of the prompts of a run that an earlier process began: written before each was sent, and when it ended.

import type { Json, JsonObject } from "@lichen/wire";
import * as z from "zod";

const method = "session/prompt";

const Sent = z.object({
  method: z.literal(method),
  params: z.object({ messages: z.array(z.string()) }),
});
const Ended = z.object({ result: z.object({ stopReason: z.string() }) });
const Refused = z.object({ id: z.union([z.string(), z.number()]), error: z.looseObject({}) });

/** The line that stands in the log before these messages are sent; `model` answers, where the agent tells that. */
export function sending(
  sessionId: string,
  messages: readonly string[],
  model: string | undefined,
): JsonObject {
  const told = model === undefined ? {} : { model };
  return { method, params: { sessionId, messages: [...messages], ...told } };
}

export interface History {
  /** Messages that were sent. */
  readonly sent: ReadonlySet<string>;
  /** The messages of a prompt that was, or may have been, sent and has no end in the log. */
  readonly inDoubt: readonly string[];
  /** How the last prompt ended. */
  readonly lastReason?: string;
}

export function historyOf(lines: readonly Json[]): History {
  const sent = new Set<string>();
  let inDoubt: readonly string[] = [];
  let lastReason: string | undefined;
  for (const line of lines) {
    const prompt = Sent.safeParse(line);
    if (prompt.success) {
      inDoubt = prompt.data.params.messages;
      lastReason = undefined;
      for (const message of inDoubt) sent.add(message);
      continue;
    }
    const ended = Ended.safeParse(line);
    if (!ended.success && !(inDoubt.length > 0 && Refused.safeParse(line).success)) continue;
    lastReason = ended.data?.result.stopReason ?? "refused";
    inDoubt = [];
  }
  return { sent, inDoubt, ...(lastReason === undefined ? {} : { lastReason }) };
}
