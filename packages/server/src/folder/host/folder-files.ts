// The one door through which a host reads the files of an agent's folder. Whoever can write there, an agent's tools
// among them, can put anything in a file's place.
//
//   Only a regular file is read, no further than a bound, and without blocking anybody. It really lies in the folder it
//   is read from (a link inside of it is fine), and is none of the host's own places under another name: what counts
//   is the opened file, not its path.

import { lstat } from "node:fs/promises";
import { Guard, standsForNothing } from "@lichen/engine/node";
import { Fault } from "@lichen/wire";

export interface ReadFile {
  readonly bytes: Buffer;
  /** Whether there is more of it. */
  readonly isCut: boolean;
  /** The user it belongs to. */
  readonly uid: number;
  readonly problem?: undefined;
}

/** Why a file is not read, to be said after its name; holds no absolute path. */
export interface Unread {
  readonly problem: string;
}

export const regularFileFix = "put a regular file of its own in its place";

export class FolderFiles {
  readonly #protected: readonly string[];

  /** `protectedPaths` are the host's own places, there or not yet. */
  constructor(protectedPaths: readonly string[]) {
    this.#protected = protectedPaths;
  }

  /** At most `maxBytes` of a file; undefined where there is nothing. `within` is a real path. */
  async read(
    path: string,
    within: string,
    maxBytes: number,
  ): Promise<ReadFile | Unread | undefined> {
    if (!(await lstat(path).catch(() => undefined)) || standsForNothing(path)) return undefined;
    try {
      const guard = new Guard({ cwd: within, protectedPaths: this.#protected });
      await using file = await guard.openFile(path, within);
      const { uid, size } = await file.stat();
      const bytes = Buffer.alloc(Math.min(size, maxBytes));
      let length = 0;
      while (length < bytes.length) {
        const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      return { bytes: bytes.subarray(0, length), isCut: size > maxBytes, uid };
    } catch (error) {
      if (!Fault.is(error)) return { problem: `cannot be read (${codeOf(error)})` };
      if (error.code === "denied")
        return {
          problem:
            "is a link that leaves the agent's folder or the project's, or another name of something of the host's, so it is not read",
        };
      return { problem: error.message.replace(path, "").trim().replace(/\.$/, "") };
    }
  }
}

/** What is read as text: a byte order mark is no part of it, nor is a character that the bound has cut. */
export function textOf({ bytes, isCut }: ReadFile): string {
  return new TextDecoder().decode(bytes, { stream: isCut });
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown reason";
}
