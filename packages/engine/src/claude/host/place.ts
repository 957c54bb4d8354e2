// This computer, as the Claude Code driver needs it: processes, uuids, and what Claude Code itself keeps on disk.
//
//   Transcripts are `<config>/projects/<folder>/<conversation>.jsonl`; they are only read, the last 64 MiB of them.

import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Json } from "@lichen/wire";
import * as z from "zod";
import { processHost } from "../../harness/host/launch.ts";
import type { HarnessOptions } from "../../harness/port.ts";
import type { ClaudePlace } from "../place.ts";
import { messageUuid } from "./message-uuid.ts";

const readBytes = 64 * 1024 * 1024;

const Projects = z.looseObject({
  projects: z.record(z.string(), z.looseObject({ hasTrustDialogAccepted: z.boolean().optional() })),
});
const Marked = z.looseObject({ uuid: z.string(), isSidechain: z.boolean().optional() });

export function claudePlace({ env, dir }: Pick<HarnessOptions, "env" | "dir">): ClaudePlace {
  const home = env["HOME"] ?? "";
  const config = env["CLAUDE_CONFIG_DIR"] ?? join(home, ".claude");
  const settings = env["CLAUDE_CONFIG_DIR"]
    ? join(env["CLAUDE_CONFIG_DIR"], ".claude.json")
    : join(home, ".claude.json");
  return {
    processes: processHost,
    isRoot: process.getuid?.() === 0,
    randomUuid: () => randomUUID(),
    messageUuid,
    toBase64: (bytes) => Buffer.from(bytes).toString("base64"),
    stateOf: async (conversation) => {
      const file = await fileOf(config, conversation);
      if (file === undefined) return "unknown";
      return (await isSaid(file)) ? "said" : "begun";
    },
    transcriptFrom: async (conversation, uuid) => {
      const file = await fileOf(config, conversation);
      return file === undefined ? [] : linesFrom(file, uuid);
    },
    isTrusted: async () => {
      try {
        const known = Projects.safeParse(JSON.parse(await readFile(settings, "utf8")));
        return known.data?.projects[dir]?.hasTrustDialogAccepted === true;
      } catch {
        // It has no settings yet, so it was never asked.
        return false;
      }
    },
  };
}

async function fileOf(config: string, conversation: string): Promise<string | undefined> {
  if (!/^[A-Za-z0-9-]+$/.test(conversation)) return undefined;
  const projects = join(config, "projects");
  const folders = await readdir(projects).catch(() => []);
  for (const folder of folders) {
    const file = join(projects, folder, `${conversation}.jsonl`);
    const found = await stat(file).catch(() => undefined);
    if (found?.isFile()) return file;
  }
  return undefined;
}

/** Whether anything was said in it: the first lines may be notes of Claude Code's own. */
async function isSaid(file: string): Promise<boolean> {
  for await (const text of createInterface({ input: createReadStream(file) }))
    if (/"type":"(user|assistant)"/.test(text)) return true;
  return false;
}

async function linesFrom(file: string, uuid: string): Promise<Json[]> {
  const { size } = await stat(file);
  const input = createReadStream(file, { start: Math.max(0, size - readBytes) });
  const found: Json[] = [];
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    if (found.length === 0 && !text.includes(uuid)) continue;
    let line: Json;
    try {
      line = JSON.parse(text) as Json;
    } catch {
      // The last line of a process that was killed.
      continue;
    }
    const { data } = Marked.safeParse(line);
    if (!data || data.isSidechain || (found.length === 0 && data.uuid !== uuid)) continue;
    found.push(line);
  }
  return found;
}
