// A host opened by this process: it outlives the faults of an agent's tools and of a full disk, and ends where it can
// write no more.

import { join } from "node:path";
import { isDamage, isHeld } from "@lichen/runtime/node";
import {
  connectHost,
  type Host,
  type HostOptions,
  makeGuardedPlaces,
  openHost,
  ownerTokenPath,
  ownHome,
  readHostFile,
} from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import { describeError } from "./fault-text.ts";
import type { Log } from "./log.ts";
import { variable } from "./model-name.ts";
import type { Place } from "./place.ts";
import { oneLine } from "./printable.ts";
import { type StrayFault, StrayFaults } from "./stray-faults.ts";
import { commandName, quoted } from "./typed.ts";

export type OwnHostOptions = Pick<HostOptions, "model" | "onDiagnostics" | "capacity" | "only"> & {
  readonly log: Log;
};

/** Opens the host of a place. `unavailable` names who holds its state, where that can be told. */
export async function openOwnHost(place: Place, options: OwnHostOptions): Promise<Host> {
  const { log, ...rest } = options;
  const strays = new StrayFaults();
  const leave = strays.take({
    dirs: [place.agentDir],
    left: (fault) => log("error", describeStray(fault)),
    broken: (error) => end(log, "this is a bug of Lichen, please report it", error),
  });
  try {
    const host = await openHost({
      ...rest,
      dir: place.dir,
      state: place.stateDir,
      env: variable,
      // What stands in the file is asked of the file, which may change.
      secretEnv: (name) => (place.fromFile.includes(name) ? undefined : variable(name)),
      report: (error) => log("error", describeError(error)),
      lost: (error) => end(log, "nothing can be written any more", error),
      around: { engine: (engine) => strays.around(engine) },
    });
    // Who embeds an agent has nothing made in the home; a host of its own is somebody's to keep.
    if (host.sandbox()?.kind === "bubblewrap") makeGuardedPlaces(ownHome());
    return {
      ...host,
      close: async (closing) => {
        await host.close(closing);
        leave();
      },
    };
  } catch (error) {
    leave();
    if (isDamage(error)) throw damageOf(place, error);
    throw (isHeld(error) && (await holderOf(place, error))) || error;
  }
}

/** What is said of a fault that the process outlives. */
export function describeStray({ error, session, isOwn }: StrayFault): string {
  const from = session === undefined ? "the agent's code" : `session ${oneLine(session, 256)}`;
  const what = isOwn
    ? "a bug of Lichen that stops nothing, please report it"
    : `a fault that nobody awaited, left by ${from}`;
  return `${what}: ${describeError(error)}`;
}

/** Ends the process: what it has said is on the disk. */
export function end(log: Log, why: string, error: unknown): never {
  log(
    "error",
    `the host ends, ${why}: ${describeError(error)}\nWhat was accepted is kept and goes on at the next start.`,
  );
  process.exit(1);
}

/** What to do about a store that is damaged, as it has to be typed. */
export function damageOf({ stateDir }: Pick<Place, "stateDir">, cause: unknown): Fault {
  return new Fault(
    "unreadable",
    `The store ${join(stateDir, "host.db")} is damaged, or no store at all. Nothing was changed. Copy what is readable ` +
      `with \`${commandName()} doctor --state ${quoted(stateDir)} --salvage <new folder>\`, or restore a backup.`,
    { cause },
  );
}

/** The refusal that names who serves this state, where that can be told. It is known as the lease's own by its cause. */
async function holderOf({ stateDir }: Place, { cause }: Fault): Promise<Fault | undefined> {
  const file = readHostFile(stateDir);
  if (file === undefined) return undefined;
  const connection = await connectHost(stateDir);
  const who = `by process ${file.pid} at ${file.url}`;
  if (connection.found === "tokenless") {
    return new Fault(
      "unavailable",
      `This agent seems to be served ${who}, but its token is gone, without which nothing can be said to it: ` +
        `${ownerTokenPath(stateDir)}. A host that runs writes it again within seconds; if it does not, stop that ` +
        "process and start it again.",
      { cause },
    );
  }
  if (connection.found !== "host") return undefined;
  return new Fault(
    "unavailable",
    `This agent is served already, ${who}. Use that one, stop it first, or name another state with --state.`,
    { cause },
  );
}
