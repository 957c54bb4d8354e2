// Finds the program of a coding agent where its installers put it, also where a service's PATH does not lead.

import {
  accessSync,
  constants,
  closeSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import type { Places } from "./harness.ts";

/** The path of an executable file of this name; a name with a slash is itself the path. */
export function findProgram(name: string, places: Places): string | undefined {
  if (name.includes("/")) return isProgram(name) && isAbsolute(name) ? name : undefined;
  return programFolders(places)
    .map((folder) => join(folder, name))
    .find(isProgram);
}

/** The folders that are searched, in order, each once. */
export function programFolders({ env, home }: Places): string[] {
  const folders = [
    ...(env["PATH"] ?? "").split(delimiter),
    join(home, ".local", "bin"),
    join(home, ".claude", "local"),
    ...npmPrefixes({ env, home }).map((prefix) => join(prefix, "bin")),
    dirname(process.execPath),
  ];
  return [...new Set(folders.filter((folder) => isAbsolute(folder)))];
}

/** What starts a program: one written for Node is run by the Node that runs here, since the one on the PATH may be too old. */
export function commandOf(program: string): readonly string[] {
  return isNodeScript(program) ? [process.execPath, realpathSync(program)] : [program];
}

function npmPrefixes({ env, home }: Places): string[] {
  const own = env["NPM_CONFIG_PREFIX"] ?? env["npm_config_prefix"] ?? writtenPrefix(home);
  return [own, join(home, ".npm-global"), join(home, ".npm-packages")].filter(
    (prefix) => prefix !== undefined,
  );
}

function writtenPrefix(home: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(join(home, ".npmrc"), "utf8");
  } catch {
    // Most users have none.
    return undefined;
  }
  const written = /^\s*prefix\s*=\s*(.+?)\s*$/m.exec(text)?.[1];
  return written?.replace(/^(~|\$\{HOME\})(?=\/)/, home);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Not there, or not ours to run: look on.
    return false;
  }
}

function isNodeScript(path: string): boolean {
  const head = Buffer.alloc(64);
  const file = openSync(path, "r");
  try {
    const length = readSync(file, head, 0, head.length, 0);
    return /^#!\s*\S*\/(env\s+(-S\s+)?)?node\b/.test(head.toString("latin1", 0, length));
  } finally {
    closeSync(file);
  }
}
