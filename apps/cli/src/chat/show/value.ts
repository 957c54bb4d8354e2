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

/** The same as one JSON text, for reading alone. */
export function jsonInWords(value: Json): string {
  return JSON.stringify(value, (_, it: Json) => stringIn(it) ?? it);
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
  write({ lines, most: maxLines }, "", "", value, 0);
  return lines;
}

/** Every line, not yet clean; an object that looks like a reference is shown as what it is. */
export function allValueLines(value: Json): string[] {
  const lines: string[] = [];
  write({ lines, most: Infinity }, "", "", value, 0);
  return lines;
}

interface Written {
  readonly lines: string[];
  /** Without a bound nothing is left out, nor said in other words. */
  readonly most: number;
}

/** Writes a value behind `lead`; what goes over more lines stands below, further in. */
function write(to: Written, indent: string, lead: string, value: Json, depth: number): void {
  const { lines, most } = to;
  const isAll = most === Infinity;
  if (lines.length >= most) {
    if (lines.length === most) lines.push("…");
    return;
  }
  const text = isAll ? (typeof value === "string" ? value : undefined) : stringIn(value);
  if (text !== undefined) {
    if (!text.includes("\n")) lines.push(`${indent}${lead}${text}`);
    else {
      const within = lead === "" ? indent : `${indent}  `;
      if (lead !== "") lines.push(`${indent}${lead}`.trimEnd());
      for (const line of text.split("\n", isAll ? undefined : most)) lines.push(within + line);
    }
    return;
  }
  if (typeof value !== "object" || value === null || depth === maxDepth) {
    const isCut = depth === maxDepth && !isAll;
    lines.push(`${indent}${lead}${isCut ? "…" : JSON.stringify(value)}`);
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
  for (const [key, member] of members) write(to, within, key, member, depth + 1);
}
