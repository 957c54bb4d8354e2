// A tool call: one headline with how it stands, below it what it changes or gave, behind a bar.

import type { Json, Partial, ToolBlock } from "@lichen/wire";
import type { CallView } from "@lichen/client";
import { bytesInWords, durationInWords } from "./amounts.ts";
import { changed, type DiffLine, diffRows, patched } from "./diff.ts";
import { behind, clean, cleanLine, type Fold, linesOf, row, textRows } from "./lines.ts";
import { codeOf, codeRows, codeTold, innerRows, programAside } from "./program.ts";
import { colorOf, marks, remarks, tookMs } from "./standing.ts";
import type { Style, Theme } from "./theme.ts";
import { imageInWords, jsonInWords, objectIn, stringIn, textIn, valueLines } from "./value.ts";

export interface Look {
  readonly theme: Theme;
  readonly width: number;
  /** Whether thinking and tool output are shown whole. */
  readonly isUnfolded: boolean;
}

const bar = "  │ ";

/** `live` is what it has put out so far, while it runs. */
export function callLines(call: CallView, look: Look, live?: string): string[] {
  const { theme, width } = look;
  const { name, input, isEdited, startedAt, endedAt } = call;
  const took = tookMs(startedAt, endedAt);
  const aside = [
    remarks[call.state],
    ...programAside(call.calls ?? []),
    isEdited ? "input edited" : "",
    took < 100 ? "" : durationInWords(took),
  ].filter(Boolean);
  const mark = colorOf(call.state, theme)(marks[call.state]);
  const code = codeOf(call);
  const telling = code === undefined ? tellingOf(input) : codeTold(code);
  return [
    headline(mark, name, telling, aside, look),
    ...behind(theme.border(bar), bodyOf(call, look, live), width),
  ];
}

/** What the model writes of a call before it is one. */
export function callInTheMaking(tool: NonNullable<Partial["tool"]>, look: Look): string[] {
  const { argsText = "", name } = tool;
  const size = argsText.length > 200 ? [`${bytesInWords(argsText.length)} so far`] : [];
  return [headline(look.theme.dim("… "), name, begunOf(argsText), size, look)];
}

function headline(
  mark: string,
  name: string,
  telling: string,
  aside: readonly string[],
  { theme, width }: Look,
): string {
  const end = aside.length === 0 ? "" : theme.dim(` · ${aside.join(" · ")}`);
  const words = mark + theme.bold(theme.tool(cleanLine(name, 64) || "(unnamed)"));
  const room = width - 2 - cleanLine(name, 64).length - aside.join(" · ").length - 4;
  const shown = telling === "" ? "" : ` ${room < 8 ? telling : row(telling, room)}`;
  return row(words + shown + end, width);
}

const tellingKeys = ["command", "pattern", "path", "file", "query", "url", "name", "description"];

/** The argument that says most, on one line. */
function tellingOf(input: Json | undefined): string {
  if (input === undefined) return "";
  const members = objectIn(input);
  if (!members) return cleanLine(jsonTold(input));
  const key = tellingKeys.find((it) => stringIn(members[it]) !== undefined);
  if (key === undefined) {
    const names = Object.keys(members);
    return names.length === 0 ? "" : cleanLine(jsonTold(members));
  }
  const text = cleanLine(stringIn(members[key]) ?? "");
  const within = key === "pattern" ? stringIn(members["path"]) : undefined;
  return within === undefined ? text : `${text} in ${cleanLine(within, 200)}`;
}

function jsonTold(value: Json): string {
  return stringIn(value) ?? jsonInWords(value);
}

/** The same in JSON that is not yet whole. */
function begunOf(argsText: string): string {
  const begun = argsText.slice(0, 4_000);
  for (const key of tellingKeys) {
    const found = new RegExp(`"${key}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)*)`).exec(begun)?.[1];
    if (found === undefined) continue;
    try {
      return cleanLine(String(JSON.parse(`"${found}"`)));
    } catch {
      // Cut within an escape.
      return cleanLine(found);
    }
  }
  return "";
}

function bodyOf(call: CallView, look: Look, live: string | undefined): string[] {
  const { theme, isUnfolded } = look;
  const width = Math.max(1, look.width - bar.length);
  const fold: Fold = { isUnfolded, first: 6, last: 6 };
  const rows = (text: string, style: Style, shown: Fold = fold): string[] =>
    text.trim() === "" ? [] : textRows(linesOf(clean(text)), width, shown, style, theme.dim);
  const input = isUnfolded && call.input !== undefined ? wholeInput(call.input) : "";
  const code = codeOf(call);
  const change = code === undefined ? changeIn(call) : undefined;
  const asked = change
    ? diffRows(change, theme, width, { isUnfolded, first: 14, last: 6 })
    : code === undefined
      ? rows(input, theme.dim)
      : codeRows(code, look, width);
  const diff = [...asked, ...innerRows(call.calls ?? [], look, width)];
  switch (call.state) {
    case "failed":
    case "interrupted":
      return [...(change ? [] : diff), ...rows(outputOf(call.content), theme.error)];
    case "done":
      return change ? diff : [...diff, ...rows(outputOf(call.content), theme.dim)];
    case "running":
      return [...diff, ...rows(live ?? "", theme.dim, { isUnfolded, first: 0, last: 8 })];
    case "called":
    case "waiting":
    case "allowed":
    case "denied":
      return diff;
  }
}

function wholeInput(input: Json): string {
  const members = objectIn(input);
  const names = members ? Object.keys(members) : [];
  // What the headline says whole needs no second line.
  const only = names.length === 1 ? stringIn(members?.[names[0]!]) : undefined;
  if (names.length === 0 && members) return "";
  return only !== undefined && only.length < 60 && !only.includes("\n")
    ? ""
    : valueLines(input).join("\n");
}

function outputOf(content: readonly ToolBlock[] = []): string {
  return content
    .map((block) => (block.type === "text" ? textIn(block.text) : imageInWords(block.image)))
    .join("\n");
}

/** What a call changes in a file: as the tool recorded it, else as its input says. */
function changeIn({ data, input, name, state }: CallView): DiffLine[] | undefined {
  const recorded = objectIn(data)?.["diff"];
  const lines = typeof recorded === "string" ? patched(recorded) : undefined;
  return lines ?? (state === "failed" ? undefined : changeAsked(name, input)?.lines);
}

/**
 * What an input asks to change in a file: pieces to replace, or the whole content of `write`; and which of its members
 * say so. Undefined where a piece holds anything that a diff would not show.
 */
export function changeAsked(
  name: string,
  input: Json | undefined,
): { readonly lines: DiffLine[]; readonly members: readonly string[] } | undefined {
  const { edits, content, oldText, newText } = objectIn(input) ?? {};
  if (name === "write" && typeof content === "string") {
    const lines = linesOf(content).map((text, at): DiffLine => ({
      sign: "+",
      text,
      number: at + 1,
    }));
    return { lines, members: ["content"] };
  }
  if (oldText !== undefined && newText !== undefined) {
    const lines = pieceLines({ oldText, newText });
    return lines && { lines, members: ["oldText", "newText"] };
  }
  if (!Array.isArray(edits) || edits.length === 0) return undefined;
  const pieces = edits.map(pieceLines);
  const lines = pieces.flatMap((piece = [], at) =>
    at > 0 && piece[0]?.sign !== "@" ? [{ sign: "@", text: "…" } as const, ...piece] : piece,
  );
  return pieces.includes(undefined) ? undefined : { lines, members: ["edits"] };
}

function pieceLines(piece: Json): DiffLine[] | undefined {
  const { oldText, newText, replaceAll, ...others } = objectIn(piece) ?? {};
  if (typeof oldText !== "string" || typeof newText !== "string") return undefined;
  const isKnown = replaceAll === undefined || typeof replaceAll === "boolean";
  if (!isKnown || Object.keys(others).length > 0) return undefined;
  const lines = changed(oldText, newText);
  return replaceAll === true ? [{ sign: "@", text: "… everywhere:" }, ...lines] : lines;
}
