// What a person is asked: which call is to run, with what, in a form one can judge.
//
//   Nothing of the input is hidden but what is counted: characters that would not be seen stand as their numbers, and of
//   what is too long the beginning and the end are shown.

import type { Approval, Json } from "@lichen/wire";
import { changeAsked } from "./call.ts";
import { diffRows } from "./diff.ts";
import { behind, cleanLine, countOf, fit, revealed, row, wrapped } from "./lines.ts";
import { questionTexts } from "./question.ts";
import type { Theme } from "./theme.ts";
import { objectIn, stringIn, valueLines } from "./value.ts";

/** At most `maxRows` rows. */
export function approvalLines(
  approval: Approval,
  theme: Theme,
  width: number,
  maxRows: number,
): string[] {
  const room = Math.max(1, width - 2);
  const isQuestion = approval.kind === "question";
  const tool = cleanLine(approval.tool ?? "a tool", 64);
  const head = isQuestion ? "A question for you" : `${theme.bold(theme.tool(tool))} asks to run`;
  const lines = [row(theme.warn("? ") + head, width)];
  const description = revealed(approval.description ?? "").trim();
  if (description !== "")
    lines.push(...behind("  ", shortened(wrapped(description, room), 6, room, theme), width));
  const suggestions = suggestionRows(approval.suggestions ?? [], theme, width);
  const body = isQuestion
    ? questionRows(approval.questions ?? [], theme, room)
    : inputRows(approval, theme, room);
  const left = Math.max(1, maxRows - lines.length - suggestions.length);
  lines.push(...behind(theme.border("│ "), shortened(body, left, room, theme), width));
  return [...lines, ...suggestions].slice(0, Math.max(1, maxRows)).map((line) => fit(line, width));
}

function inputRows({ tool = "", input }: Approval, theme: Theme, width: number): string[] {
  if (input === undefined) return [];
  const members = objectIn(input);
  const { command, ...others } = members ?? {};
  if (tool === "bash" && typeof command === "string")
    return [
      ...wrappedLines(revealed(command), width).map(theme.bold),
      ...(Object.keys(others).length > 0
        ? wrappedLines(revealed(valueLines(others).join("\n")), width).map(theme.dim)
        : []),
    ];
  const change = changeAsked(tool, input);
  const path = stringIn(members?.["path"]);
  if (change && path !== undefined) {
    const known = new Set(["path", "content", "edits", "oldText", "newText"]);
    const rest = Object.entries(members ?? {}).filter(([name]) => !known.has(name));
    const whole = { isUnfolded: true, first: 0, last: 0 };
    return [
      ...wrappedLines(revealed(path), width).map(theme.bold),
      ...diffRows(change, theme, width, whole, revealed),
      ...(rest.length > 0
        ? wrappedLines(revealed(valueLines(Object.fromEntries(rest)).join("\n")), width)
        : []),
    ];
  }
  return wrappedLines(revealed(valueLines(input).join("\n")), width);
}

function wrappedLines(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => wrapped(line, width));
}

function questionRows(questions: readonly Json[], theme: Theme, width: number): string[] {
  return questionTexts(questions, revealed).flatMap(({ text, options }) => [
    ...wrappedLines(text, width).map(theme.bold),
    ...options.flatMap((option, at) => wrappedLines(`${at + 1}. ${option}`, width)),
  ]);
}

/** What may be allowed for good, as the harness words it. */
function suggestionRows(suggestions: readonly Json[], theme: Theme, width: number): string[] {
  const shown = suggestions.slice(0, 3).map((suggestion) => {
    const members = objectIn(suggestion);
    const words =
      stringIn(suggestion) ??
      stringIn(members?.["label"]) ??
      stringIn(members?.["description"]) ??
      JSON.stringify(suggestion);
    return theme.dim(row(`  always: ${cleanLine(revealed(words), 400)}`, width));
  });
  const more = suggestions.length - 3;
  return more > 0 ? [...shown, theme.dim(row(`  and ${more} more`, width))] : shown;
}

/** The beginning and the end of rows that are too many. */
function shortened(rows: readonly string[], max: number, width: number, theme: Theme): string[] {
  if (rows.length <= max) return [...rows];
  const kept = Math.max(0, max - 1);
  const last = Math.floor(kept / 3);
  const left = rows.length - kept;
  return [
    ...rows.slice(0, kept - last),
    theme.warn(row(`… ${left} more ${countOf(left, "line").split(" ")[1]!}`, width)),
    ...(last === 0 ? [] : rows.slice(-last)),
  ];
}
