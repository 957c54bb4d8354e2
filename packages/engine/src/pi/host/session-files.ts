// Reads pi's session files without reading more of them than is needed: they grow without an end.

import { closeSync, createReadStream, openSync, readSync, realpathSync } from "node:fs";
import { open } from "node:fs/promises";
import type { JsonObject } from "@lichen/wire";
import { textAt } from "../codec.ts";
import { entryOf, idOf, type SessionFiles } from "../session-file.ts";

const headerBytes = 64 * 1024;
const tailBytes = 64 * 1024;

export const sessionFiles: SessionFiles = {
  folder(file) {
    const head = headOf(file);
    const header = head === undefined ? undefined : entryOf(head.split("\n", 1)[0] ?? "");
    return (header && textAt(header, "cwd")) || undefined;
  },
  isSameFolder: (a, b) => realPath(a) === realPath(b),
  lastId,
  entriesAfter,
};

function headOf(file: string): string | undefined {
  try {
    const descriptor = openSync(file, "r");
    try {
      const bytes = Buffer.alloc(headerBytes);
      return bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, headerBytes, 0));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return undefined;
  }
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

async function lastId(file: string): Promise<string | undefined> {
  const handle = await open(file, "r").catch(absent);
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat();
    for (let length = tailBytes; ; length *= 4) {
      const from = Math.max(size - length, 0);
      const { buffer } = await handle.read(Buffer.alloc(size - from), 0, size - from, from);
      const lines = buffer.toString("utf8").split("\n");
      // The first may be the end of a longer one.
      if (from > 0) lines.shift();
      for (const line of lines.reverse()) {
        const entry = line === "" ? undefined : entryOf(line);
        const id = entry && idOf(entry);
        if (id !== undefined) return id;
      }
      if (from === 0) return undefined;
    }
  } finally {
    await handle.close();
  }
}

async function entriesAfter(
  file: string,
  id: string | undefined,
): Promise<JsonObject[] | undefined> {
  const handle = await open(file, "r").catch(absent);
  if (!handle) return undefined;
  await handle.close();
  const entries: JsonObject[] = [];
  const mark = id === undefined ? undefined : JSON.stringify(id);
  let isAfter = mark === undefined;
  // Only whole lines of the file end in a newline; the separators of Unicode are escaped or inside a string.
  for await (const line of linesOf(file)) {
    if (!isAfter && mark !== undefined && !line.includes(mark)) continue;
    const entry = entryOf(line);
    if (!entry) continue;
    if (isAfter) entries.push(entry);
    else if (idOf(entry) === id) isAfter = true;
  }
  return isAfter ? entries : undefined;
}

/** Lines that end in a line feed, and the rest. `readline` would also cut at separators of Unicode. */
async function* linesOf(file: string): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  for await (const chunk of createReadStream(file)) {
    const bytes = chunk as Buffer;
    let from = 0;
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, from)) {
      yield Buffer.concat([...rest, bytes.subarray(from, at)]).toString("utf8");
      rest = [];
      from = at + 1;
    }
    rest.push(bytes.subarray(from));
  }
  yield Buffer.concat(rest).toString("utf8");
}

function absent(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return undefined;
  throw error;
}
