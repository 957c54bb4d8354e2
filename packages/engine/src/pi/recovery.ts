// What pi's own transcript says of a prompt whose host died.
//
//   PI14 pi knows no message twice by a key of ours. So where its transcript ended is durable before a prompt is sent,
//        and after a crash what stands behind that place decides: the prompt is there, or it never came in.

import type { Json, JsonObject } from "@lichen/wire";
import { eventOf, isObject, numberAt, objectAt, textAt, textOf } from "./codec.ts";
import { assistantOf } from "./messages.ts";
import { isText } from "./sent.ts";
import { messagesOf } from "./session-file.ts";

/** How the note begins that pi is sent after its process died in mid-turn. */
const noteBeginning = "[The process that ran you ended in the middle of this turn";

/** A message of the turn, in pi's order. */
export interface Step {
  readonly role: "assistant" | "toolResult";
  readonly message: JsonObject;
  /** It stands in the log as a line. */
  readonly isLogged: boolean;
}

export type Found =
  /** pi never read the prompt. */
  | { readonly how: "absent" }
  /** Something came in that may be the prompt, rewritten, or somebody else's word. */
  | { readonly how: "unclear" }
  | {
      readonly how: "taken";
      readonly steps: readonly Step[];
      /** The last word is an answer. */
      readonly isAnswered: boolean;
      /** Calls without a result, as a reader knows them. */
      readonly lost: readonly string[];
      /** Those of the steers that pi has not read, by their place. */
      readonly unread: readonly number[];
    };

/** What stood in pi before a prompt was sent. */
export interface Place {
  /** The end of its transcript. */
  readonly after: string | undefined;
  /** What it had used. */
  readonly stats: JsonObject;
}

/** The place that a run's newest prompt was sent behind; undefined where none was sent. */
export function placeIn(logged: readonly Json[]): Place | undefined {
  for (const line of logged.toReversed()) {
    const event = eventOf(line);
    if (event.type !== "response" || event.command !== "get_entries") continue;
    const { data } = event;
    return { after: textAt(data, "leafId") || undefined, stats: objectAt(data, "stats") };
  }
  return undefined;
}

/** The line that records a place. */
export function placeLine({ after, stats }: Place): JsonObject {
  return {
    type: "response",
    command: "get_entries",
    success: true,
    data: { entries: [], leafId: after ?? null, stats },
  };
}

/** What became of `prompt`: from pi's entries behind its place, and the lines that the log has of the run. */
export function foundIn(
  entries: readonly JsonObject[],
  logged: readonly Json[],
  { prompt, steers }: { readonly prompt: string; readonly steers: readonly string[] },
): Found {
  const messages = messagesOf(entries);
  const users = messages.flatMap((message, at) => (isUser(message) ? [at] : []));
  const said = users.map((at) => textOf(messages[at]!["content"]));
  // Lines of an operator may stand above it that a compaction has hidden from the log's transcript.
  const exact = said.findIndex((text) => isText(prompt, text) || text.endsWith(`\n\n${prompt}`));
  // An expanded skill or template has another text; so has what an extension rewrote.
  const first = exact === -1 && prompt.startsWith("/") ? 0 : exact;
  if (users[first] === undefined)
    return { how: users.length > 0 || hasSpoken(logged) ? "unclear" : "absent" };
  const later = messages.slice(users[first] + 1);
  const known = new Set(logged.flatMap(messageIn).map(keyOf));
  const inFile = new Set(messages.map(keyOf));
  const askedAt = numberAt(messages[users[first]]!, "timestamp");
  const steps = [
    ...later.flatMap((message) => stepOf(message, known.has(keyOf(message)))),
    // What pi said and was killed before it wrote it down. What it was about before the prompt is no part of this.
    ...logged
      .flatMap(messageIn)
      .filter((message) => !inFile.has(keyOf(message)))
      .filter((message) => numberAt(message, "timestamp") >= askedAt)
      .flatMap((message) => stepOf(message, true)),
  ];
  const last = steps.at(-1);
  const isLastWord = later.length === 0 || !isUser(later.at(-1)!);
  return {
    how: "taken",
    steps,
    isAnswered: isLastWord && last?.role === "assistant" && isAnswer(last.message),
    lost: lostCalls(steps),
    unread: unreadOf(steers, said.slice(first + 1)),
  };
}

/** Whether pi said something in the run: then it had read the prompt, wherever that stands. */
export function hasSpoken(logged: readonly Json[]): boolean {
  return logged.flatMap(messageIn).some((message) => textAt(message, "role") === "assistant");
}

function isUser(message: JsonObject): boolean {
  return textAt(message, "role") === "user";
}

function stepOf(message: JsonObject, isLogged: boolean): Step[] {
  const role = textAt(message, "role");
  return role === "assistant" || role === "toolResult" ? [{ role, message, isLogged }] : [];
}

function messageIn(line: Json): JsonObject[] {
  return isObject(line) && line["type"] === "message_end" ? [objectAt(line, "message")] : [];
}

/** Tells a message from others: pi stamps each when it begins. */
function keyOf(message: JsonObject): string {
  return [
    textAt(message, "role"),
    numberAt(message, "timestamp"),
    textAt(message, "toolCallId"),
  ].join(" ");
}

function isAnswer(message: JsonObject): boolean {
  const { stop } = assistantOf(message);
  return stop !== "error" && stop !== "aborted" && stop !== "toolUse";
}

function lostCalls(steps: readonly Step[]): string[] {
  const open = new Map<string, string>();
  for (const { role, message } of steps) {
    if (role === "toolResult") open.delete(textAt(message, "toolCallId"));
    else
      for (const { callId, name, input } of assistantOf(message).calls)
        open.set(callId, `${name} ${JSON.stringify(input)}`);
  }
  return [...open.values()];
}

/** Steers whose text is not among what pi read; one that was expanded is known by a text that is nobody's. */
function unreadOf(steers: readonly string[], said: readonly string[]): number[] {
  const left = said.filter((text) => !text.startsWith(noteBeginning));
  const unread: number[] = [];
  for (const [place, steer] of steers.entries()) {
    const at = left.findIndex((text) => isText(steer, text));
    if (at !== -1) left.splice(at, 1);
    else unread.push(place);
  }
  return unread.filter((place) => {
    if (!steers[place]!.startsWith("/") || left.length === 0) return true;
    left.shift();
    return false;
  });
}

/** What pi is told of a turn that was cut off. */
export function noteOf(lost: readonly string[]): string {
  const calls =
    lost.length === 0
      ? ""
      : ` These calls have no recorded result, so what they did is unknown; check before you repeat them: ${lost.map((call) => call.slice(0, 300)).join("; ")}.`;
  return `${noteBeginning} and was started again.${calls} Go on with what you were asked to do.]`;
}
