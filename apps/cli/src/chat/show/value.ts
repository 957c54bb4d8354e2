// JSON and stored text in words, for reading: `key: value` line by line, what was put aside by its size.

import type { BlobRef, Json, JsonObject, Text } from "@lichen/wire";
import { bytesInWords } from "./amounts.ts";

const maxLines = 2_000;
const maxDepth = 12;

/** The text, or what stands for it where it is kept beside the log. */
export function textIn(text: Text): string {
  return typeof text === "string" ? text : asideInWords(text);
}

function asideInWords({ bytes, mimeType }: BlobRef): string {
  const what = mimeType.startsWith("text/") ? "text" : mimeType;
  return `[${bytesInWords(bytes)} of ${what} in the log]`;
}

/** `[image png 34 kB]`. */
export function imageInWords({ bytes, mimeType }: BlobRef): string {
  return `[${mimeType.replace("/", " ")} ${bytesInWords(bytes)}]`;
}

export function objectIn(value: Json | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

export function stringIn(value: Json | undefined): string | undefined {
  if (typeof value === "string") return value;
  const ref = asideIn(value);
  return ref && asideInWords(ref);
}

/** The reference that stands where a large value was put aside. */
function asideIn(value: Json | undefined): BlobRef | undefined {
  const { blob, mimeType, bytes } = objectIn(value) ?? {};
  return typeof blob === "string" && typeof mimeType === "string" && typeof bytes === "number"
    ? { blob, mimeType, bytes }
    : undefined;
}

/** At most 2,000 lines, not yet clean. */
export function valueLines(value: Json): string[] {
  const lines: string[] = [];
  write(lines, "", "", value, 0);
  return lines;
}

/** Writes a value behind `lead`; what goes over more lines stands below, further in. */
function write(lines: string[], indent: string, lead: string, value: Json, depth: number): void {
  if (lines.length >= maxLines) {
    if (lines.length === maxLines) lines.push("…");
    return;
  }
  const text = stringIn(value);
  if (text !== undefined) {
    if (!text.includes("\n")) lines.push(`${indent}${lead}${text}`);
    else {
      const within = lead === "" ? indent : `${indent}  `;
      if (lead !== "") lines.push(`${indent}${lead}`.trimEnd());
      for (const line of text.split("\n", maxLines)) lines.push(within + line);
    }
    return;
  }
  if (typeof value !== "object" || value === null || depth === maxDepth) {
    lines.push(`${indent}${lead}${depth === maxDepth ? "…" : JSON.stringify(value)}`);
    return;
  }
  const members: [string, Json][] = Array.isArray(value)
    ? value.map((item) => ["- ", item])
    : Object.entries(value).map(([key, member]) => [`${key}: `, member]);
  if (members.length === 0) {
    lines.push(`${indent}${lead}${Array.isArray(value) ? "(none)" : "(empty)"}`);
    return;
  }
  if (lead !== "") lines.push(`${indent}${lead}`.trimEnd());
  const within = lead === "" ? indent : `${indent}  `;
  for (const [key, member] of members) write(lines, within, key, member, depth + 1);
}
