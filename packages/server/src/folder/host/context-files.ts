// The files that tell an agent about its project: `AGENTS.md` (else `CLAUDE.md`) of its own folder, then of each
// directory from the root of the file system down to where it works.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ContextFile } from "../definition.ts";
import { pathFrom } from "./paths.ts";
import type { Stamps } from "./stamps.ts";

/** Longer files are cut: a prompt is no place for a book. */
export const textLimit = 131_072;

export function readContextFiles(
  dir: string,
  cwd: string,
  stamps: Stamps,
): { files: ContextFile[]; cut: string[] } {
  const above: string[] = [];
  for (let at = cwd; ; at = dirname(at)) {
    above.unshift(at);
    if (at === dirname(at)) break;
  }
  const files: ContextFile[] = [];
  const cut: string[] = [];
  for (const place of new Set([dir, ...above])) {
    for (const name of ["AGENTS.md", "CLAUDE.md"]) {
      const path = join(place, name);
      stamps.note(path);
      const content = readText(path);
      if (content === undefined) continue;
      const shown = pathFrom(cwd, path);
      if (content.length > textLimit) cut.push(shown);
      files.push({ path: shown, content: content.slice(0, textLimit) });
      break;
    }
  }
  return { files, cut };
}

/** The text of a file; undefined where there is none to read. */
export function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").replace(/^\uFEFF/, "");
  } catch {
    return undefined;
  }
}
