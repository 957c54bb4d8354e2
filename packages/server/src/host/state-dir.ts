// Where a host keeps its state: outside of every agent's working directory, for its owner's eyes only.

import { chmodSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { makeFolder, toSystemRefusal } from "@lichen/runtime/node";
import { Fault } from "@lichen/wire";

export interface StateDirOptions {
  /** `--state`. */
  readonly state?: string | undefined;
  /** `LICHEN_STATE_DIR`. */
  readonly fromEnvironment?: string | undefined;
  readonly agentId: string;
}

/** The state directory of one agent's host. Touches no disk. */
export function stateDirOf(options: StateDirOptions): string {
  const named = options.state ?? options.fromEnvironment;
  if (named !== undefined && named !== "") return resolve(named);
  return join(hostsDir(), options.agentId);
}

/** Where the state directories of this user's hosts lie unless told otherwise. */
export function hostsDir(): string {
  const data = process.env["XDG_DATA_HOME"];
  const base = data !== undefined && isAbsolute(data) ? data : join(homedir(), ".local", "share");
  return join(base, "lichen");
}

/** Where the programs of connections keep what is theirs, by agent and connection: closed to agents' own tools. */
export function programHomesDir(): string {
  return `${hostsDir()}-programs`;
}

/** Where this user's keys and logins for model providers lie, one file for all hosts. */
export function credentialsPath(): string {
  return join(hostsDir(), "credentials.json");
}

/** Makes the directory, 0700. */
export function makeStateDir(path: string): string {
  const label = `The state directory ${path} (--state or LICHEN_STATE_DIR)`;
  makeFolder(path, label);
  try {
    chmodSync(path, 0o700);
  } catch (error) {
    throw toSystemRefusal(error, label);
  }
  return realpathSync(path);
}

/** Refuses a state place that an agent's tools would find in its working directory. */
export function refuseStateInside(path: string, cwd: string): void {
  if (!liesIn(path, cwd)) return;
  throw new Fault(
    "invalid",
    "The state would lie in the agent's working directory, where its own tools could read it: choose a place outside with --state or LICHEN_STATE_DIR.",
  );
}

/** Whether a place, there or not yet, is a folder or lies in it, past all links. */
export function liesIn(path: string, folder: string): boolean {
  const place = realPlace(path);
  const outer = realPlace(folder);
  return place === outer || place.startsWith(outer.endsWith(sep) ? outer : outer + sep);
}

/** The real path of a place that may not exist yet. */
export function realPlace(path: string): string {
  const absolute = resolve(path);
  try {
    return realpathSync(absolute);
  } catch {
    const parent = dirname(absolute);
    return parent === absolute ? absolute : join(realPlace(parent), absolute.slice(parent.length));
  }
}
