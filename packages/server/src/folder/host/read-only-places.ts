// What an agent's tools may read and never change, because the host runs it, or decides by it what to run, outside the
// sandbox and beside the token and the credentials.
//
//   Of an agent's folder that its work is not in: all of it. Where the agent works in its own folder, the parts with a
//   meaning to the host, and whatever else the host has loaded. The host's own program.
//
// What remains: a file in an agent's own working directory that a tool imports for the first time at some later call;
// and folders of other agents, which only their own hosts know.

import { existsSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join, sep } from "node:path";
import { type AgentPlace, configNames } from "./find-agent.ts";
import type { LoadedCode } from "./loaded-code.ts";
import { packageRoot } from "./own-modules.ts";
import { isWithin } from "./paths.ts";

const ownParts = [
  ...configNames,
  "models.json",
  "package.json",
  "node_modules",
  "tools",
  "connections",
  "channels",
  "schedules",
  "extensions",
  ".lichen",
  ".secrets",
];

/** Absolute paths, there or not yet. */
export function readOnlyPlaces(
  place: Pick<AgentPlace, "dir" | "cwd">,
  loaded: LoadedCode,
): string[] {
  const cwd = realpathSync(place.cwd);
  return [
    ...folderPlaces({ dir: place.dir, cwd }),
    ...loaded.paths,
    ...hostProgram(cwd),
    ...providerLogins(),
  ];
}

/** What a host runs of an agent's folder, or decides by there, for whoever works in `cwd` (a real path): there or not yet. */
export function folderPlaces({ dir, cwd }: Pick<AgentPlace, "dir" | "cwd">): string[] {
  const own = isWithin(cwd, dir) ? ownParts.map((name) => join(dir, name)) : [dir];
  return [...own, ...rivals(dir, cwd)];
}

/** Configs that would be found before this agent's when the host is started again. */
function rivals(dir: string, cwd: string): string[] {
  if (dirname(dir) !== cwd) return [];
  return configNames.flatMap((name) => [join(cwd, name), join(cwd, "lichen", name)]);
}

/** What is installed with the host, and its Node. Not where an agent works on the host's own sources: that is what it is there for. */
export function hostProgram(cwd: string): string[] {
  return [installationOf(packageRoot()), process.execPath].filter((path) => !isWithin(cwd, path));
}

/** A profile in there can name a program that gives out credentials, which the host's model client then runs. */
function providerLogins(): string[] {
  const aws = join(process.env["HOME"] || homedir(), ".aws");
  return existsSync(aws) ? [realpathSync(aws)] : [];
}

/**
 * An installed package is loaded together with what is installed beside it; the links of a package store lie inside.
 * @internal Exported for its tests.
 */
export function installationOf(root: string): string {
  const parts = root.split(sep);
  const outermost = parts.indexOf("node_modules");
  return outermost < 0 ? root : parts.slice(0, outermost + 1).join(sep);
}
