// What "always" would make last, in the words of the agent that suggests it: rules, and where they hold.

import type { Approval, Json } from "@lichen/wire";
import { revealed } from "./revealed.ts";

/** One line each; none where nothing is suggested. */
export function suggestedLines({ suggestions = [] }: Pick<Approval, "suggestions">): string[] {
  return suggestions.flatMap((suggestion) => {
    const line = lineOf(suggestion);
    return line === undefined ? [] : [revealed(line).replaceAll("\n", " ")];
  });
}

function lineOf(suggestion: Json): string | undefined {
  if (typeof suggestion === "string") return suggestion;
  if (typeof suggestion !== "object" || suggestion === null || Array.isArray(suggestion))
    return JSON.stringify(suggestion);
  const { title, name, kind } = suggestion;
  // What an agent offers for a no is nothing that a yes makes last.
  if (kind === "reject_always") return undefined;
  if (typeof title === "string") return title;
  return typeof name === "string" ? name : JSON.stringify(suggestion);
}
