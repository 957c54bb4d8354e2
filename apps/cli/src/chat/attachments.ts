// Images that go with the next message: named by path, pasted as a path or as data, or taken from the clipboard.
//
//   What a person attaches is read at once and held: what happens to the file later does not matter.

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Fault, imageTypeOf, type ImageType } from "@lichen/wire";

export interface Attachment {
  readonly name: string;
  readonly mimeType: ImageType;
  readonly data: Uint8Array;
}

/** The most bytes of images in one message; as base64 they fit into what a host takes. */
const mostBytes = 11 * 1_048_576;

export class Attachments {
  #held: Attachment[] = [];

  get all(): readonly Attachment[] {
    return this.#held;
  }

  /** Throws a `Fault` for what is no image that models take, or too much. */
  add(name: string, data: Uint8Array): Attachment {
    const mimeType = imageTypeOf(data);
    if (mimeType === undefined)
      throw new Fault(
        "invalid",
        `${name} is no image that models take (PNG, JPEG, GIF, WebP): attach one of these.`,
      );
    const total = this.#held.reduce((sum, image) => sum + image.data.length, data.length);
    if (total > mostBytes)
      throw new Fault(
        "too_large",
        `${name} is too much: the images of a message may have 11 MiB together. Make it smaller first.`,
      );
    const attachment: Attachment = { name, mimeType, data };
    this.#held.push(attachment);
    return attachment;
  }

  async addFile(path: string): Promise<Attachment> {
    return this.add(basename(path), await readImage(path));
  }

  /** Holds what was held before, however much it is: the host says what is too much. */
  restore(name: string, data: Uint8Array): void {
    const mimeType = imageTypeOf(data);
    if (mimeType !== undefined) this.#held.push({ name, mimeType, data });
  }

  removeLast(): Attachment | undefined {
    return this.#held.pop();
  }

  /** All that is held, which is held no more. */
  take(): Attachment[] {
    const taken = this.#held;
    this.#held = [];
    return taken;
  }
}

/** Never waits for a writer and never reads more than fits, whatever stands at the path. */
async function readImage(path: string): Promise<Uint8Array> {
  try {
    // Without it, opening a pipe waits for whoever writes into it, and leaving the chat would wait too.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile())
        throw new Fault("invalid", `${path} is no regular file: name an image file.`);
      const bytes = await readUpTo(file, mostBytes + 1);
      if (bytes.length > mostBytes)
        throw new Fault(
          "too_large",
          `${path} is too large: the images of a message may have 11 MiB together. Make it smaller first.`,
        );
      return bytes;
    } finally {
      await file.close();
    }
  } catch (error) {
    if (Fault.is(error)) throw error;
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    throw new Fault(
      "invalid",
      code === "ENOENT"
        ? `There is no file ${path}: check the path.`
        : `${path} cannot be read (${code || String(error)}): check its rights.`,
    );
  }
}

/** The first bytes of a file: a file that grows while it is read has no end. */
async function readUpTo(file: FileHandle, most: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (let length = 0; length < most;) {
    const piece = Buffer.allocUnsafe(Math.min(1_048_576, most - length));
    const { bytesRead } = await file.read(piece, 0, piece.length, length);
    if (bytesRead === 0) break;
    pieces.push(piece.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(pieces);
}

/** The path that a typed word means. */
export function pathOf(typed: string, cwd: string): string {
  if (typed === "~" || typed.startsWith("~/")) return join(homedir(), typed.slice(1));
  return isAbsolute(typed) ? typed : resolve(cwd, typed);
}

/** The image file that a pasted text is the path of, as terminals paste a dropped file: plain, quoted, escaped, a URL. */
export function pastedPath(text: string, cwd: string): string | undefined {
  const line = text.trim();
  if (line === "" || line.includes("\n") || line.length > 4_096) return undefined;
  let path: string;
  if (line.startsWith("file://")) {
    try {
      path = fileURLToPath(line);
    } catch {
      return undefined;
    }
  } else {
    const quoted = /^'(.*)'$/.exec(line) ?? /^"(.*)"$/.exec(line);
    path = quoted?.[1] ?? line.replaceAll(/\\(.)/g, "$1");
  }
  return /\.(png|jpe?g|gif|webp)$/i.test(path) ? pathOf(path, cwd) : undefined;
}

/** The bytes of a pasted data URL. Costs no more than the length of the text. */
export function pastedData(text: string): Uint8Array | undefined {
  const head = /^\s*data:image\/[\w.+-]{1,64};base64,/.exec(text.slice(0, 256))?.[0];
  if (head === undefined) return undefined;
  const data = text
    .slice(head.length)
    .replaceAll(/\s+/g, "")
    .replace(/={1,2}$/, "");
  if (data === "" || /[^A-Za-z0-9+/]/.test(data)) return undefined;
  return Buffer.from(data, "base64");
}
