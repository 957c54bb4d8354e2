// Lines of transcripts that coding agents keep on disk: what a person typed, what the model said, and where it ran.
// Never trusts their shape: a line that is torn, or of another kind, says nothing.
//
//   AD4  Only the conversation's own words count: no tool's, no sub-agent's, none that a harness wrote by itself.

import type { Json, JsonObject } from "@lichen/wire";
import { objectIn } from "../events/lines.ts";
import { objectsIn, textAt } from "../harnesses/stream-json.ts";

/** Whose transcripts can be read. */
export const transcriptHarnesses = ["claude", "pi"] as const;
export type TranscriptHarness = (typeof transcriptHarnesses)[number];

/** One turn of a conversation, as a person reads it. */
export interface Turn {
  readonly role: "user" | "assistant";
  readonly text: string;
  /** RFC 3339; empty where the line has none. */
  readonly time: string;
}

/** The turn that a line is; undefined for all others. */
export function turnOf(harness: TranscriptHarness, line: string): Turn | undefined {
  if (!mayBeTurn(line)) return undefined;
  const fields = fieldsOf(line);
  const { role, text } = harness === "claude" ? ofClaude(fields) : ofPi(fields);
  if ((role !== "user" && role !== "assistant") || text.trim() === "") return undefined;
  const at = textAt(fields, "timestamp");
  return { role, text, time: Number.isNaN(Date.parse(at)) ? "" : at };
}

/** The directory that a line says the conversation runs in. */
export function directoryIn(line: string): string | undefined {
  if (!line.includes('"cwd"')) return undefined;
  const cwd = textAt(fieldsOf(line), "cwd");
  return cwd.startsWith("/") ? cwd : undefined;
}

/** Results of tools are most of a transcript. What stands here cannot stand so within a text: its quotes would be escaped. */
function mayBeTurn(line: string): boolean {
  return (
    line.includes('"message"') &&
    !line.includes('"type":"tool_result"') &&
    !line.includes('"role":"toolResult"') &&
    !line.includes('"isSidechain":true')
  );
}

function fieldsOf(line: string): JsonObject {
  try {
    return objectIn(JSON.parse(line) as Json);
  } catch {
    // The last line of a process that was killed, or one that is still being written.
    return {};
  }
}

interface Words {
  readonly role: string;
  readonly text: string;
}

const none: Words = { role: "", text: "" };

function ofClaude(fields: JsonObject): Words {
  const type = textAt(fields, "type");
  const isOwn = ["isMeta", "isSidechain", "isCompactSummary"].every((it) => fields[it] !== true);
  const { content, model } = objectIn(fields["message"]);
  if (!isOwn || model === "<synthetic>") return none;
  if (type === "assistant") return { role: type, text: textOf(content) };
  if (type !== "user") return none;
  const text = typedIn(content);
  // What Claude Code puts there itself: commands of its own and what they put out.
  return text.trimStart().startsWith("<") ? none : { role: type, text };
}

/** What was typed: a text, or what was typed beside pictures. */
function typedIn(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return objectsIn(content).some(({ type }) => type === "image") ? textOf(content) : "";
}

function ofPi(fields: JsonObject): Words {
  if (fields["type"] !== "message") return none;
  const { role, content } = objectIn(fields["message"]);
  return { role: typeof role === "string" ? role : "", text: textOf(content) };
}

function textOf(content: Json | undefined): string {
  if (typeof content === "string") return content;
  return objectsIn(content)
    .filter(({ type }) => type === "text")
    .map((block) => textAt(block, "text"))
    .join("\n");
}
