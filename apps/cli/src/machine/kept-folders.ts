// The agents of folders that a machine serves: `agents.json` in its state, which `lichen up` writes and every command
// reads, so that what is said to such an agent finds its conversations wherever it is said.
//
//   UP19  A folder that was named once is served again at every start, until it is let go.

import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { locateHost, writePrivately } from "@lichen/server/node";
import { AgentName, Fault } from "@lichen/wire";
import { machineDirOf } from "./machine-dir.ts";

export interface KeptFolder {
  /** The agent's id. */
  readonly id: string;
  /** The folder that is the agent. */
  readonly dir: string;
  /** Where it works. */
  readonly cwd: string;
}

const fileName = "agents.json";

/** None where the machine never ran; `unreadable` for a file that says something else. */
export function keptFolders(stateDir: string): KeptFolder[] {
  const path = join(stateDir, fileName);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
  const found = parsed(text);
  if (found) return found;
  throw new Fault(
    "unreadable",
    `${path} cannot be read: it is to say {"agents":[{"id":"…","dir":"/…","cwd":"/…"}]}. Mend it, or remove it and name the folders to \`lichen up\` once more: conversations stay.`,
  );
}

export function keepFolders(stateDir: string, folders: readonly KeptFolder[]): void {
  writePrivately(join(stateDir, fileName), `${JSON.stringify({ agents: folders }, null, 2)}\n`);
}

/** Whether a word means the agent: its id, its folder's name, or the folder. */
export function isCalled({ id, dir, cwd }: KeptFolder, word: string, path: string): boolean {
  return [id, basename(dir)].includes(word) || [dir, cwd].includes(path);
}

type Located = ReturnType<typeof locateHost>;

export interface LocatedAgent extends Located {
  /** This computer's machine keeps its conversations. */
  readonly isKept: boolean;
}

/** Which agent a directory holds and where its conversations are: with the machine, for one that it serves. */
export function locateAgent(dir: string, state: string | undefined): LocatedAgent {
  const found = locateHost({ dir, ...(state === undefined ? {} : { state }) });
  const named = state ?? process.env["LICHEN_STATE_DIR"];
  if (named !== undefined && named !== "") return { ...found, isKept: false };
  const machineDir = machineDirOf({ value: () => undefined });
  const isKept = keptFolders(machineDir).some(({ id }) => id === found.agentId);
  return isKept ? { ...found, stateDir: machineDir, isKept } : { ...found, isKept };
}

function parsed(text: string): KeptFolder[] | undefined {
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { agents } = (found ?? {}) as { agents?: unknown };
  return Array.isArray(agents) && agents.every(isKeptFolder) ? agents : undefined;
}

function isKeptFolder(value: unknown): value is KeptFolder {
  const { id, dir, cwd } = (value ?? {}) as Partial<Record<keyof KeptFolder, unknown>>;
  return AgentName.safeParse(id).success && typeof dir === "string" && typeof cwd === "string";
}
