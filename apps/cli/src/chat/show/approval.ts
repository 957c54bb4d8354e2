// What a person is asked: which call is to run, with what, in a form one can judge.
//
//   Nothing of the input is hidden but what is counted: characters that would not be seen stand as their numbers, and of
//   what is too long the beginning and the end are shown.

import type { Approval, Json } from "@lichen/wire";
import { changeAsked } from "./call.ts";
import { diffRows } from "./diff.ts";
import { behind, cleanLine, countOf, revealed, row, wrapped } from "./lines.ts";
import { questionTexts } from "./question.ts";
import type { Theme } from "./theme.ts";
import { objectIn, stringIn, valueLines } from "./value.ts";

/** At most `maxRows` rows. Where they are few, what would run goes before what is said of it. */
export function approvalLines(
  approval: Approval,
  theme: Theme,
  width: number,
  maxRows: number,
): string[] {
  const room = Math.max(1, width - 2);
  const isQuestion = approval.kind === "question";
  const tool = cleanLine(approval.tool ?? "a tool", 64);
  const title = isQuestion ? "A question for you" : `${theme.bold(theme.tool(tool))} asks to run`;
  const head = theme.warn("? ") + title;
  const body = isQuestion
    ? questionRows(approval.questions ?? [], theme, room)
    : inputRows(approval, theme, room);
  const rows = Math.max(1, maxRows) - 1;
  if (rows === 0)
    return [row(body.length === 0 ? head : `${head} (${countOf(body.length, "line")})`, width)];
  const offered = suggestionRows(approval.suggestions ?? [], theme, width);
  const suggestions = rows >= offered.length + 4 ? offered : [];
  const left = rows - suggestions.length;
  const described = wrappedLines(revealed(approval.description ?? "").trim(), room);
  const most = Math.max(Math.floor(left / 3), Math.min(12, left - body.length));
  const description =
    approval.description === undefined || most === 0 ? [] : shortened(described, most, room, theme);
  const shown = shortened(body, left - description.length, room, theme);
  return [
    row(head, width),
    ...behind("  ", description, width),
    ...behind(theme.border("│ "), shown, width),
    ...suggestions,
  ];
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
    const known = new Set(["path", ...change.members]);
    const rest = Object.entries(members ?? {}).filter(([name]) => !known.has(name));
    const whole = { isUnfolded: true, first: 0, last: 0 };
    return [
      ...wrappedLines(revealed(path), width).map(theme.bold),
      ...diffRows(change.lines, theme, width, whole, revealed),
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
