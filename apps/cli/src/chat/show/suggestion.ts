// What would be allowed for good, as rule and scope. A harness words it as it likes: what is known of the usual shapes is
// said in words, and every member that is not is shown as it is.

import { revealed } from "../../revealed.ts";
import type { Json, JsonObject } from "@lichen/wire";
import { wrapped } from "./lines.ts";
import { allValueLines, objectIn } from "./value.ts";

/** All of them, each on rows of its own behind a dot. */
export function suggestionRows(suggestions: readonly Json[], width: number): string[] {
  const room = Math.max(1, width - 2);
  return suggestions.flatMap((suggestion) =>
    suggestionLines(suggestion)
      .flatMap((line) => revealed(line).split("\n"))
      .flatMap((line) => wrapped(line, room))
      .map((line, at) => (at === 0 ? "• " : "  ") + line),
  );
}

function suggestionLines(suggestion: Json): string[] {
  const members = objectIn(suggestion);
  if (!members) return allValueLines(suggestion);
  const { label, description, ...others } = members;
  const named = [label, description].filter((it) => typeof it === "string");
  const rest: JsonObject = {
    ...others,
    ...(label !== undefined && typeof label !== "string" ? { label } : {}),
    ...(description !== undefined && typeof description !== "string" ? { description } : {}),
  };
  const lines = [...named, ...memberLines(rest)];
  return lines.length === 0 ? allValueLines(suggestion) : lines;
}

/** A list of rules with what is to become of them, and where they are kept. */
function memberLines({ type, behavior, rules, destination, ...others }: JsonObject): string[] {
  const named = Array.isArray(rules) ? rules.map(ruleIn) : [];
  const isKnown = named.length > 0 && !named.includes(undefined);
  const does = [type, behavior].filter((it) => typeof it === "string");
  const rest: JsonObject = {
    ...(type !== undefined && !(isKnown && typeof type === "string") ? { type } : {}),
    ...(behavior !== undefined && !(isKnown && typeof behavior === "string") ? { behavior } : {}),
    ...(rules !== undefined && !isKnown ? { rules } : {}),
    ...others,
    ...(destination !== undefined && typeof destination !== "string" ? { destination } : {}),
  };
  return [
    ...(isKnown ? named.map((rule) => [...does, rule].join(" ")) : []),
    ...(Object.keys(rest).length > 0 ? allValueLines(rest) : []),
    ...(typeof destination === "string" ? [`scope: ${scopeOf(destination)}`] : []),
  ];
}

/** `Bash(npm test:*)`; undefined for what has other members. */
function ruleIn(rule: Json): string | undefined {
  const { toolName, ruleContent, ...others } = objectIn(rule) ?? {};
  if (typeof toolName !== "string" || Object.keys(others).length > 0) return undefined;
  if (ruleContent === undefined) return `${toolName}, whatever its input`;
  return typeof ruleContent === "string" ? `${toolName}(${ruleContent})` : undefined;
}

const scopes = new Map([
  ["session", "this session"],
  ["localSettings", "this project, for you"],
  ["projectSettings", "this project, for all who work on it"],
  ["userSettings", "all your projects"],
]);

function scopeOf(destination: string): string {
  const words = scopes.get(destination);
  return words === undefined ? destination : `${words} (${destination})`;
}
