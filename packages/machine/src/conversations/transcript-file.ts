// A transcript's file, read by its owner only as far as it is needed: its end, its beginning, or line by line.
//
//   AD3  What is read of a transcript is bounded, whatever its size, and only a regular file is read: a link leads nowhere.

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import type { Turn } from "./transcript.ts";

const pieceBytes = 131_072;

/** Reads with the open file; undefined where there is no regular one under this name. */
async function within<T>(
  path: string,
  read: (file: FileHandle, size: number) => Promise<T>,
): Promise<T | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
  if (!file) return undefined;
  try {
    const stat = await file.stat();
    return stat.isFile() ? await read(file, stat.size) : undefined;
  } finally {
    await file.close();
  }
}

/** Whole lines among the `bytes` before `end` (the end of the file where it is left out); the last may be torn. */
export async function lastLines(path: string, bytes: number, end?: number): Promise<string[]> {
  const lines = await within(path, async (file, size) => {
    const to = Math.min(end ?? size, size);
    const from = Math.max(to - bytes, 0);
    const text = (await slice(file, from, to)).toString("utf8");
    const all = text.split("\n");
    // The first may be the end of a longer one.
    return from > 0 ? all.slice(1) : all;
  });
  return lines ?? [];
}

/** The first answer that is not undefined of whole lines within the first `bytes`. */
export async function firstOf<T>(
  path: string,
  bytes: number,
  look: (line: string) => T | undefined,
): Promise<T | undefined> {
  return within(path, async (file, size) => {
    let rest: Buffer = Buffer.alloc(0);
    const most = Math.min(bytes, size);
    for (let at = 0; at < most; at += pieceBytes) {
      const piece = await slice(file, at, Math.min(at + pieceBytes, most));
      const text = Buffer.concat([rest, piece]);
      const end = text.lastIndexOf(10) + 1;
      for (const line of text.toString("utf8", 0, end).split("\n")) {
        const found = look(line);
        if (found !== undefined) return found;
      }
      rest = text.subarray(end);
    }
    return most === size ? look(rest.toString("utf8")) : undefined;
  });
}

export interface Lines {
  readonly lines: readonly string[];
  /** Where the next ones begin. */
  readonly next: number;
}

/**
 * Whole lines from the byte `from` to the byte `to`, in pieces. Lines longer than `longest` bytes are passed over, and
 * never held. Ends where the file is shorter, or gone.
 */
export async function* linesBetween(
  path: string,
  { from, to, longest }: { readonly from: number; readonly to: number; readonly longest: number },
): AsyncGenerator<Lines> {
  let at = from;
  let rest: Buffer[] = [];
  let held = 0;
  let isPassing = false;
  while (at < to) {
    const piece = await within(path, (file) => slice(file, at, Math.min(at + pieceBytes, to)));
    if (!piece || piece.length === 0) return;
    at += piece.length;
    const end = piece.lastIndexOf(10) + 1;
    if (end > 0) {
      const whole = Buffer.concat([...rest, piece.subarray(0, end)]).toString("utf8");
      const lines = whole.split("\n").slice(isPassing ? 1 : 0, -1);
      rest = [];
      held = 0;
      isPassing = false;
      yield { lines, next: at - piece.length + end };
    }
    rest.push(piece.subarray(end));
    held += piece.length - end;
    if (held > longest) {
      isPassing = true;
      rest = [];
    }
  }
}

async function slice(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.alloc(Math.max(to - from, 0));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, from + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

/** The newest turns among lines, oldest first: `limit` of them that are wanted. */
export function newestTurns(
  lines: readonly string[],
  read: (line: string) => Turn | undefined,
  limit: number,
  isWanted: (turn: Turn) => boolean = () => true,
): Turn[] {
  const turns: Turn[] = [];
  for (let at = lines.length - 1; at >= 0 && turns.length < limit; at--) {
    const turn = read(lines[at]!);
    if (turn && isWanted(turn)) turns.push(turn);
  }
  return turns.reverse();
}
