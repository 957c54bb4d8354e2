// What became of a turn whose process died: read from the log's own lines and from Claude Code's transcript.
//
//   The transcript lags behind what was said: a line that was heard may be missing from it, and one that nobody heard may
//   stand in it. A message that it holds was taken, and is never written again.

import type { Json, JsonObject } from "@lichen/wire";
import * as z from "zod";
import { type DurableLine, readLine, type TurnResult } from "./line.ts";

export type Fate =
  /** It came to its end before the process did. */
  | { readonly is: "over"; readonly result: TurnResult }
  /** It is to go on: with the messages that never arrived, or with a note where all did. */
  | { readonly is: "open"; readonly missing: readonly string[]; readonly lostApproval: boolean };

export interface Evidence {
  /** Lines that this run has recorded. */
  readonly lines: readonly Json[];
  /** The transcript from the run's first message on. */
  readonly transcript: readonly Json[];
  /** Uuids of what was to be said in this run, and of the notes that were. */
  readonly messages: readonly string[];
  /** Messages that Claude Code said it knows, whatever the transcript holds. */
  readonly known: ReadonlySet<string>;
  /** Its message is a command of Claude Code's own, which is never acknowledged. */
  readonly isCommand: boolean;
}

const Kept = z.looseObject({
  type: z.string(),
  uuid: z.string(),
  isMeta: z.boolean().optional(),
  isApiErrorMessage: z.boolean().optional(),
  message: z.looseObject({ stop_reason: z.string().nullish() }).optional().catch(undefined),
});
type Kept = z.infer<typeof Kept> & { readonly raw: Json; readonly line: DurableLine };

const lostWords = /permission (request failed|stream closed)|stream closed before response/i;
const finished = new Set(["end_turn", "stop_sequence", "max_tokens"]);

/** Lines of the transcript that the log lacks, in the shape in which they would have been heard. */
export function unheard({ lines, transcript }: Evidence): Json[] {
  const heard = new Set(lines.map(uuidOf));
  return keptOf(transcript)
    .filter(({ uuid, line }) => !heard.has(uuid) && isWork(line))
    .map(({ raw }) => heardAs(raw as JsonObject));
}

export function fateOf(evidence: Evidence): Fate {
  const { lines, transcript, messages, isCommand, known } = evidence;
  const kept = keptOf(transcript);
  const missing = messages.filter(
    (uuid) => !kept.some((it) => it.uuid === uuid) && !known.has(uuid),
  );
  const last = kept.findLastIndex(({ uuid }) => messages.includes(uuid));
  const after = kept.slice(last + 1);
  const lostApproval = last !== -1 && after.some(({ line }) => hasLost(line));
  if (lostApproval) return { is: "open", missing, lostApproval };
  // What was heard to its end is over, also where the transcript was not written any more.
  const result = heardResult(lines.map(readLine), isCommand ? [] : messages);
  if (result) return { is: "over", result };
  const text = missing.length === 0 && last !== -1 ? finalText(after) : undefined;
  if (text === undefined) return { is: "open", missing, lostApproval };
  return { is: "over", result: { ...noResult, text } };
}

const noResult: Omit<TurnResult, "text"> = {
  subtype: "success",
  isError: false,
  errors: [],
  turns: 1,
  isOwn: false,
  usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
};

/** Messages that Claude Code never had: neither does its transcript hold them, nor did they come back. */
export function unreadOf({ lines, transcript, messages, known }: Evidence): string[] {
  const cameBack = lines.map(readLine).flatMap((line) => (line.is === "replayed" ? line.uuid : []));
  const taken = new Set([...keptOf(transcript).map(({ uuid }) => uuid), ...cameBack, ...known]);
  return messages.filter((uuid) => !taken.has(uuid));
}

/** Calls that a person was asked about. */
export function askedIn(lines: readonly Json[]): Set<string> {
  return new Set(
    lines.map(readLine).flatMap((line) => (line.is === "asks" ? (line.request.callId ?? []) : [])),
  );
}

/** The result that was heard after all of the messages were. */
function heardResult(
  heard: readonly ReturnType<typeof readLine>[],
  messages: readonly string[],
): TurnResult | undefined {
  const places = messages.map((uuid) =>
    heard.findIndex((line) => line.is === "replayed" && line.uuid === uuid),
  );
  if (places.includes(-1)) return undefined;
  const found = heard
    .slice(Math.max(0, ...places))
    .findLast((line) => line.is === "result" && !line.result.isOwn);
  return found?.is === "result" ? found.result : undefined;
}

function finalText(after: readonly Kept[]): string | undefined {
  const last = after.findLast(
    ({ line, isMeta }) => !isMeta && (isWork(line) || line.is === "user"),
  );
  if (last?.line.is !== "assistant" || last.isApiErrorMessage) return undefined;
  if (!finished.has(last.message?.stop_reason ?? "")) return undefined;
  const text = last.line.blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
  return text === "" ? undefined : text;
}

function hasLost(line: DurableLine): boolean {
  if (line.is !== "results") return false;
  return line.results.some(
    ({ isError, content }) =>
      isError && content.some((block) => block.type === "text" && lostWords.test(block.text)),
  );
}

function keptOf(transcript: readonly Json[]): Kept[] {
  return transcript.flatMap((raw) => {
    const { data } = Kept.safeParse(raw);
    if (!data || (data.type !== "user" && data.type !== "assistant")) return [];
    const line = readLine(raw);
    return "raw" in line ? [{ ...data, raw, line }] : [];
  });
}

function isWork(line: DurableLine): boolean {
  return line.is === "assistant" || line.is === "results";
}

export function uuidOf(line: Json): string | undefined {
  return typeof line === "object" && line !== null && !Array.isArray(line)
    ? z.string().safeParse(line["uuid"]).data
    : undefined;
}

/** Of what only the transcript says, what the wire says too. */
function heardAs({ type, message, uuid, sessionId, timestamp }: JsonObject): JsonObject {
  return {
    type: type ?? null,
    message: message ?? null,
    parent_tool_use_id: null,
    session_id: sessionId ?? null,
    uuid: uuid ?? null,
    timestamp: timestamp ?? null,
  };
}

export interface LeftCall {
  readonly name: string;
  readonly input: Json;
}

/** Calls with an outcome in the log that Claude Code itself has forgotten: its transcript was not written that far. */
export function forgottenCalls({ lines, transcript }: Evidence): LeftCall[] {
  const remembered = new Set(keptOf(transcript).flatMap(({ line }) => callsOf(line).map(idOf)));
  const heard = lines.map(readLine);
  const done = new Set(
    heard.flatMap((line) => (line.is === "results" ? line.results.map(({ id }) => id) : [])),
  );
  return heard
    .flatMap((line) => ("raw" in line ? callsOf(line) : []))
    .filter(({ id }) => done.has(id) && !remembered.has(id));
}

function callsOf(line: DurableLine) {
  return line.is === "assistant" ? line.blocks.filter((block) => block.type === "call") : [];
}

function idOf({ id }: { readonly id: string }): string {
  return id;
}

/** What a coding agent is told that goes on after its process died. */
export function noteOf(what: {
  readonly lostApproval: boolean;
  /** Calls that nobody had allowed yet. */
  readonly unmade: readonly LeftCall[];
  readonly unknown: readonly LeftCall[];
  readonly forgotten: readonly LeftCall[];
}): string {
  const { lostApproval, unmade, unknown, forgotten } = what;
  return [
    "[Lichen: your process ended in the middle of this turn and was started again.",
    lostApproval || unmade.length > 0
      ? " A permission that you asked for was lost with it; the user did not refuse it: ask again if you still need it."
      : "",
    listed(" These calls were not made, since nobody had answered:", unmade),
    listed(" It is not known how far these calls came; check before you repeat them:", unknown),
    listed(" These calls were made already, though you may not remember them:", forgotten),
    " Go on with what the user asked for, from where you were.]",
  ].join("");
}

function listed(words: string, calls: readonly LeftCall[]): string {
  if (calls.length === 0) return "";
  const lines = calls.map(({ name, input }) => `\n- ${name} ${short(JSON.stringify(input))}`);
  return `${words}${lines.join("")}\n`;
}

function short(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}
