// The state directory and what lies in it: its rights and room, the store, the token.

import { constants, type Stats } from "node:fs";
import { access, readFile, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { inspectStore, networkFileSystemAt } from "@lichen/runtime/node";
import { hostsDir, ownerTokenPath } from "@lichen/server/node";
import { commandName, quoted } from "../typed.ts";
import { type Check, fail, note, ok } from "./check.ts";

const mebi = 1_048_576;
const littleBytes = 512 * mebi;
const leastBytes = 32 * mebi;

export async function checkState(stateDir: string | undefined): Promise<Check[]> {
  const isNamed = stateDir !== undefined;
  const path = stateDir ?? hostsDir();
  const found = await stat(path).catch(() => undefined);
  if (!found) {
    const above = await nearestAbove(path);
    const problem = await problemAt(above);
    if (problem)
      return [
        fail(
          "state",
          `${path} is not there and cannot be made: ${problem}`,
          "choose another place with --state",
        ),
      ];
    const text = isNamed
      ? `${path} is not there yet: the first start makes it`
      : "there is none yet: the first start makes it";
    return [note("state", text)];
  }
  if (!found.isDirectory())
    return [
      fail("state", `${path} is a file`, "move it away, or choose another place with --state"),
    ];
  const problem = await problemAt(path);
  if (problem)
    return [
      fail("state", `${path}: ${problem}`, "mend that, or choose another place with --state"),
    ];
  return [rightsOf(path, found), await roomAt(path)];
}

function rightsOf(path: string, found: { mode: number; uid: number }): Check {
  const user = process.getuid?.();
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
  if (user !== undefined && found.uid !== user)
    return fail(
      "state",
      `${path} belongs to another user (${found.uid})`,
      "start Lichen as that user, or choose another place with --state",
    );
  if ((found.mode & 0o077) !== 0)
    return fail("state", `${path} is open to other users (${mode})`, `chmod 700 ${quoted(path)}`);
  return ok("state", `${path} (${mode})`);
}

/** Why a host cannot keep its state there. */
async function problemAt(path: string): Promise<string | undefined> {
  const network = await networkFileSystemAt(path);
  if (network !== undefined)
    return `it lies on a network file system (${network}), where SQLite loses data`;
  try {
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return code === "EROFS"
      ? "its file system is read-only"
      : `this user may not write there (${code})`;
  }
}

async function roomAt(path: string): Promise<Check> {
  const { bavail, bsize } = await statfs(path);
  const bytes = bavail * bsize;
  const text = `${sizeOf(bytes)} free on its disk`;
  if (bytes < leastBytes)
    return fail("disk", text, "free some space: nothing new can be accepted soon");
  if (bytes < littleBytes) return note("disk", text, "free some space before it is needed");
  return ok("disk", text);
}

async function nearestAbove(path: string): Promise<string> {
  for (let at = dirname(path); ; at = dirname(at))
    if (at === dirname(at) || (await stat(at).catch(() => undefined))) return at;
}

/** Looks at the store read-only and without its lease: a host that serves it is not disturbed. No server is asked. */
export async function checkStore(stateDir: string): Promise<Check[]> {
  const found = await inspectStore(join(stateDir, "host.db"));
  const troubled = found.state === "sound" ? found.troubled : [];
  return [
    storeFound(found, stateDir),
    ...troubled.map(({ namespace, problem }) =>
      note(
        "capability",
        `${namespace}: ${problem}`,
        `\`${commandName()} capability list\` has more`,
      ),
    ),
  ];
}

function storeFound(found: Awaited<ReturnType<typeof inspectStore>>, stateDir: string): Check {
  const salvage = `copy what is readable with \`${commandName()} doctor --state ${quoted(stateDir)} --salvage <new folder>\`, or restore a backup`;
  switch (found.state) {
    case "missing":
      return note("store", "there is none yet: the first start makes it");
    case "empty":
      return note("store", "it is empty: the next start makes it");
    case "sound":
      return ok(
        "store",
        `sound: schema ${found.schema}, ${found.sessions} ${found.sessions === 1 ? "session" : "sessions"}, ${sizeOf(found.bytes)}`,
      );
    case "newer":
      return fail(
        "store",
        `a newer Lichen wrote it (schema ${found.schema}; this one reads up to ${found.known})`,
        "update Lichen, or name another state with --state; nothing was touched",
      );
    case "foreign":
      return fail(
        "store",
        `host.db in ${stateDir} is a database of another program`,
        "move it away, or name another state with --state",
      );
    case "damaged":
      return fail(
        "store",
        `it is damaged (${found.why})`,
        `stop its host, if one runs, and ${salvage}`,
      );
    case "unreadable":
      return fail(
        "store",
        `nothing can go on in it: ${found.why}`,
        `mend that in ${quoted(stateDir)} (a file of a store has mode 600), then look again`,
      );
  }
}

export async function checkToken(stateDir: string): Promise<Check> {
  const path = ownerTokenPath(stateDir);
  let found: Stats | undefined;
  try {
    found = await stat(path);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ENOENT") return note("token", "there is none yet: the first start makes it");
    return fail(
      "token",
      `${path} cannot be looked at (${code})`,
      "start Lichen as the user it belongs to, or mend the rights of its folder",
    );
  }
  // Reading a pipe would wait for its other end.
  if (!found.isFile())
    return fail("token", `${path} is no file`, "move it away and start again: a token is made");
  const mode = (found.mode & 0o777).toString(8).padStart(4, "0");
  if ((found.mode & 0o077) !== 0)
    return fail(
      "token",
      `other users may read it (${mode})`,
      `chmod 600 ${quoted(path)}, and take a new one if somebody did: remove the file and start again`,
    );
  const text = await readFile(path, "utf8").catch(() => undefined);
  if (text === undefined)
    return fail(
      "token",
      `${path} cannot be read by this user`,
      "start Lichen as the user it belongs to",
    );
  return /^[\x21-\x7e]{32,512}$/.test(text.trim())
    ? ok("token", `for its owner only (${mode})`)
    : fail(
        "token",
        "the file holds no usable token",
        `remove ${quoted(path)} and start again: one is made`,
      );
}

function sizeOf(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}
