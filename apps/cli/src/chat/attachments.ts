// Images that go with the next message: named by path, pasted as a path or as data, or taken from the clipboard.
//
//   What a person attaches is read at once and held: what happens to the file later does not matter.

import { open } from "node:fs/promises";
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

async function readImage(path: string): Promise<Uint8Array> {
  try {
    const file = await open(path, "r");
    try {
      const found = await file.stat();
      if (!found.isFile())
        throw new Fault("invalid", `${path} is no regular file: name an image file.`);
      if (found.size > mostBytes)
        throw new Fault(
          "too_large",
          `${path} is too large: the images of a message may have 11 MiB together. Make it smaller first.`,
        );
      return await file.readFile();
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

/** The bytes of a pasted data URL. */
export function pastedData(text: string): Uint8Array | undefined {
  const found = /^data:image\/[\w.+-]+;base64,([A-Za-z0-9+/\s]+=*)\s*$/.exec(text.trim());
  return found?.[1] === undefined ? undefined : Buffer.from(found[1], "base64");
}
