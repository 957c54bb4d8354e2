// Folding: how texts are compared when case, accents and the way characters are composed do not matter.
//
// Also finds the place of a match in the text as it was written, to show what stands around it.

import { cut } from "@lichen/wire";

const snippetUnits = 160;
const leadUnits = 60;
const chunkUnits = 1_024;

/** Two texts that a reader calls the same fold to the same one. Text without accents keeps its length. */
export function fold(text: string): string {
  if (isPlain(text)) return text.toLowerCase();
  return text
    .toWellFormed()
    .replaceAll("\u0000", " ")
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, "")
    .replaceAll("ς", "σ")
    .normalize("NFC");
}

function isPlain(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- all of ASCII but NUL, which ends a text for SQLite's tokenizer
  return /^[\u0001-\u007f]*$/.test(text);
}

/** About 160 characters around the first place where `text` contains the folded `wanted`; undefined where it does not. */
export function snippetAround(text: string, wanted: string): string | undefined {
  const folded = fold(text);
  const at = folded.indexOf(wanted);
  if (at < 0) return undefined;
  const hit = folded.length === text.length ? at : placeOf(text, at);
  let start = Math.max(0, hit - leadUnits);
  if (/[\udc00-\udfff]/.test(text[start] ?? "")) start++;
  const shown = cut(text.slice(start), snippetUnits);
  const words = shown.replace(/\s+/g, " ").trim();
  const isCutAfter = start + shown.length < text.length;
  return `${start > 0 ? "…" : ""}${words}${isCutAfter ? "…" : ""}`;
}

/** The index in `text` of what stands at `at` in its folded form. */
function placeOf(text: string, at: number): number {
  let start = 0;
  let seen = 0;
  while (start < text.length) {
    let end = Math.min(text.length, start + chunkUnits);
    // Never between a character and what composes with it.
    while (end < text.length && /[\p{M}\u1160-\u11ff\udc00-\udfff]/u.test(text[end]!)) end++;
    const length = fold(text.slice(start, end)).length;
    if (seen + length > at) break;
    seen += length;
    start = end;
  }
  let end = start;
  while (end < text.length && seen + fold(text.slice(start, end + 1)).length <= at) end++;
  return end;
}
