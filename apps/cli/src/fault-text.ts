// What went wrong, in the words for a person who watches: a refusal is a sentence, and only a bug needs its stack.

import { getSystemErrorMessage, inspect } from "node:util";
import { Fault } from "@lichen/wire";

/** What a person can do about the computer's refusals that are common enough to be known. */
const advice: Readonly<Record<string, string>> = {
  ENOSPC: "The disk is full: free some space and try again.",
  EDQUOT: "This user's share of the disk is used up: free some space and try again.",
  EROFS: "The file system is read-only: choose another place.",
  EACCES: "Check the rights of that place, or choose another one.",
  EPERM: "Check the rights of that place, or choose another one.",
  ENOTDIR: "A file stands where a folder is needed: choose another place.",
  EISDIR: "A folder stands where a file is needed: choose another place.",
  ENOENT: "It is not there, and cannot be made there.",
  EMFILE: "This process has too many files open: raise the limit (`ulimit -n`) and try again.",
  ENFILE: "This computer has too many files open: close some programs and try again.",
  ENOMEM: "This computer has no memory left: close some programs and try again.",
  EIO: "The disk cannot be read or written: check that it is healthy.",
};

/** The sentence for an error that people can act on: a refusal, or the computer's own. Undefined for a bug. */
export function sentenceOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (Fault.is(error)) return error.message;
  const { code, errno, syscall, path } = error as NodeJS.ErrnoException;
  const known = code === undefined ? undefined : advice[code];
  if (known === undefined || errno === undefined || syscall === undefined) return undefined;
  const what = path === undefined ? "" : ` of ${path}`;
  return `the computer refuses \`${syscall}\`${what}: ${getSystemErrorMessage(errno)}. ${known}`;
}

/** The sentence, or all that a report of a bug needs. */
export function describeError(error: unknown): string {
  try {
    const sentence = sentenceOf(error);
    if (sentence !== undefined) return sentence;
    if (error instanceof Error) return String(error.stack ?? error.message);
    return `something was thrown that is no error: ${inspect(error)}`;
  } catch {
    return "something was thrown that cannot even be shown";
  }
}
