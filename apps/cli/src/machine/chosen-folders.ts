// Which agents of folders a start of the machine serves: those that it served before, without those that are let go, and
// those that are named now.

import { realpathSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { connectHost, findAgent, hostsDir, locateHost, readHostFile } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import { isDirectory } from "../folder-word.ts";
import { oneLine } from "../printable.ts";
import { commandName, quoted } from "../typed.ts";
import { isCalled, type KeptFolder, keptFolders } from "./kept-folders.ts";

type Place = ReturnType<typeof findAgent>;

export interface ChosenFolder {
  readonly kept: KeptFolder;
  readonly place: Place;
  /** Named by the person who starts the machine: what is wrong with it is a refusal. */
  readonly isNamed: boolean;
}

export interface Chosen {
  readonly folders: readonly ChosenFolder[];
  /** What is served from now on, with what cannot be served now. */
  readonly kept: readonly KeptFolder[];
  /** Why some of it cannot be served, as sentences. */
  readonly problems: readonly string[];
}

/** Changes nothing but that a folder gets its id. Refuses words that mean no agent. */
export async function chooseFolders(
  stateDir: string,
  named: readonly string[],
  without: readonly string[],
): Promise<Chosen> {
  let before = keptFolders(stateDir);
  for (const word of without) {
    const rest = before.filter((it) => !isCalled(it, word, realOrResolved(word)));
    if (rest.length === before.length) throw notKept(word, before);
    before = rest;
  }
  const now = new Map<string, ChosenFolder>();
  for (const dir of named) {
    if (!isDirectory(dir))
      throw new Fault(
        "invalid",
        `There is no folder "${oneLine(dir, 200)}". What stands behind \`up\` are folders of agents: \`${commandName()} init <folder>\` makes one, and \`${commandName()} new <name>\` makes a session of a coding agent once the machine runs.`,
      );
    const { place, agentId: id } = locateHost({ dir, state: stateDir });
    now.set(id, { kept: { id, dir: place.dir, cwd: place.cwd }, place, isNamed: true });
  }
  for (const { kept } of now.values()) await refuseServed(kept);
  const problems: string[] = [];
  const old = before
    .filter(({ id }) => !now.has(id))
    .flatMap((kept): ChosenFolder[] => {
      try {
        const { agentId } = locateHost({ dir: kept.dir, state: stateDir, env: () => undefined });
        if (agentId !== kept.id) throw new Fault("invalid", `${kept.dir} is another agent by now.`);
        const place = { ...findAgent(kept.dir), cwd: kept.cwd };
        return [{ kept, place, isNamed: false }];
      } catch (error) {
        if (!Fault.is(error)) throw error;
        problems.push(isAwayTold(kept, error.message));
        return [];
      }
    });
  const folders = [...old, ...now.values()];
  const away = before.filter(({ id }) => !folders.some(({ kept }) => kept.id === id));
  return { folders, kept: [...away, ...folders.map(({ kept }) => kept)], problems };
}

/** What keeps an agent from being served now, and what to do. */
export function isAwayTold({ id, dir }: KeptFolder, why: string): string {
  return (
    `agent ${basename(dir)} is not served: ${why.replace(/\.$/, "")}. What waits in it stays. Mend that and start again, name where ` +
    `its folder is now (\`${commandName()} up <folder>\`), or let it go with \`${commandName()} up --without ${id}\``
  );
}

/** Two hosts of one agent would keep two sets of conversations. */
async function refuseServed({ id, dir }: KeptFolder): Promise<void> {
  const own = join(hostsDir(), id);
  const file = readHostFile(own);
  if (file === undefined || (await connectHost(own)).found !== "host") return;
  throw new Fault(
    "unavailable",
    `${basename(dir)} is served already, by process ${file.pid} at ${file.url} (\`${commandName()} start\`): stop that one first.`,
  );
}

function notKept(word: string, kept: readonly KeptFolder[]): Fault {
  const names = kept.map(({ id, dir }) => `${id} (${quoted(dir)})`);
  return new Fault(
    "invalid",
    `--without: this machine serves no agent ${oneLine(word, 100)}. ${
      names.length === 0 ? "It serves no folder's agent at all." : `It serves ${names.join(", ")}.`
    }`,
  );
}

function realOrResolved(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}
