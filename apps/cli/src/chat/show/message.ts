// What people and models say: a person's words behind a bar, a model's as Markdown, its thinking dimmed.
//
//   All of it stands two columns in, so that none of it looks like a line of ours.

import { Markdown } from "@earendil-works/pi-tui";
import type { ItemOf } from "@lichen/client";
import type { AssistantBlock, BlobRef, Partial, Text } from "@lichen/wire";
import { durationInWords } from "./amounts.ts";
import { callInTheMaking, callLines, type Look } from "./call.ts";
import {
  behind,
  clean,
  cleanLine,
  countOf,
  fit,
  folded,
  leftOut,
  linesOf,
  row,
  textRows,
  wrapped,
} from "./lines.ts";
import { imageInWords, textIn } from "./value.ts";

const margin = "  ";
/** Terminals that know it jump from one message to the next. */
const promptMarker = "\u001b]133;A\u0007";

export interface Spoken {
  readonly text: Text;
  readonly images?: readonly BlobRef[];
  readonly by?: string;
  readonly remark?: string;
}

/** A person's message. */
export function userLines({ text, images = [], by, remark }: Spoken, look: Look): string[] {
  const { theme, width, isUnfolded } = look;
  const room = Math.max(1, width - margin.length);
  const head = [by === undefined ? "" : cleanLine(by, 80), remark ?? ""]
    .filter(Boolean)
    .join(" · ");
  const words = clean(textIn(text));
  const isEmpty = words.trim() === "" && images.length > 0;
  const said = isEmpty ? [] : linesOf(words).flatMap((line) => wrapped(line, room));
  // Who pastes a file has seen it.
  const { head: begin, left, tail } = folded(said, { isUnfolded, first: 24, last: 6 });
  const rows = [
    ...(head === "" ? [] : [theme.dim(row(head, room))]),
    ...begin,
    ...(left > 0 ? [theme.dim(row(leftOut(left), room))] : []),
    ...tail,
    ...images.map((image) => theme.dim(row(cleanLine(imageInWords(image)), room))),
  ];
  const [first = "", ...rest] = behind(theme.user("▌ "), rows, width);
  return ["", promptMarker + first, ...rest];
}

/** A model's message with its calls; `live` is what the call of this index has put out so far. */
export function assistantLines(
  item: ItemOf<"assistant">,
  look: Look,
  live?: NonNullable<Partial["tool"]>,
): string[] {
  const { theme, width } = look;
  const lines = item.content.flatMap((block) => blockLines(block, item, look, live));
  const said = (style: (text: string) => string, text: string): void => {
    lines.push(...behind(margin, wrapped(text, width - 2).map(style), width));
  };
  if (item.stop === "length")
    said(theme.warn, "[cut off: the answer reached the longest the model may give]");
  if (item.stop === "aborted") said(theme.dim, "[broken off]");
  if (item.stop === "error")
    said(theme.error, `[the model call failed${item.error ? `: ${cleanLine(item.error)}` : ""}]`);
  return lines.length === 0 ? [] : ["", ...lines];
}

function blockLines(
  block: AssistantBlock,
  item: ItemOf<"assistant">,
  look: Look,
  live: NonNullable<Partial["tool"]> | undefined,
): string[] {
  switch (block.type) {
    case "text":
      return spaced(markdownLines(textIn(block.text), look), item.content, block);
    case "thinking":
      return thinkingLines(
        block.redacted === true ? "(hidden by the provider)" : textIn(block.text),
        look,
        0,
      );
    case "call": {
      const call = item.calls.find((it) => it.index === block.index);
      const output = live?.index === block.index ? live.output : undefined;
      return call ? callLines(call, look, output) : [];
    }
  }
}

/** An empty line between a text and the call that follows it. */
function spaced(
  lines: string[],
  content: readonly AssistantBlock[],
  block: AssistantBlock,
): string[] {
  const next = content[content.indexOf(block) + 1];
  return next === undefined || lines.length === 0 ? lines : [...lines, ""];
}

/** Text of a model. */
export function markdownLines(text: string, { theme, width }: Look): string[] {
  return new Markdown(clean(text), 0, 0, theme.markdown)
    .render(Math.max(1, width - margin.length))
    .map((line) => fit(`${margin}${line}`.trimEnd(), width));
}

/** Folded to one line, or to the last `tail` lines while it streams. */
function thinkingLines(text: string, look: Look, tail: number): string[] {
  const { theme, width, isUnfolded } = look;
  const lines = linesOf(clean(text).trim());
  if (lines.length === 1 && lines[0] === "") return [];
  const room = Math.max(1, width - margin.length);
  const style = (line: string): string => theme.italic(theme.thinking(line));
  if (isUnfolded)
    return [
      ...behind("· ", lines.flatMap((line) => wrapped(line, room)).map(style), width, margin),
      "",
    ];
  if (tail > 0) {
    const rows = lines
      .slice(-tail)
      .flatMap((line) => wrapped(line.slice(-room * tail).replace(/^[\udc00-\udfff]/, ""), room));
    return behind("· ", rows.slice(-tail).map(style), width, margin);
  }
  const more = lines.length > 1 ? theme.dim(` (${countOf(lines.length, "line")}, ctrl+o)`) : "";
  const spare = more === "" ? 0 : ` (${countOf(lines.length, "line")}, ctrl+o)`.length;
  return behind("· ", [style(row(lines[0]!, Math.max(1, room - spare))) + more], width);
}

/** What streams and is not stored yet; `written` draws its text. */
export function partialLines(
  partial: Partial,
  look: Look,
  written: (text: string, look: Look) => readonly string[],
): string[] {
  const { theme, width } = look;
  const { text = "", thinking = "", tool, retrying } = partial;
  const isThinking = text === "" && tool === undefined;
  const lines = [
    ...(thinking === "" ? [] : thinkingLines(thinking, look, isThinking ? 4 : 0)),
    ...(text === "" ? [] : written(text, look)),
  ];
  if (tool?.argsText !== undefined) {
    if (text !== "") lines.push("");
    lines.push(...callInTheMaking(tool, look));
  }
  if (retrying) {
    const { attempt, maxAttempts, delayMs, reason } = retrying;
    const words = `the model call failed (${cleanLine(reason, 200)}); trying again in ${durationInWords(delayMs)} (attempt ${attempt} of ${maxAttempts})`;
    lines.push(...behind("↻ ", wrapped(words, width - 2).map(theme.warn), width, margin));
  }
  return lines.length === 0 ? [] : ["", ...lines];
}

/** Text behind our mark, folded to its first lines. */
export function noteLines(mark: string, text: string, look: Look, first: number): string[] {
  const { theme, width, isUnfolded } = look;
  const room = Math.max(1, width - margin.length);
  const rows = textRows(
    linesOf(clean(text)),
    room,
    { isUnfolded, first, last: 0 },
    theme.dim,
    theme.dim,
  );
  return behind(theme.dim(mark), rows, width, margin);
}
