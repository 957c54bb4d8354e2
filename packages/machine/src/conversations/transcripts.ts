// The transcripts of this computer: where Claude Code and pi keep them, newest first, and the one of an id.
//
//   AD5  An id is only compared with names of files: nothing in it is a pattern or a path.

import { lstat, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Places } from "../harnesses/harness.ts";
import { placeOf } from "../sessions/session-name.ts";
import { type TranscriptHarness, transcriptHarnesses } from "./transcript.ts";

export interface Transcript {
  readonly harness: TranscriptHarness;
  /** The harness's own id of the conversation. */
  readonly id: string;
  readonly file: string;
  /** The folder that its harness keeps transcripts in. */
  readonly root: string;
  /** In bytes, more than none. */
  readonly size: number;
  readonly modifiedMs: number;
}

/** An id that a harness may have given a conversation. */
export function isConversationId(harness: TranscriptHarness, id: string): boolean {
  if (id.length > 200 || id.startsWith(".")) return false;
  return harness === "claude"
    ? /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/.test(id)
    : /^[^/\\*?[\]\p{Cc}]+$/u.test(id);
}

/** All that hold something, newest first. */
export async function transcripts(places: Places): Promise<Transcript[]> {
  const found = await Promise.all(transcriptHarnesses.map((harness) => ofHarness(harness, places)));
  return found.flat().sort((a, b) => b.modifiedMs - a.modifiedMs);
}

/** Those of one conversation, newest first: a copied folder holds another of the same id. */
export async function transcriptsOf(
  harness: TranscriptHarness,
  id: string,
  places: Places,
): Promise<Transcript[]> {
  const found = await ofHarness(harness, places, id);
  return found.sort((a, b) => b.modifiedMs - a.modifiedMs);
}

/** The folder that a harness keeps its transcripts in, with the user's own settings for it. */
export function rootOf(harness: TranscriptHarness, { env, home }: Places): string {
  if (harness === "claude") {
    const config = named(env["CLAUDE_CONFIG_DIR"], home) ?? join(home, ".claude");
    return join(config, "projects");
  }
  const agent = named(env["PI_CODING_AGENT_DIR"], home) ?? join(home, ".pi", "agent");
  return named(env["PI_CODING_AGENT_SESSION_DIR"], home) ?? join(agent, "sessions");
}

/** The same for a transcript that was found there, whatever those settings are by now. */
export function rootAround(file: string): string {
  return dirname(dirname(file));
}

async function ofHarness(
  harness: TranscriptHarness,
  places: Places,
  wanted?: string,
): Promise<Transcript[]> {
  const root = rootOf(harness, places);
  // Those of pi lie there, or in a folder for each directory.
  const folders = [...(harness === "pi" ? [root] : []), ...(await foldersIn(root))];
  const found = await Promise.all(
    folders.map((folder) => inFolder({ harness, root, folder }, wanted)),
  );
  return found.flat();
}

async function inFolder(
  {
    harness,
    root,
    folder,
  }: { readonly harness: TranscriptHarness; readonly root: string; readonly folder: string },
  wanted: string | undefined,
): Promise<Transcript[]> {
  const names = await namesIn(folder);
  const found = await Promise.all(
    names.map(async (name) => {
      const id = idIn(harness, name);
      if (id === undefined || (wanted !== undefined && id !== wanted)) return [];
      const file = join(folder, name);
      const stat = await lstat(file).catch(() => undefined);
      if (!stat?.isFile() || stat.size === 0) return [];
      return [{ harness, id, file, root, size: stat.size, modifiedMs: stat.mtimeMs }];
    }),
  );
  return found.flat();
}

/** The id that a file is named by; those of sub-agents are no conversations. */
function idIn(harness: TranscriptHarness, name: string): string | undefined {
  if (!name.endsWith(".jsonl")) return undefined;
  const stem = name.slice(0, -".jsonl".length);
  const id = harness === "claude" ? stem : stem.slice(stem.indexOf("_") + 1);
  if (harness === "claude" ? stem.startsWith("agent-") : !stem.includes("_")) return undefined;
  return isConversationId(harness, id) ? id : undefined;
}

function named(place: string | undefined, home: string): string | undefined {
  return place === undefined || place.trim() === "" || !/^(~(\/|$)|\/)/.test(place)
    ? undefined
    : placeOf(place, home);
}

async function foldersIn(folder: string): Promise<string[]> {
  const names = await namesIn(folder);
  return names.filter((name) => !name.endsWith(".jsonl")).map((name) => join(folder, name));
}

/** Nothing where it is no folder, or nobody's here. */
async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => []);
}
