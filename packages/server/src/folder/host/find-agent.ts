// Which directory is the agent: the one that holds `lichen.config.(ts|js|mjs)`, looked for in the directory that was
// pointed at and one level inside it. The directory pointed at is where the agent works.

import { readdirSync, realpathSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { Fault } from "@lichen/wire";

export interface AgentPlace {
  /** The directory with the config, a real path. */
  readonly dir: string;
  readonly configFile: string;
  /** Where the agent works, a real path. */
  readonly cwd: string;
}

export const configNames = ["lichen.config.ts", "lichen.config.js", "lichen.config.mjs"];

/** `named` is the value of `LICHEN_AGENT`. */
export function findAgent(pointedAt: string, named?: string): AgentPlace {
  const cwd = realDirectory(pointedAt);
  const own = configIn(cwd);
  const candidates = [
    ...(own === undefined ? [] : [{ dir: cwd, configFile: own, cwd }]),
    ...directoriesIn(cwd).flatMap((dir) => {
      const configFile = configIn(dir);
      return configFile === undefined ? [] : [{ dir, configFile, cwd }];
    }),
  ];
  const names = candidates.map(({ dir }) => basename(dir));
  if (named !== undefined && named !== "") {
    const chosen = candidates.find(({ dir }) => basename(dir) === named);
    if (chosen) return chosen;
    throw new Fault(
      "invalid",
      names.length === 0
        ? `LICHEN_AGENT names "${named}", and ${basename(cwd)} holds no agent at all.`
        : `LICHEN_AGENT names "${named}", which is not here. Agents: ${names.join(", ")}.`,
    );
  }
  // To point at an agent's own directory is to name it.
  const chosen =
    own !== undefined || candidates.length === 1
      ? candidates[0]
      : candidates.find(({ dir }) => basename(dir) === "lichen");
  if (chosen) return chosen;
  throw new Fault(
    "invalid",
    names.length === 0
      ? `${basename(cwd)} holds no agent: an agent's directory has a lichen.config.ts. Make one with lichen init.`
      : `${basename(cwd)} holds several agents: ${names.join(", ")}. Name one in LICHEN_AGENT, or point at its directory.`,
  );
}

/** The real path of a directory that must exist. */
export function realDirectory(path: string): string {
  const absolute = resolve(path);
  const stat = statSync(absolute, { throwIfNoEntry: false });
  if (stat?.isDirectory()) return realpathSync(absolute);
  throw new Fault("invalid", `"${path}" is ${stat ? "not a directory" : "not there"}.`);
}

function configIn(dir: string): string | undefined {
  const found = configNames.filter((name) =>
    statSync(join(dir, name), { throwIfNoEntry: false })?.isFile(),
  );
  if (found.length > 1)
    throw new Fault(
      "invalid",
      `${basename(dir)} has ${found.join(" and ")}: keep one of them and delete the other.`,
    );
  return found[0] === undefined ? undefined : join(dir, found[0]);
}

function directoriesIn(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !/^\.|^node_modules$/.test(entry.name))
    .map(({ name }) => join(dir, name))
    .sort();
}
