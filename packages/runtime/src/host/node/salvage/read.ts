// Reading bytes of a file that may be damaged, or lie on a disk that is.

import { readSync } from "node:fs";

/** `bytes` from `at` on, zeros where the file ends earlier; undefined where the disk fails. */
export function read(file: number, at: number, bytes: number): Buffer | undefined {
  const buffer = Buffer.alloc(bytes);
  try {
    for (let done = 0; done < bytes;) {
      const got = readSync(file, buffer, done, bytes - done, at + done);
      if (got === 0) break;
      done += got;
    }
    return buffer;
  } catch {
    return undefined;
  }
}
