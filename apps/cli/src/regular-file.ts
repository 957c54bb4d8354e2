// Reads a file that a person names: never waits for a writer, and never reads more than it was asked for.

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { Fault } from "@lichen/wire";

/** All of a regular file. Throws a `Fault` for anything else, and for more than `maxBytes`. */
export async function readRegular(path: string, maxBytes: number): Promise<Buffer> {
  // Without it, opening a pipe waits for whoever writes into it.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (!(await file.stat()).isFile())
    throw new Fault("invalid", `${path} is no regular file: name one that is.`);
  const bytes = Buffer.allocUnsafe(maxBytes + 1);
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  if (length > maxBytes)
    throw new Fault("too_large", `${path} is larger than ${maxBytes} bytes: name a smaller file.`);
  return bytes.subarray(0, length);
}
