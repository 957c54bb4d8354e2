// A call that is a program: its code, and below it the calls that it makes, one row each.

import type { CallView, InnerCallView } from "@lichen/client";
import type { Json } from "@lichen/wire";
import { durationInWords } from "./amounts.ts";
import type { Look } from "./call.ts";
import { clean, cleanLine, countOf, folded, linesOf, row, textRows } from "./lines.ts";
import { colorOf, marks, remarks, tookMs } from "./standing.ts";
import { jsonInWords, objectIn, stringIn, textIn, valueLines } from "./value.ts";

/** The code of a call that is a program; undefined of any other call. */
export function codeOf({ calls, input }: Pick<CallView, "calls" | "input">): string | undefined {
  const { code, ...others } = objectIn(input) ?? {};
  const isOne = calls !== undefined || Object.keys(others).length === 0;
  return isOne ? stringIn(code) : undefined;
}

/** What its headline says beside the code. */
export function programAside(calls: readonly InnerCallView[]): string[] {
  const waiting = calls.filter(({ state }) => state === "waiting").length;
  return [
    ...(waiting > 0 ? [remarks.waiting] : []),
    ...(calls.length > 0 ? [countOf(calls.length, "call")] : []),
  ];
}

/** Code of one line, for the headline; longer code stands below it. */
export function codeTold(code: string): string {
  const lines = linesOf(clean(code).trim());
  return lines.length === 1 ? cleanLine(lines[0]!) : "";
}

export function codeRows(code: string, { theme, isUnfolded }: Look, width: number): string[] {
  if (codeTold(code) !== "" && !isUnfolded) return [];
  const lines = linesOf(clean(code));
  return textRows(lines, width, { isUnfolded, first: 8, last: 2 }, theme.dim, theme.dim);
}

/** Those that wait for a person are never among what is left out. */
export function innerRows(calls: readonly InnerCallView[], look: Look, width: number): string[] {
  const { theme, isUnfolded } = look;
  const { head, left, tail } = folded(calls, { isUnfolded, first: 6, last: 6 });
  const hidden = left > 0 ? calls.slice(head.length, calls.length - tail.length) : [];
  const waiting = hidden.filter(({ state }) => state === "waiting");
  const rows = (some: readonly InnerCallView[]): string[] =>
    some.flatMap((call) => callRows(call, look, width));
  const more = `… ${countOf(left - waiting.length, "more call")}, ctrl+o shows all`;
  return [
    ...rows(head),
    ...(left > waiting.length ? [theme.dim(row(more, width))] : []),
    ...rows(waiting),
    ...rows(tail),
  ];
}

function callRows(call: InnerCallView, { theme, isUnfolded }: Look, width: number): string[] {
  const { operation, input, state, isEdited, startedAt, endedAt } = call;
  const name = cleanLine(operation, 132) || "(unnamed)";
  const took = tookMs(startedAt, endedAt);
  const aside = [
    remarks[state],
    isEdited ? "input edited" : "",
    took < 100 ? "" : durationInWords(took),
  ].filter(Boolean);
  const end = aside.length === 0 ? "" : theme.dim(` · ${aside.join(" · ")}`);
  const told = inputTold(input);
  const room = width - 2 - name.length - aside.join(" · ").length - 4;
  const shown = told === "" ? "" : ` ${row(told, Math.max(8, room))}`;
  return [
    row(colorOf(state, theme)(marks[state]) + theme.tool(name) + shown + end, width),
    ...below(call, isUnfolded).map((line) =>
      row((state === "done" ? theme.dim : theme.error)(`  ${line}`), width),
    ),
  ];
}

/** Why it failed; what it answered only where all is unfolded. */
function below({ state, message, code, value, isCut }: InnerCallView, isUnfolded: boolean) {
  if (state === "done") {
    if (!isUnfolded || value === undefined) return [];
    const lines = linesOf(clean(valueLines(value).join("\n")));
    return [...lines, ...(isCut ? ["… (the log has all of it)"] : [])];
  }
  const why = message === undefined ? (code ?? "") : textIn(message);
  if (why === "" || (state !== "failed" && state !== "denied")) return [];
  const lines = linesOf(clean(why));
  return isUnfolded ? lines : lines.slice(0, 1);
}

function inputTold(input: Json | undefined): string {
  const members = objectIn(input);
  if (members && Object.keys(members).length === 0) return "";
  return input === undefined ? "" : cleanLine(jsonInWords(input));
}
