// A server's list of tools, bounded and cleaned where it comes in: it is text of somebody else, and code, people and
// models will read it.
//
//   A tool is left out where its name is no name, or is there already. A description is cut, a schema that is too large
//   or too deep gives way to one that takes any object. Nothing that a server says here is a reason to fail.

import type { JsonObject } from "../../json.ts";
import { isObject } from "../read-json.ts";
import { plain } from "./trouble.ts";

const most = { tools: 10_000, description: 8_000, schemaCharacters: 128_000, depth: 32 };

/** What a server answers to `tools/list`, with only the tools that can be offered; anything else as it is. */
export function cleanTools(result: Record<string, unknown>): Record<string, unknown> {
  if (!Array.isArray(result["tools"])) return result;
  const seen = new Set<string>();
  const tools = result["tools"].slice(0, most.tools).flatMap((tool: unknown) => {
    if (!isObject(tool) || !isName(tool["name"]) || seen.has(tool["name"])) return [];
    seen.add(tool["name"]);
    return [cleanTool(tool)];
  });
  return { ...result, tools };
}

/** Whether a tool of this name is offered: 1 to 128 visible characters. */
function isName(name: unknown): name is string {
  return (
    typeof name === "string" &&
    name.length <= 128 &&
    name !== "__proto__" &&
    /^[^\s\p{C}\p{Z}](?:[^\p{C}\p{Zl}\p{Zp}]*[^\s\p{C}\p{Z}])?$/u.test(name)
  );
}

function cleanTool(tool: Readonly<Record<string, unknown>>): Record<string, unknown> {
  // Only what is read: hints, icons and annotations of a server count for nothing.
  const { name, title, description, inputSchema, outputSchema } = tool;
  return {
    name,
    ...(typeof title === "string" ? { title: plain(title, 200) } : {}),
    ...(typeof description === "string"
      ? { description: plain(description, most.description) }
      : {}),
    inputSchema: isObject(inputSchema) && fits(inputSchema) ? inputSchema : { type: "object" },
    ...(isObject(outputSchema) && fits(outputSchema) ? { outputSchema } : {}),
  };
}

/** Whether a schema is small and shallow enough to be read by all who read schemas. */
function fits(schema: JsonObject): boolean {
  let characters = 0;
  const open: { value: unknown; depth: number }[] = [{ value: schema, depth: 1 }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value === "string") characters += value.length;
    characters += 8;
    if (characters > most.schemaCharacters || depth > most.depth) return false;
    if (typeof value !== "object" || value === null) continue;
    for (const [key, held] of Object.entries(value)) {
      if (key === "__proto__") return false;
      characters += key.length;
      open.push({ value: held, depth: depth + 1 });
    }
  }
  return true;
}
