// A transcript's file, read by its owner only as far as it is needed: its end, its beginning, or line by line.
//
//   AD3  What is read of a transcript is bounded, whatever its size.
//   AD56 Only a regular file that really lies where its harness keeps transcripts is read: links lead nowhere.

import { constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { liesIn } from "@lichen/server/node";
import type { Turn } from "./transcript.ts";

/** A file, and the folder that its harness keeps transcripts in. */
export interface TranscriptFile {
  readonly file: string;
  readonly root: string;
}

const pieceBytes = 131_072;

/** Reads with the open file; undefined where there is no transcript under this name. */
async function within<T>(
  { file: path, root }: TranscriptFile,
  read: (file: FileHandle, size: number) => Promise<T>,
): Promise<T | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  if (!path.endsWith(".jsonl")) return undefined;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => undefined);
  if (!file) return undefined;
  try {
    const found = await file.stat();
    if (!found.isFile() || !(await isAt(found, path, root))) return undefined;
    return await read(file, found.size);
  } finally {
    await file.close();
  }
}

/** Whether what was opened is what really lies there: a folder of the path may be a link, also one that was put there meanwhile. */
async function isAt(
  { dev, ino }: { readonly dev: number; readonly ino: number },
  path: string,
  root: string,
): Promise<boolean> {
  const place = await realpath(path).catch(() => undefined);
  if (place === undefined || !liesIn(place, root)) return false;
  const there = await stat(place).catch(() => undefined);
  return there?.dev === dev && there.ino === ino;
}

/** Whole lines among the `bytes` before `end` (the end of the file where it is left out); the last may be torn. */
export async function lastLines(
  transcript: TranscriptFile,
  bytes: number,
  end?: number,
): Promise<string[]> {
  const lines = await within(transcript, async (file, size) => {
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
  transcript: TranscriptFile,
  bytes: number,
  look: (line: string) => T | undefined,
): Promise<T | undefined> {
  return within(transcript, async (file, size) => {
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

export interface Line {
  readonly text: string;
  /** Where the next one begins. */
  readonly next: number;
}

/**
 * Whole lines from the byte `from` to the byte `to`, in pieces. Lines longer than `longest` bytes are passed over, and
 * never held. Ends where the file is shorter, or gone.
 */
export async function* linesBetween(
  transcript: TranscriptFile,
  { from, to, longest }: { readonly from: number; readonly to: number; readonly longest: number },
): AsyncGenerator<Line[]> {
  let at = from;
  let rest: Buffer[] = [];
  let held = 0;
  let isPassing = false;
  while (at < to) {
    const piece = await within(transcript, (file) =>
      slice(file, at, Math.min(at + pieceBytes, to)),
    );
    if (!piece || piece.length === 0) return;
    const end = piece.lastIndexOf(10) + 1;
    if (end > 0) {
      const whole = Buffer.concat([...rest, piece.subarray(0, end)]);
      yield linesOf(whole, at + end - whole.length).slice(isPassing ? 1 : 0);
      rest = [];
      held = 0;
      isPassing = false;
    }
    at += piece.length;
    rest.push(piece.subarray(end));
    held += piece.length - end;
    if (held > longest) {
      isPassing = true;
      rest = [];
    }
  }
}

/** The lines of bytes that end with one and begin at `at`. */
function linesOf(bytes: Buffer, at: number): Line[] {
  const lines: Line[] = [];
  for (let begin = 0; begin < bytes.length;) {
    const end = bytes.indexOf(10, begin);
    lines.push({ text: bytes.toString("utf8", begin, end), next: at + end + 1 });
    begin = end + 1;
  }
  return lines;
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
