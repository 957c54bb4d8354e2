// Names and places of coding-agent sessions: what a person may call one and where it may work. Checking changes nothing.

import { mkdirSync, rmdirSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { toSystemRefusal } from "@lichen/runtime/node";
import { Fault } from "@lichen/wire";
import * as z from "zod";

export const SessionName = z
  .string()
  .regex(
    /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$/,
    "name: letters, digits, . _ and -, beginning with a letter or a digit, 64 at most",
  );

/** A directory as a person wrote it, absolute: `~` is the home of the user whose machine this is. */
export function placeOf(written: string, home: string): string {
  if (written.trim() === "") throw new Fault("invalid", "dir: name the session's directory.");
  if (written.includes("\0")) throw new Fault("invalid", "dir: no path holds a zero byte.");
  if (!/^(~(\/|$)|\/)/.test(written)) throw new Fault("invalid", notWhole(written));
  return resolve(written.replace(/^~/, () => home));
}

function notWhole(written: string): string {
  const [first = ""] = written.split("/");
  if (first.startsWith("~"))
    return `dir: ${first} is nobody's home here: only ~ is known, that of this machine's own user. Say the whole path, from / on.`;
  return `dir: ${written} is relative, and nobody here knows to what: say the whole path, from / or from ~/ on.`;
}

/** Whether the directory is there; refuses a file, and what could not be made below one. */
export function isDirectory(path: string): boolean {
  for (let at = path; ; at = dirname(at)) {
    const stat = statOf(at);
    if (!stat) continue;
    if (!stat.isDirectory()) throw new Fault("invalid", `dir: ${at} is a file: name a directory.`);
    return at === path;
  }
}

/** Makes the directory with those above it that are missing; answers which were, outermost first. */
export function makeDirectory(path: string): string[] {
  const missing: string[] = [];
  for (let at = path; statOf(at) === undefined; at = dirname(at)) missing.push(at);
  const made: string[] = [];
  try {
    // Not Node's own way through all levels: that never ends where the system lets nobody make a folder (/proc).
    for (const at of missing.toReversed()) {
      mkdirSync(at, { mode: 0o755 });
      made.push(at);
    }
  } catch (error) {
    for (const at of made.toReversed()) removeIfEmpty(at);
    throw toSystemRefusal(error, `dir: ${path}`);
  }
  return made;
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw toSystemRefusal(error, `dir: ${path}`);
  }
}

export function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path);
  } catch {
    // Somebody has put something there meanwhile: it is theirs now.
  }
}
