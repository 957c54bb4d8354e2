// Says who holds a port, as far as this computer tells its user: for the sentence about a port that is taken.

import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

/** For example `node (process 4711)`; undefined where the system does not say. */
export function portHolder(port: number): string | undefined {
  const sockets = new Set(
    ["/proc/net/tcp", "/proc/net/tcp6"].flatMap((table) => listeners(table, port)),
  );
  if (sockets.size === 0) return undefined;
  for (const process of list("/proc")) {
    if (!/^\d+$/.test(process)) continue;
    for (const descriptor of list(`/proc/${process}/fd`)) {
      const inode = /^socket:\[(\d+)\]$/.exec(link(`/proc/${process}/fd/${descriptor}`))?.[1];
      if (inode !== undefined && sockets.has(inode))
        return `${programOf(process)} (process ${process})`;
    }
  }
  return undefined;
}

/** Inodes of the sockets that listen at the port. */
function listeners(table: string, port: number): string[] {
  const listening = "0A";
  const hex = port.toString(16).toUpperCase().padStart(4, "0");
  return read(table)
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter((columns) => columns[1]?.endsWith(`:${hex}`) && columns[3] === listening)
    .flatMap((columns) => columns[9] ?? []);
}

/** The name of its file, and no argument: those may be secret. */
function programOf(process: string): string {
  // `comm` is the name of a thread; a program that names itself may put its arguments into the first word.
  const [first = ""] = read(`/proc/${process}/cmdline`).split("\0");
  return basename(first.split(/[ :]/)[0] ?? "") || "a program";
}

// What belongs to another user, or is not there on this system, reads as nothing.

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function link(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
