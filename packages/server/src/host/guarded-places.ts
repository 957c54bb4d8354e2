// What processes and tools of agents may read and never change, because this user's computer runs it, or decides by it
// what to run, outside of every wall: at the host's next start, at the next login, or at once.
//
//   The host's own program and the Node that runs it; the folders of the PATH up to the one where `lichen` is found;
//   units and environment of the user's services, and what begins with the desktop; the files that shells and ssh read
//   when somebody logs in; the profiles of AWS, which can name a program.
//
// Folders that are missing are made, so that no process can make them its own, and so is the list of keys that ssh lets
// in: empty, it says the same. The agents' own logins and settings stay theirs to change.
//
// What remains: a shell's file that is not there yet (a placeholder for it would be read by the owner's own shells), that
// is a link, or that its owner replaces whole while a process runs; what such files read in turn; and hooks and extensions
// in the settings of coding agents, which its owner may run by hand outside.

import { accessSync, constants, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import { hostProgram } from "../folder/host/read-only-places.ts";
import { liesIn, realPlace } from "./state-dir.ts";

/** Whose computer it is. */
export interface GuardedHome {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

const startup = [
  ...[".profile", ".bash_profile", ".bash_login", ".bashrc", ".bash_aliases", ".bash_logout"],
  ...[".kshrc", ".mkshrc", ".xprofile", ".xsession", ".xsessionrc", ".xinitrc", ".pam_environment"],
];
const zsh = [".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout"];
const fish = ["config.fish", "conf.d", "functions"];
const ssh = ["authorized_keys", "authorized_keys2", "config", "environment", "rc"];
const aws = ["config", "credentials"];

/** The home of whoever runs this process. */
export function ownHome(): GuardedHome {
  return { env: process.env, home: process.env["HOME"] || homedir() };
}

/** Makes what is to be there before an agent's process could make it. */
export function makeGuardedPlaces(places: GuardedHome): void {
  // Who has no home has no services and no shell either.
  if (realPlaceOf(places.home) === undefined) return;
  for (const folder of [...serviceFolders(places), ...commandFolders(places)])
    unlessThere(() => mkdirSync(folder, { recursive: true, mode: 0o755 }));
  const keys = join(places.home, ".ssh", "authorized_keys");
  unlessThere(() => {
    mkdirSync(dirname(keys), { recursive: true, mode: 0o700 });
    writeFileSync(keys, "", { mode: 0o600, flag: "wx" });
  });
}

/** Real paths of what is there now, for an agent that works in `dir`: what it works in itself is its own to change. */
export function guardedPlaces(places: GuardedHome, dir: string): string[] {
  const { env, home } = places;
  const cwd = realPlace(dir);
  const named = [
    ...hostProgram(cwd),
    ...serviceFolders(places),
    ...commandFolders(places).filter(isWritable),
    ...startup.map((name) => join(home, name)),
    ...zsh.map((name) => join(folderOf(env["ZDOTDIR"]) ?? home, name)),
    ...fish.map((name) => join(configOf(places), "fish", name)),
    ...ssh.map((name) => join(home, ".ssh", name)),
    ...aws.map((name) => join(home, ".aws", name)),
  ];
  const there = new Set(named.flatMap((path) => realPlaceOf(path) ?? []));
  return [...there].filter((path) => !liesIn(cwd, path));
}

/** Where the user's services and their environment are named, and what begins with the desktop. */
function serviceFolders(places: GuardedHome): string[] {
  const config = configOf(places);
  const data = folderOf(places.env["XDG_DATA_HOME"]) ?? join(places.home, ".local", "share");
  return [
    join(config, "systemd", "user"),
    join(config, "systemd"),
    join(config, "environment.d"),
    join(config, "autostart"),
    join(data, "systemd", "user"),
  ];
}

/**
 * The folders that `lichen` is looked for in when it is typed; none where it would not be found. What npm puts before them
 * for a script is no part of it.
 */
function commandFolders({ env }: GuardedHome): string[] {
  const folders = (env["PATH"] ?? "")
    .split(delimiter)
    .filter((folder) => isAbsolute(folder) && !/\/node_modules\/\.bin\/?$/.test(folder));
  const at = folders.findIndex((folder) => realPlaceOf(join(folder, "lichen")) !== undefined);
  return folders.slice(0, at + 1);
}

function configOf({ env, home }: GuardedHome): string {
  return folderOf(env["XDG_CONFIG_HOME"]) ?? join(home, ".config");
}

function folderOf(named: string | undefined): string | undefined {
  return named !== undefined && isAbsolute(named) ? named : undefined;
}

/** Undefined where nothing is there, or nothing that this user may look at. */
export function realPlaceOf(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function unlessThere(make: () => void): void {
  try {
    make();
  } catch {
    // It is there, or this user may make nothing there: neither may an agent.
  }
}
