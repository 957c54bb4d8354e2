// Where the notes are: one Markdown file each, in `notes/` beside this file. A note's title decides its name.

import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, unlink } from "node:fs/promises";
import { join } from "node:path";

const folder = join(import.meta.dirname, "notes");

/** `Shopping list!` is kept as `shopping-list`; a name never leaves the folder. */
export function slugOf(title: string): string {
  const slug = title
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "-")
    .replace(/^-+|-+$/g, "");
  if (slug === "" || Buffer.byteLength(slug) > 100)
    throw new Error(
      `"${title}" makes no name for a note. Choose a shorter title with letters in it.`,
    );
  return slug;
}

/** Writes a note as a whole or not at all. Answers false where it stands there already, word for word. */
export async function writeNote(slug: string, text: string): Promise<boolean> {
  if ((await readNote(slug)) === text) return false;
  await mkdir(folder, { recursive: true });
  const temporary = join(folder, `.${randomUUID()}.tmp`);
  try {
    await using file = await open(temporary, "wx");
    await file.writeFile(text);
    await file.datasync();
    await rename(temporary, placeOf(slug));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  return true;
}

export async function readNote(slug: string): Promise<string | undefined> {
  try {
    return await readFile(placeOf(slug), "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export async function noteSlugs(): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const names = await readdir(folder);
  return names
    .filter((name) => name.endsWith(".md"))
    .map((name) => name.slice(0, -3))
    .toSorted();
}

/** Answers false where there was none. */
export async function deleteNote(slug: string): Promise<boolean> {
  try {
    await unlink(placeOf(slug));
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

function placeOf(slug: string): string {
  return join(folder, `${slug}.md`);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}
