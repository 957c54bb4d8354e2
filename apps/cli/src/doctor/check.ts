// One thing that `lichen doctor` looked at, and what came of it.

import { oneLine } from "../printable.ts";

export interface Check {
  readonly name: string;
  /** `note`: it works, and somebody may want to know. `fail`: something does not work until it is mended. */
  readonly level: "ok" | "note" | "fail";
  /** What was found. */
  readonly text: string;
  /** How to mend it. */
  readonly fix?: string;
}

export function ok(name: string, text: string): Check {
  return { name, level: "ok", text };
}

export function note(name: string, text: string, fix?: string): Check {
  return { name, level: "note", text, ...(fix === undefined ? {} : { fix }) };
}

export function fail(name: string, text: string, fix: string): Check {
  return { name, level: "fail", text, fix };
}

/** One line each. */
export function shown(checks: readonly Check[]): string {
  const lines = checks.map(({ name, level, text, fix }) => {
    const said = fix === undefined ? text : `${text.replace(/\.$/, "")}: ${fix}`;
    return `${level.padEnd(5)} ${name.padEnd(12)} ${oneLine(said, 2_000)}\n`;
  });
  return lines.join("");
}
