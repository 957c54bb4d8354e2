// What a session looks like at a glance: what was said last and with which model, derived from its newest events.
//
//   MA11  What sub-agents say, and messages that a harness made up by itself, are not taken for the conversation's own.

import { type Entry, type Json, known } from "@lichen/wire";
import type { LineReading } from "../harnesses/harness.ts";
import { charactersOf, factsOf, gistOf, oneLine } from "../events/lines.ts";
import { beginningOf, type ReadPart } from "../events/whole.ts";

export interface Glance {
  /** The start of what the model said last. */
  readonly preview: string;
  readonly model: string;
  readonly contextUsed: number;
  readonly contextWindow: number;
  /** Its last lines, oldest first. */
  readonly tail: readonly string[];
  /** When its newest event came: RFC 3339. */
  readonly lastTime: string;
}

export const tailLines = 20;
const previewCharacters = 200;
const lineCharacters = 200;
/** Of a long text only its beginning is read for lines. */
const readCharacters = 20_000;

/** A glance at a session that has no event yet. */
export function firstGlance(createdAt: string): Glance {
  return {
    preview: "",
    model: "",
    contextUsed: 0,
    contextWindow: 0,
    tail: [],
    lastTime: createdAt,
  };
}

export interface Reading {
  readonly read: ReadPart;
  readonly lines: LineReading;
}

/** The glance after one more event. Waits only where a long text was put aside. */
export async function glanceAfter(
  before: Glance,
  recorded: Entry,
  { read, lines: { toClaudeLine, outsideOf } }: Reading,
): Promise<Glance> {
  const entry = known(recorded);
  const glance = { ...before, lastTime: recorded.at };
  if (entry?.kind === "message.user") {
    const sender = recorded.requestId === undefined ? (recorded.by ?? "outside") : "you";
    const text = await textOf(entry.data.text, read);
    return { ...glance, tail: asked(before.tail, sender, text) };
  }
  if (entry?.kind === "conversation.started") return { ...glance, contextUsed: 0 };
  if (entry?.kind !== "harness.line") return glance;
  const line = await beginningOf(entry.data.line, read, readCharacters);
  const outside = outsideOf?.(line);
  if (outside) return { ...glance, tail: asked(before.tail, outside.by, outside.text) };
  const facts = factsOf(toClaudeLine?.(line) ?? line);
  const { said, model, contextUsed, contextWindow } = facts;
  const texts: string[] = [];
  const lines: string[] = [];
  for (const it of said)
    if ("tool" in it) lines.push(`▸ ${it.tool} ${gistOf(it.input)}`.trimEnd());
    else {
      const text = await textOf(it.text, read);
      if (text.trim() !== "") texts.push(text);
      lines.push(...linesOf(text));
    }
  const last = facts.isMadeUp ? undefined : texts.at(-1);
  return {
    ...glance,
    ...(last === undefined ? {} : { preview: charactersOf(last, previewCharacters) }),
    ...(model === undefined ? {} : { model }),
    ...(contextUsed === undefined ? {} : { contextUsed }),
    contextWindow: Math.max(before.contextWindow, contextWindow ?? 0),
    tail: lastOf(
      before.tail,
      lines.map((it) => oneLine(it, lineCharacters)),
    ),
  };
}

async function textOf(text: Json, read: ReadPart): Promise<string> {
  const beginning = await beginningOf(text, read, readCharacters);
  return typeof beginning === "string" ? beginning : "";
}

/** A text's lines, without those that begin and end code. */
function linesOf(text: string): string[] {
  return text
    .slice(0, readCharacters)
    .split("\n")
    .filter((line) => line.trim() !== "" && !/^\s*(```|~~~)/.test(line));
}

/** What was asked, and by whom. */
function asked(before: readonly string[], sender: string, text: string): readonly string[] {
  return lastOf(before, [oneLine(`› ${sender}: ${text}`, lineCharacters)]);
}

function lastOf(before: readonly string[], lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? before : [...before, ...lines].slice(-tailLines);
}
