// The machine that `lichen up` serves, from the opening of its state to its listening.
//
//   UP23  Processes of its coding agents stand behind a wall wherever one can be had; where none can, that is said.

import { existsSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import { homedir, hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Machine, openMachine, uploadsOf } from "@lichen/machine";
import {
  Access,
  listenMachine,
  loopbackProvider,
  type MachineWall,
  meshFileName,
  openStaticProvider,
  openWall,
} from "@lichen/machine/access";
import type { Engine } from "@lichen/runtime";
import { isDamage, isHeld, nodePlatform } from "@lichen/runtime/node";
import {
  connectHost,
  folderPlaces,
  hostsDir,
  type Listening,
  makeStateDir,
  readHostFile,
} from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Environments } from "../environment.ts";
import { describeError } from "../fault-text.ts";
import type { ListeningOptions } from "../listening-options.ts";
import type { Log } from "../log.ts";
import { damageOf, end } from "../own-host.ts";
import type { Chosen } from "./chosen-folders.ts";
import { keepFolders } from "./kept-folders.ts";
import { type ReadFolder, readFolders, type ServedFolder, serveFolders } from "./served-folders.ts";

export interface UpOptions {
  readonly stateDir: string;
  readonly log: Log;
  readonly listening: ListeningOptions;
  /** The agents of folders that it serves too. */
  readonly chosen: Chosen;
  readonly environments: Environments;
  readonly around: (engine: Engine) => Engine;
}

export interface Up {
  readonly machine: Machine;
  readonly folders: readonly ServedFolder[];
  readonly wall: MachineWall;
  readonly listening: Listening;
  /** The addresses in meshes at which it listens too. */
  readonly inMeshes: readonly string[];
  /** What is not as it should be with its meshes, as sentences. */
  readonly problems: readonly string[];
}

export async function openUp(options: UpOptions): Promise<Up> {
  const { log, chosen, environments } = options;
  const report = (error: unknown) => log("error", describeError(error));
  const lost = (error: unknown) => end(log, "nothing can be written any more", error);
  const platform = nodePlatform({ report, lost });
  const stateDir = makeStateDir(options.stateDir);
  const access = await openAccess(stateDir, platform);
  const places = { env: environments.exported, home: homedir() };
  let machine: Machine;
  let wall: MachineWall;
  let found: ReadFolder[] = [];
  const beside = {
    readOnly: (cwd: string) => [
      // Of those too that are not served now: what came to lie there would be at the next start.
      ...chosen.kept.flatMap(({ dir }) => folderPlaces({ dir, cwd })),
      ...found.flatMap((it) => it.loaded()),
    ],
    secrets: secretsOf(chosen),
  };
  try {
    const { sockets } = access;
    const { around } = options;
    found = await readFolders(chosen.folders, {
      ...{ stateDir, log, environments, beside, around },
    });
    wall = await openWall({
      ...{
        mode: "auto",
        mask: [stateDir],
        hide: [...hiddenPlaces(), ...beside.secrets],
        sockets,
        places,
      },
      folders: beside.readOnly,
      shown: (agent) => [uploadsOf(stateDir, agent)],
    });
    machine = await openMachine({
      stateDir,
      platform,
      report,
      lost,
      ...places,
      wall: (agent) => wall.around(agent),
    });
  } catch (error) {
    await Promise.all(found.map((it) => it.close()));
    await access.close();
    if (isDamage(error)) throw damageOf({ stateDir }, error);
    throw (isHeld(error) && (await holderOf(stateDir, error))) || error;
  }
  try {
    const folders = await serveFolders(found, machine.owner);
    keepFolders(stateDir, chosen.kept);
    const listening = await listenMachine({
      machine: { ...machine, close: (closing) => closeAll(machine, found, closing) },
      access,
      log: ({ id, error, method, path }) =>
        log("error", `${id} in ${method} ${path}: ${describeError(error)}`),
      ...options.listening,
    });
    const problems = hasMeshes(stateDir) ? access.problems() : [];
    return { machine, folders, wall, listening, problems, inMeshes: access.urls() };
  } catch (error) {
    await closeAll(machine, found, { patienceMs: 0 });
    await access.close();
    throw error;
  }
}

/** What agents of folders hold open ends once their runs did. */
async function closeAll(
  machine: Machine,
  folders: readonly ReadFolder[],
  closing: Parameters<Machine["close"]>[0],
): Promise<void> {
  try {
    await machine.close(closing);
  } finally {
    await Promise.all(folders.map((it) => it.close()));
  }
}

/** Most computers are in no mesh, and nothing is wrong with that. */
function hasMeshes(stateDir: string): boolean {
  return existsSync(join(stateDir, meshFileName));
}

async function openAccess(
  stateDir: string,
  platform: ReturnType<typeof nodePlatform>,
): Promise<Access> {
  const meshes = await openStaticProvider(stateDir, platform);
  return Access.open({ stateDir, platform, providers: [loopbackProvider(hostname()), meshes] });
}

/** What is this user's and no agent's: states of other hosts hold tokens, and compiled code runs as it is. */
function hiddenPlaces(): string[] {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const inUse = getCompileCacheDir();
  return [hostsDir(), resolve(cache, "lichen"), ...(inUse === undefined ? [] : [dirname(inUse)])];
}

/** Those that are there: for others a placeholder would stand in their owner's way for as long as a coding agent runs. */
function secretsOf({ folders }: Chosen): string[] {
  return folders
    .flatMap(({ place: { dir, cwd } }) => [join(dir, ".secrets"), join(cwd, ".secrets")])
    .filter((path) => existsSync(path));
}

/** The refusal that names who serves this state, where that can be told. */
async function holderOf(stateDir: string, { cause }: Fault): Promise<Fault | undefined> {
  const file = readHostFile(stateDir);
  if (file === undefined) return undefined;
  const connection = await connectHost(stateDir);
  if (connection.found !== "host") return undefined;
  return new Fault(
    "unavailable",
    `This state is served already, by process ${file.pid} at ${file.url}. Use that one, stop it first, or name another state with --state.`,
    { cause },
  );
}
