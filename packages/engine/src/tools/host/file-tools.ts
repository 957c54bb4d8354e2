// `read`, `write`, `edit` and `ls`: one file or folder at a time, through the guard.
//
// A write is whole or not at all: the new content stands in a temporary file beside the target, on the disk, before
// it takes the target's name. Edits of one file wait for each other, and an edit of a file that changed meanwhile
// is refused.

import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, type FileHandle, open, rename, stat, unlink } from "node:fs/promises";
import { Fault } from "@lichen/wire";
import * as z from "zod";
import type { Tool } from "../../tool.ts";
import { applyEdits } from "../edits.ts";
import { imageTypeOf } from "../image-type.ts";
import { typedTool } from "../typed-tool.ts";
import { explain, type Folder, type Guard } from "./guard.ts";

const maxLines = 2_000;
const maxTextBytes = 50 * 1_024;
const maxImageBytes = 5 * 1_024 * 1_024;
const maxEditableBytes = 16 * 1_024 * 1_024;
const maxListed = 500;

const Path = z
  .string()
  .min(1)
  .describe("Path of the file, relative to the working directory or absolute");

export function readTool(guard: Guard): Tool {
  return typedTool({
    name: "read",
    description: `Read a text file, or look at an image (PNG, JPEG, GIF, WebP). Gives at most ${maxLines} lines or ${maxTextBytes / 1_024} KB; continue a long file with offset.`,
    input: z.strictObject({
      path: Path,
      offset: z.int().min(1).optional().describe("First line to read, from 1"),
      limit: z.int().min(1).optional().describe("How many lines to read"),
    }),
    label: "read",
    grant: "files",
    async execute({ path, offset = 1, limit = maxLines }, { signal }) {
      await using file = await guard.openFile(path);
      const beginning = await firstBytes(file, 8_192);
      const mimeType = imageTypeOf(beginning);
      if (mimeType) return await imageResult(file, mimeType, path);
      if (beginning.includes(0))
        throw new Fault("invalid", `${path} is a binary file. Use bash to look into it.`);
      const page = await readLines(file, offset, Math.min(limit, maxLines), signal);
      if (page.lines.length === 0 && offset > 1)
        throw new Fault(
          "invalid",
          `${path} has ${page.seen} lines; line ${offset} is past its end.`,
        );
      const next = offset + page.lines.length;
      const notices = [
        page.cutLine && `[Line ${next - 1} is longer than ${maxTextBytes} bytes and was cut.]`,
        page.more && `[There is more. Continue with offset=${next}.]`,
      ].filter((notice) => typeof notice === "string");
      return {
        content: [{ type: "text", text: [page.lines.join("\n"), ...notices].join("\n") }],
        data: {
          path: guard.shown(guard.resolve(path)),
          offset,
          lines: page.lines.length,
          more: page.more,
        },
      };
    },
  });
}

export function writeTool(guard: Guard): Tool {
  return typedTool({
    name: "write",
    description:
      "Write a whole file: makes it (and its folders) or replaces all of its content. Use edit to change a part of a file.",
    input: z.strictObject({ path: Path, content: z.string().describe("The whole content") }),
    label: "write",
    grant: "files",
    replaySafe: false,
    async execute({ path, content }) {
      const { folder, name } = await guard.openParent(path);
      await using parent = folder;
      const isNew = await replaceFile(parent, name, content, path);
      const bytes = Buffer.byteLength(content);
      return {
        content: [
          { type: "text", text: `${isNew ? "Created" : "Replaced"} ${path} (${bytes} bytes).` },
        ],
        data: { path: guard.shown(guard.resolve(path)), bytes, isNew },
      };
    },
  });
}

export function editTool(guard: Guard): Tool {
  const turns = new Map<string, Promise<unknown>>();
  return typedTool({
    name: "edit",
    description:
      "Replace exact pieces of a text file. Each oldText must stand in the file exactly once, unless replaceAll is true. All edits of a call are found in the file as it is now, and happen together or not at all.",
    input: z.strictObject({
      path: Path,
      edits: z
        .array(
          z.strictObject({
            oldText: z
              .string()
              .describe("The exact text to replace, with its spaces and line breaks"),
            newText: z.string().describe("What stands there instead"),
            replaceAll: z.boolean().optional().describe("Replace every occurrence"),
          }),
        )
        .min(1),
    }),
    label: "write",
    grant: "files",
    replaySafe: false,
    execute({ path, edits }) {
      const place = guard.resolve(path);
      const work = async () => {
        const { text, identity } = await editableText(guard, path);
        const edited = applyEdits(text, edits);
        const { folder, name } = await guard.openParent(path);
        await using parent = folder;
        await replaceFile(parent, name, edited.text, path, identity);
        return {
          content: [{ type: "text", text: `Edited ${path}.` }],
          data: { path: guard.shown(place), diff: edited.diff },
        };
      };
      const turn = (turns.get(place) ?? Promise.resolve()).then(work, work);
      const settled = turn
        .catch(() => undefined)
        .then(() => {
          if (turns.get(place) === settled) turns.delete(place);
        });
      turns.set(place, settled);
      return turn;
    },
  });
}

export function lsTool(guard: Guard): Tool {
  return typedTool({
    name: "ls",
    description: "List a folder, hidden names too. Folders end with a slash.",
    input: z.strictObject({
      path: z.string().min(1).optional().describe("The folder; the working directory if left out"),
      limit: z
        .int()
        .min(1)
        .max(5_000)
        .optional()
        .describe(`Names to list at most; ${maxListed} if left out`),
    }),
    label: "read",
    grant: "files",
    async execute({ path = ".", limit = maxListed }) {
      await using folder = await guard.openFolder(path);
      const entries = await folder.entries();
      const names = entries
        .map((entry) => entry.name + (entry.isDirectory() ? "/" : ""))
        .toSorted();
      const shown = names.slice(0, limit);
      if (names.length > limit)
        shown.push(`[${names.length - limit} more. Raise limit to see them.]`);
      return {
        content: [{ type: "text", text: shown.length > 0 ? shown.join("\n") : "(empty)" }],
        data: { path: guard.shown(folder.path), count: names.length },
      };
    },
  });
}

async function firstBytes(file: FileHandle, count: number): Promise<Uint8Array> {
  const { buffer, bytesRead } = await file.read(new Uint8Array(count), 0, count, 0);
  return buffer.subarray(0, bytesRead);
}

async function imageResult(file: FileHandle, mimeType: string, path: string) {
  const { size } = await file.stat();
  if (size > maxImageBytes)
    throw new Fault(
      "too_large",
      `${path} is an image of ${size} bytes; at most ${maxImageBytes} can be shown.`,
    );
  const bytes = await firstBytes(file, maxImageBytes);
  return {
    content: [{ type: "image", mimeType, data: Buffer.from(bytes).toString("base64") }],
    data: { mimeType, bytes: bytes.length },
  };
}

interface Page {
  readonly lines: string[];
  readonly more: boolean;
  readonly cutLine: boolean;
  /** Lines read up to here. */
  readonly seen: number;
}

/** Reads no further than the page and a little more, whatever the file's size. */
async function readLines(
  file: FileHandle,
  offset: number,
  limit: number,
  signal: AbortSignal,
): Promise<Page> {
  const lines: string[] = [];
  let bytes = 0;
  let number = 1;
  let line = "";
  let isLineCut = false;
  let isLineBegun = false;
  /** Takes a finished line; false where the page ends before it. */
  const take = (): boolean => {
    if (number >= offset) {
      const size = Buffer.byteLength(line) + 1;
      if (lines.length === limit || (lines.length > 0 && bytes + size > maxTextBytes)) return false;
      lines.push(line);
      bytes += size;
    }
    number++;
    line = "";
    isLineBegun = false;
    return true;
  };
  const decoder = new TextDecoder();
  for await (const chunk of file.createReadStream({ start: 0, autoClose: false, signal })) {
    const pieces = decoder.decode(chunk, { stream: true }).split("\n");
    for (const [index, piece] of pieces.entries()) {
      if (index > 0 && !take()) return { lines, more: true, cutLine: isLineCut, seen: number };
      if (lines.length === limit) return { lines, more: true, cutLine: isLineCut, seen: number };
      isLineBegun ||= piece !== "";
      if (number < offset) continue;
      line += piece;
      if (line.length > maxTextBytes) {
        line = line.slice(0, maxTextBytes);
        isLineCut ||= lines.length === 0;
      }
    }
  }
  if (isLineBegun && !take()) return { lines, more: true, cutLine: isLineCut, seen: number };
  return { lines, more: false, cutLine: isLineCut, seen: number - 1 };
}

async function editableText(
  guard: Guard,
  path: string,
): Promise<{ text: string; identity: string }> {
  await using file = await guard.openFile(path);
  const found = await file.stat({ bigint: true });
  if (found.size > maxEditableBytes)
    throw new Fault(
      "too_large",
      `${path} has ${found.size} bytes; edit takes files up to ${maxEditableBytes}.`,
    );
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
      await file.readFile(),
    );
    return { text, identity: `${found.ino}:${found.size}:${found.mtimeNs}` };
  } catch (error) {
    throw new Fault("invalid", `${path} is not UTF-8 text, and editing it would damage it.`, {
      cause: error,
    });
  }
}

/** Answers whether the file is new. With `identity`, only the file that was read is replaced. */
async function replaceFile(
  folder: Folder,
  name: string,
  content: string,
  shown: string,
  identity?: string,
): Promise<boolean> {
  const target = folder.at(name);
  const temporary = folder.at(`.${name.slice(0, 100)}.${randomUUID()}.tmp`);
  const found = await stat(target, { bigint: true }).catch(() => undefined);
  if (found && !found.isFile())
    throw new Fault(
      "invalid",
      `${shown} is ${found.isDirectory() ? "a folder" : "not a regular file"}.`,
    );
  if (found) await access(target, constants.W_OK).catch(explain(shown));
  try {
    const file = await open(temporary, "wx", 0o666).catch(explain(shown));
    try {
      await file.writeFile(content);
      if (found) await file.chmod(Number(found.mode & 0o7777n));
      if (found && process.getuid?.() === 0) await file.chown(Number(found.uid), Number(found.gid));
      await file.datasync();
    } finally {
      await file.close();
    }
    if (identity !== undefined) {
      const now = await stat(target, { bigint: true }).catch(explain(shown));
      if (`${now.ino}:${now.size}:${now.mtimeNs}` !== identity)
        throw new Fault("conflict", `${shown} changed while it was being edited. Read it again.`);
    }
    await rename(temporary, target);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    if (Fault.is(error)) throw error;
    explain(shown)(error);
  }
  return found === undefined;
}
