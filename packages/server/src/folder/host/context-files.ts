// The files that tell an agent about its project: `AGENTS.md` (else `CLAUDE.md`) of its own folder, then of each
// directory from the root of the file system down to where it works.
//
//   Above the place where it works only what its own user has written counts, and nowhere what lies in a directory in
//   which every user puts files, such as /tmp.

import { stat } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type { ContextFile, Diagnostic } from "../definition.ts";
import type { AgentPlace } from "./find-agent.ts";
import { type FolderFiles, type ReadFile, regularFileFix, textOf } from "./folder-files.ts";
import { isWithin, pathFrom } from "./paths.ts";
import type { Stamps } from "./stamps.ts";

/** Of longer files the rest is left out: a prompt is no place for a book. */
export const maxTextBytes = 256 * 1_024;

const names = ["AGENTS.md", "CLAUDE.md"];
const stickyForAll = 0o1002;

export interface ContextOptions {
  readonly files: FolderFiles;
  readonly stamps: Stamps;
  readonly diagnostics: Diagnostic[];
  /** False for the agent's own file alone. */
  readonly projectContext: boolean;
}

export async function readContextFiles(
  { dir, cwd }: Pick<AgentPlace, "dir" | "cwd">,
  { files, stamps, diagnostics, projectContext }: ContextOptions,
): Promise<ContextFile[]> {
  const found: ContextFile[] = [];
  for (const place of new Set([dir, ...(projectContext ? downTo(cwd) : [])])) {
    for (const name of names) {
      const path = join(place, name);
      const file = relative(dir, path);
      stamps.note(path);
      const read = await files.read(path, place, maxTextBytes);
      if (read === undefined) continue;
      const problem = read.problem ?? (await strangeness(read, place, dir, cwd));
      if (problem !== undefined) {
        diagnostics.push({ severity: "warning", file, problem, fix: regularFileFix });
        continue;
      }
      if (read.problem !== undefined) continue;
      if (read.isCut) diagnostics.push(tooLong(file));
      found.push({ path: pathFrom(cwd, path), content: textOf(read) });
      break;
    }
  }
  return found;
}

export function tooLong(file: string): Diagnostic {
  return {
    severity: "warning",
    file,
    problem: `is larger than ${maxTextBytes / 1_024} KiB; the rest is left out`,
    fix: "keep what the agent always needs, and make the rest a skill or a file it can read",
  };
}

function downTo(cwd: string): string[] {
  const places = [cwd];
  for (let at = cwd; at !== dirname(at); at = dirname(at)) places.unshift(dirname(at));
  return places;
}

/** Why somebody else may have written the file. The agent's own folder was chosen by its owner. */
async function strangeness(
  { uid }: ReadFile,
  place: string,
  dir: string,
  cwd: string,
): Promise<string | undefined> {
  if (place === dir) return undefined;
  const folder = await stat(place).catch(() => undefined);
  if (folder && (folder.mode & stickyForAll) === stickyForAll)
    return "lies in a directory in which every user puts files, so it is not read";
  const own = process.getuid?.();
  if (own === undefined || uid === own || isWithin(place, cwd)) return undefined;
  return "belongs to another user, so it is not read";
}
