// Looks through the text files of a folder, bounded in files, bytes and hits.

import { OperationError } from "../../failure.ts";
import { oneLine } from "../read-json.ts";
import { joined } from "./file-path.ts";
import type { FileStore } from "./file-store.ts";
import { textOf } from "./text.ts";

const most = { entries: 10_000, files: 1_000, fileBytes: 524_288, depth: 32, lineChars: 300 };

export interface Hit {
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

export async function searchFiles(
  store: FileStore,
  wanted: { readonly text: string; readonly path: string; readonly limit: number },
  signal: AbortSignal,
): Promise<{ found: Hit[]; isWhole: boolean }> {
  const needle = wanted.text.toLowerCase();
  const found: Hit[] = [];
  const folders = [{ path: wanted.path, depth: 0 }];
  let entries = 0;
  let files = 0;
  let isWhole = true;
  for (let folder = folders.shift(); folder; folder = folders.shift()) {
    for (const { name, kind } of await listed(store, folder.path, folder.depth > 0)) {
      signal.throwIfAborted();
      if (++entries > most.entries) return { found, isWhole: false };
      const path = joined(folder.path, name);
      if (kind === "folder") {
        if (folder.depth < most.depth) folders.push({ path, depth: folder.depth + 1 });
        else isWhole = false;
      }
      if (kind !== "file") continue;
      if (++files > most.files) return { found, isWhole: false };
      const text = await readable(store, path);
      if (text === undefined) isWhole = false;
      for (const [at, line] of (text ?? "").split("\n").entries()) {
        if (!line.toLowerCase().includes(needle)) continue;
        if (found.length === wanted.limit) return { found, isWhole: false };
        found.push({ path, line: at + 1, text: oneLine(line, most.lineChars) });
      }
    }
  }
  return { found, isWhole };
}

/** What cannot be listed below the folder that was asked for is passed over. */
async function listed(store: FileStore, path: string, mayFail: boolean) {
  try {
    const entries = await store.list(path);
    return entries.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if (mayFail && error instanceof OperationError) return [];
    throw error;
  }
}

/** Empty for what is no text; undefined for what could not be looked through. */
async function readable(store: FileStore, path: string): Promise<string | undefined> {
  try {
    const { bytes, size } = await store.read(path, 0, most.fileBytes);
    if (size > most.fileBytes) return undefined;
    return textOf(bytes) ?? "";
  } catch (error) {
    if (error instanceof OperationError) return undefined;
    throw error;
  }
}
