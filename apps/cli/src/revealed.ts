// Text that a person decides on: nothing in it is out of sight.

import type { Json } from "@lichen/wire";

const tab = "   ";
/** Blanks of which more would hide what stands behind them. */
const blanks = /(\p{Zs})\1{63,}/gu;

/**
 * What a person decides on: every character that would not be seen stands as its number, and so do many blanks in a row,
 * with how many they are: `\u{0020}×200000`.
 */
export function revealed(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll(unseen, (char) => (char === "\n" ? char : char === "\t" ? tab : numberOf(char)))
    .replaceAll(blanks, (run: string, blank: string) => `${numberOf(blank)}×${run.length}`)
    .toWellFormed();
}

/** Control, format and separator characters, and letters that are drawn as nothing. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;

/** JSON to be edited: what would not be seen stands as JSON's own escapes, so that it means the same. */
export function escapedJson(value: Json): string {
  return JSON.stringify(value, null, 2).replaceAll(unseen, (char) =>
    char === "\n"
      ? char
      : Array.from({ length: char.length }, (_, at) => char.charCodeAt(at))
          .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
          .join(""),
  );
}

function numberOf(char: string): string {
  return `\\u{${char.codePointAt(0)!.toString(16).padStart(4, "0")}}`;
}
