// What an agent asked a person when its host died: as long as no answer of ours is in the log, none was sent, and what it
// asked for was not done.

import type { Draft, TranscriptEntry } from "@lichen/runtime";
import type { Json } from "@lichen/wire";
import * as z from "zod";

const Named = z.object({ _meta: z.object({ prompt: z.string() }) });
const Asked = Named.extend({
  method: z.string(),
  params: z.object({ toolCall: z.object({ toolCallId: z.string() }).optional() }),
});
const Answered = Named.extend({ result: z.looseObject({}) });

export interface Unanswered {
  /** Something was asked that has no answer. */
  readonly isAsked: boolean;
  /** What becomes of the calls that permission was asked for. */
  readonly outcomes: readonly Extract<Draft, { kind: "message.tool" }>[];
  /** Their names. */
  readonly calls: readonly string[];
  /** Names of calls whose end was not told, of which nobody was asked then. */
  readonly others: readonly string[];
}

/** By the lines of a run, and the messages of its command. */
export function unansweredOf(
  lines: readonly Json[],
  entries: readonly TranscriptEntry[],
): Unanswered {
  const asked = new Map<string, string | undefined>();
  for (const line of lines) {
    const question = Asked.safeParse(line).data;
    if (question) asked.set(question._meta.prompt, question.params.toolCall?.toolCallId);
    const answer = Answered.safeParse(line).data;
    if (answer) asked.delete(answer._meta.prompt);
  }
  const waiting = new Set(asked.values());
  const calls = callsIn(entries);
  const [ours, others] = [
    calls.filter(({ callId }) => waiting.has(callId)),
    calls.filter(({ callId }) => !waiting.has(callId)),
  ];
  return {
    isAsked: asked.size > 0,
    outcomes: ours.filter(isOpen).map(({ assistant, index, callId, name }) => ({
      kind: "message.tool",
      data: {
        ...{ assistant, index, callId, name, isError: true },
        content: [{ type: "text", text: notMade }],
      },
    })),
    calls: ours.map(({ name }) => name),
    others: others.filter(isOpen).map(({ name }) => name),
  };
}

const notMade = "Nobody had allowed this call when the agent ended with its host: it was not made.";

interface ToldCall {
  readonly assistant: string;
  readonly index: number;
  readonly callId: string;
  readonly name: string;
  /** Its outcome is not in the log. */
  isOpen: boolean;
}

function isOpen(call: ToldCall): boolean {
  return call.isOpen;
}

function callsIn(entries: readonly TranscriptEntry[]): ToldCall[] {
  const calls = new Map<string, ToldCall>();
  for (const entry of entries) {
    if (entry.kind === "message.assistant" && Array.isArray(entry.data.content))
      for (const block of entry.data.content)
        if (block.type === "call") {
          const { index, callId, name } = block;
          const call = { assistant: entry.id, index, callId, name, isOpen: true };
          calls.set(`${entry.id} ${index}`, call);
        }
    if (entry.kind !== "message.tool") continue;
    const ended = calls.get(`${entry.data.assistant} ${entry.data.index}`);
    if (ended) ended.isOpen = false;
  }
  return [...calls.values()];
}
