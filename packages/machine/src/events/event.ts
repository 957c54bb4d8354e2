// Entries of a session's log as events of the machine API: the same facts under the names that its clients know.
//
//   MA10  Every numbered entry is one event of that number; what it holds is the entry's, under other names.

import {
  type Entry,
  type EntryData,
  type Json,
  type JsonObject,
  known,
  type Terminal,
  type Text,
} from "@lichen/wire";
import type { LineReading } from "../harnesses/harness.ts";
import { resultLine } from "../harnesses/stream-json.ts";

/** An event as clients get it. `data` may still hold references to what was put aside. */
export interface MachineEvent {
  readonly seq: number;
  /** RFC 3339. */
  readonly time: string;
  readonly kind: string;
  /** The device that caused it; left out for this machine itself. */
  readonly by?: string;
  readonly data?: JsonObject;
}

/** What message ids of devices begin with among request ids, so that no other door's can be one. */
const messageIds = "v1:";

export function requestIdOf(messageId: string): string {
  return `${messageIds}${messageId}`;
}

export function eventOf(seq: number, entry: Entry, reading: LineReading): MachineEvent {
  const { kind, data, by } = content(entry, reading);
  const author = by ?? entry.by;
  return {
    seq,
    time: entry.at,
    kind,
    ...(author === undefined ? {} : { by: author }),
    ...(data === undefined ? {} : { data }),
  };
}

interface Content {
  readonly kind: string;
  readonly by?: string;
  readonly data?: JsonObject;
}

function content(recorded: Entry, { toClaudeLine, outsideOf, answeredIn }: LineReading): Content {
  const entry = known(recorded);
  if (entry?.kind === "harness.line") {
    const { line } = entry.data;
    const outside = outsideOf?.(line);
    if (outside) {
      const { by, text } = outside;
      return { kind: "message", by, data: { text, outside: true } };
    }
    const answered = answeredIn?.(line);
    if (answered) {
      const { by, prompt, allow } = answered;
      return { kind: "answer", by, data: { prompt, allow, message: "" } };
    }
    return { kind: "claude", data: objectOf(toClaudeLine?.(line) ?? line) };
  }
  if (entry?.kind === "message.user")
    return { kind: "message", data: messageOf(recorded, entry.data.text) };
  if (entry?.kind === "approval.answered") return { kind: "answer", data: answerOf(entry.data) };
  if (entry?.kind === "approval.withdrawn") return { kind: "claude", data: withdrawn(entry.data) };
  if (entry?.kind === "approval.expired") return { kind: "answer", data: expired(entry.data) };
  if (entry?.kind === "run.settled" && entry.data.untold)
    return ended(recorded, entry.data, entry.data.untold);
  if (entry?.kind === "harness.stopped")
    return { kind: "stopped", data: { reason: entry.data.reason } };
  if (entry?.kind === "harness.restarted") return { kind: "restarted", data: {} };
  if (entry?.kind === "conversation.started") return { kind: "new_conversation", data: {} };
  if (entry?.kind === "setting") return { kind: "setting", data: entry.data.settings };
  if (entry?.kind === "renamed")
    return { kind: "renamed", data: { from: entry.data.from, to: entry.data.to } };
  // A kind that a newer version numbers is shown as it is.
  return { kind: recorded.kind, data: recorded.data };
}

function answerOf(answer: EntryData["approval.answered"]): JsonObject {
  const { approvalId, prompt, allow, message, answers, interrupt } = answer;
  return {
    prompt: prompt ?? approvalId,
    allow,
    message: message === undefined ? "" : json(message),
    ...(answers === undefined ? {} : { answers }),
    ...(interrupt ? { interrupt } : {}),
  };
}

/** As Claude Code itself says that a prompt waits for nobody any more. */
function withdrawn(it: EntryData["approval.withdrawn"]): JsonObject {
  const { approvalId, prompt, reason } = it;
  return { type: "control_cancel_request", request_id: prompt ?? approvalId, reason };
}

/** Whom nobody answered in time was denied. */
function expired({ approvalId, prompt }: EntryData["approval.expired"]): JsonObject {
  return { prompt: prompt ?? approvalId, allow: false, message: "Nobody answered in time." };
}

/** An end that the harness did not tell: of a turn its result, of a message that never came to it the message itself. */
function ended(
  recorded: Entry,
  { terminal, diagnostic }: EntryData["run.settled"],
  { message }: NonNullable<EntryData["run.settled"]["untold"]>,
): Content {
  const why = diagnostic ?? words[terminal];
  if (message !== undefined)
    return { kind: "message", data: { ...messageOf(recorded, message), error: why } };
  return { kind: "claude", data: resultLine(false, { terminal, result: why, errors: [why] }) };
}

const words: Readonly<Record<Terminal, string>> = {
  completed: "It ended.",
  failed: "It failed.",
  cancelled: "It was stopped.",
  interrupted: "It was interrupted.",
  outcome_unknown: "It was interrupted, and what it did is unknown.",
};

/** What nobody sent under a request id was said inside the harness. */
function messageOf({ requestId }: Entry, text: Text): JsonObject {
  if (requestId === undefined) return { text: json(text), outside: true };
  const id = requestId.startsWith(messageIds) ? requestId.slice(messageIds.length) : undefined;
  return { text: json(text), ...(id === undefined ? {} : { id }) };
}

function json(text: Text): Json {
  return typeof text === "string" ? text : { ...text };
}

function objectOf(value: Json): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? value
    : { type: "system", subtype: "line", line: value };
}
