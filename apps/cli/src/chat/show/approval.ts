// What a person is asked: which call is to run, with what, in a form one can judge.
//
//   Nothing of the input is left out, and characters that would not be seen stand as their numbers.

import { revealed } from "../../revealed.ts";
import type { Approval } from "@lichen/wire";
import { type Asked, bodyWidth } from "./asked.ts";
import { changeAsked } from "./call.ts";
import { diffRows } from "./diff.ts";
import { cleanLine, wrappedLines } from "./lines.ts";
import { suggestionRows } from "./suggestion.ts";
import type { Theme } from "./theme.ts";
import { allValueLines, objectIn, valueLines } from "./value.ts";

/** Of a call whose input is whole. */
export function callAsked(approval: Approval, theme: Theme, width: number): Asked {
  const room = bodyWidth(width);
  return {
    head: theme.warn("? ") + `${toolOf(approval, theme)} asks to run`,
    body: inputRows(approval, theme, room),
    about: aboutRows(approval.description, room),
  };
}

/** Of one that is not read whole yet: what stands in the log, with the size of the rest. */
export function callBegun(approval: Approval, theme: Theme, width: number): Asked {
  const lines = approval.input === undefined ? [] : valueLines(approval.input);
  return {
    head: theme.warn("? ") + `${toolOf(approval, theme)} asks to run`,
    body: wrappedLines(revealed(lines.join("\n")), bodyWidth(width)),
    about: [],
  };
}

/** What allowing it for good would mean. */
export function alwaysAsked(approval: Approval, theme: Theme, width: number): Asked {
  return {
    head: theme.warn("? ") + `${toolOf(approval, theme)}: allowed without asking from now on`,
    body: suggestionRows(approval.suggestions ?? [], bodyWidth(width)),
    about: [],
  };
}

export function aboutRows(description: string | undefined, width: number): string[] {
  const text = revealed(description ?? "").trim();
  return text === "" ? [] : wrappedLines(text, width);
}

function toolOf({ tool }: Approval, theme: Theme): string {
  return theme.bold(theme.tool(cleanLine(tool ?? "a tool", 256)));
}

function inputRows({ tool = "", input }: Approval, theme: Theme, width: number): string[] {
  if (input === undefined) return [];
  const members = objectIn(input);
  const { command, ...others } = members ?? {};
  if (tool === "bash" && typeof command === "string")
    return [
      ...wrappedLines(revealed(command), width).map(theme.bold),
      ...(Object.keys(others).length > 0
        ? wrappedLines(revealed(allValueLines(others).join("\n")), width).map(theme.dim)
        : []),
    ];
  const change = changeAsked(tool, input);
  const path = members?.["path"];
  if (change && typeof path === "string") {
    const known = new Set(["path", ...change.members]);
    const rest = Object.entries(members ?? {}).filter(([name]) => !known.has(name));
    const whole = { isUnfolded: true, first: 0, last: 0 };
    return [
      ...wrappedLines(revealed(path), width).map(theme.bold),
      ...diffRows(change.lines, theme, width, whole, revealed),
      ...(rest.length > 0
        ? wrappedLines(revealed(allValueLines(Object.fromEntries(rest)).join("\n")), width)
        : []),
    ];
  }
  return wrappedLines(revealed(allValueLines(input).join("\n")), width);
}
