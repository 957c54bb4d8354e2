// An OpenAPI document that a connection names as a file: a regular file only, read no further than a bound, and without
// waiting for whoever is at the other end of a pipe.

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { OperationError } from "@lichen/capability";

const maxBytes = 32 * 1_024 * 1_024;
const step = 1_024 * 1_024;

/** The text of the file at `path`; `name` is what its connection calls it. Throws an `OperationError` `bad_document`. */
export async function readSpecFile(
  path: string,
  name: string,
  signal: AbortSignal,
): Promise<string> {
  // Opening a pipe would wait for its other end.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const found = await file.stat();
  if (!found.isFile()) throw unread(name, "is no regular file: name one that is");
  if (found.size > maxBytes)
    throw unread(name, `has more than ${maxBytes} bytes, which are the most`);
  const parts: Buffer[] = [];
  let size = 0;
  // It may grow meanwhile.
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await file.read(Buffer.alloc(step), 0, step, size);
    if (bytesRead === 0) return new TextDecoder().decode(Buffer.concat(parts));
    parts.push(buffer.subarray(0, bytesRead));
    size += bytesRead;
    if (size > maxBytes) throw unread(name, `has more than ${maxBytes} bytes, which are the most`);
  }
}

function unread(name: string, why: string): OperationError {
  return new OperationError("bad_document", `The OpenAPI document ${name.slice(0, 100)} ${why}.`);
}
