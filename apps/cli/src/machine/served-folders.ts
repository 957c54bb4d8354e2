// The agents of folders that a machine serves beside its coding agents: in its store, behind its door, under its lock.
//
//   UP18  They run as under `lichen start`, each with the variables of its own folder; a coding agent gets none of those.
//   UP20  One that cannot be served is told of, with the way to mend it, and keeps nothing else from being served.

import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import type { Agent, Engine, Owner } from "@lichen/runtime";
import {
  type HostFolderOptions,
  hostsDir,
  openHostFolder,
  type OpenHostFolder,
} from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Environments } from "../environment.ts";
import { describeError } from "../fault-text.ts";
import type { Log } from "../log.ts";
import { Problems } from "../problem.ts";
import { commandName, quoted } from "../typed.ts";
import { type ChosenFolder, isAwayTold } from "./chosen-folders.ts";

/** Read, and not yet an agent of any store. */
export interface ReadFolder extends OpenHostFolder {
  readonly chosen: ChosenFolder;
}

export interface ServedFolder extends ReadFolder {
  readonly agent: Agent;
}

export interface FoldersOptions {
  readonly stateDir: string;
  readonly log: Log;
  readonly environments: Environments;
  readonly beside: NonNullable<HostFolderOptions["beside"]>;
  /** What tells stray faults of an agent's code apart by its runs. */
  readonly around: (engine: Engine) => Engine;
}

/** Reads them all, before anything runs; rejects where one that was named cannot be served. */
export async function readFolders(
  chosen: readonly ChosenFolder[],
  options: FoldersOptions,
): Promise<ReadFolder[]> {
  const found: ReadFolder[] = [];
  try {
    // One after the other: what two of them say of a variable has an order.
    for (const it of chosen) {
      try {
        found.push(await readFolder(it, options));
      } catch (error) {
        if (it.isNamed || !Fault.is(error)) throw error;
        options.log("warn", isAwayTold(it.kept, describeError(error)));
      }
    }
    return found;
  } catch (error) {
    await Promise.all(found.map((it) => it.close()));
    throw error;
  }
}

/** Makes them agents of the machine's store: from now on they run, and are to be closed after it. */
export function serveFolders(
  found: readonly ReadFolder[],
  owner: Owner,
): Promise<readonly ServedFolder[]> {
  return Promise.all(found.map(async (it) => ({ ...it, agent: (await it.attach(owner)).agent })));
}

async function readFolder(
  chosen: ChosenFolder,
  { stateDir, log, environments, beside, around }: FoldersOptions,
): Promise<ReadFolder> {
  const { place, isNamed } = chosen;
  const { id } = chosen.kept;
  const name = basename(place.dir);
  const problems = new Problems((level, line) => log(level, `${name}: ${line}`));
  const { env, secretEnv, hidden } = await environments.of(place.dir);
  if (hidden.length > 0)
    log(
      "warn",
      `${name}: what its .secrets/.env says of ${hidden.join(", ")} is another agent's value to the code of its tools: give one of them another name`,
    );
  const folder = await openHostFolder({
    ...{ place, agentId: id, stateDir, env, secretEnv },
    report: (error) => log("error", describeError(error)),
    onDiagnostics: (diagnostics) => problems.tell(diagnostics),
    around: { engine: around },
    beside,
  });
  problems.tell(folder.diagnostics);
  tellLeftOut(name, folder, log);
  const own = join(hostsDir(), id);
  if (isNamed && existsSync(join(own, "host.db")))
    log(
      "info",
      `${name}: conversations that \`${commandName()} start\` kept of it are not here: reach them with --state ${quoted(own)}`,
    );
  return { ...folder, chosen };
}

/** What a config says of its host holds where it has one of its own. */
function tellLeftOut(name: string, { config }: OpenHostFolder, log: Log): void {
  const found = (["http", "publicUrl", "allowedHosts", "approvals"] as const).filter(
    (key) => config[key] !== undefined,
  );
  if (found.length > 0)
    log(
      "warn",
      `${name}: ${found.join(", ")} in its config ${found.length === 1 ? "counts" : "count"} under \`${commandName()} start\` alone; this machine listens, and keeps what waits, as for all of its agents`,
    );
}
