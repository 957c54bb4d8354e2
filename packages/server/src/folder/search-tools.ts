// `search_tools`: how a model finds deferred tools and switches them on for the rest of its conversation.
//
//   Every word of the query must stand in a tool's name or description. More than five matches switch on none, so that
//   a vague word does not fill the context; a tool's exact name always finds it.

import type { Tool, ToolContext } from "@lichen/engine";
import * as z from "zod";
import { defineTool } from "./define-tool.ts";

export const searchToolsName = "search_tools";
const mostActivated = 5;
const mostListed = 10;

export function searchTools(): Tool {
  return defineTool({
    name: searchToolsName,
    description:
      "Finds tools that you have but do not see yet, by words of their name or description, and switches the matching ones on for this conversation. Search before you say that you cannot do something.",
    input: z.object({
      query: z
        .string()
        .describe("Words that all stand in the tool's name or description, or its exact name."),
    }),
    label: "read",
    replaySafe: true,
    executionMode: "sequential",
    execute: ({ query }, { tools }) => search(query, tools),
  });
}

async function search(query: string, tools: ToolContext["tools"]): Promise<string> {
  const words = query
    .toLowerCase()
    .match(/[\p{L}\p{N}_-]+/gu)
    ?.filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (!words || words.length === 0)
    throw new Error("The query has no words: name what the tool should do.");
  const active = new Set(tools.active());
  const deferred = tools.registered().filter((tool) => tool.deferred);
  const exact = deferred.filter(({ name }) => name === query.trim());
  const matches =
    exact.length > 0
      ? exact
      : deferred.filter(({ name, description }) => {
          const text = `${name} ${description}`.toLowerCase();
          return words.every((word) => text.includes(word));
        });
  if (matches.length === 0) {
    const inactive = deferred.filter(({ name }) => !active.has(name));
    return inactive.length === 0
      ? "No tool matches, and none is hidden any more."
      : `No tool matches. Hidden tools: ${listed(inactive)}.`;
  }
  if (matches.length > mostActivated)
    return `${matches.length} tools match, which is too many to switch on: add words or give one exact name. ${listed(matches)}.`;
  const names = matches.map(({ name }) => name);
  const added = await tools.activate(names);
  const before = names.filter((name) => !added.includes(name));
  return [
    ...(added.length > 0 ? [`Switched on: ${added.join(", ")}.`] : []),
    ...(before.length > 0 ? [`Was on already: ${before.join(", ")}.`] : []),
  ].join(" ");
}

function listed(tools: readonly { name: string }[]): string {
  const names = tools.slice(0, mostListed).map(({ name }) => name);
  const more = tools.length - names.length;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
