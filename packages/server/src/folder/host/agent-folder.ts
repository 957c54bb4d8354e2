// An agent's folder, read anew before every turn where it changed.
//
//   What a turn gets is how the folder stood when the turn asked, or later; unchanged, that costs some calls of `stat`.
//   A config or models.json that breaks while the agent runs is reported, and the last one that worked stays in use.

import { basename, join } from "node:path";
import { sweepPlaceholders } from "@lichen/engine/node";
import { Fault } from "@lichen/wire";
import { hostsDir } from "../../host/state-dir.ts";
import type { Definition, Diagnostic } from "../definition.ts";
import { agentIdOf } from "./agent-id.ts";
import { AuthoredModules } from "./authored-modules.ts";
import { type AgentPlace, findAgent, realDirectory } from "./find-agent.ts";
import { FolderFiles } from "./folder-files.ts";
import { LoadedCode } from "./loaded-code.ts";
import { lendOwnModules } from "./own-modules.ts";
import { type MakeCodingTools, type ReadFolder, readFolder } from "./read-folder.ts";
import { readOnlyPlaces } from "./read-only-places.ts";

export interface FolderOptions {
  /** Makes the built-in coding tools; the config says which of them the agent gets. */
  codingTools?: MakeCodingTools;
  /** Where the agent works; the directory that was pointed at, when left out. */
  cwd?: string;
  /** The value of `LICHEN_AGENT`. */
  named?: string;
  /** Where the host's state lies: nothing of it is read in the name of a file of the folder. */
  protectedPaths?: readonly string[];
  /** How long a module of the folder may take to load. */
  loadMs?: number;
}

export interface LoadedDefinition {
  readonly definition: Definition;
  readonly diagnostics: readonly Diagnostic[];
  /** The text of `models.json`, where there is one. */
  readonly modelsJson?: string;
}

export class AgentFolder {
  readonly place: AgentPlace;
  readonly #coding: MakeCodingTools;
  readonly #giveBack: () => void;
  readonly #files: FolderFiles;
  readonly #modules: AuthoredModules;
  readonly #loaded: LoadedCode;
  #read: ReadFolder | undefined;
  #reading: Promise<void> | undefined;
  /** A reading that has not begun. */
  #next: Promise<void> | undefined;
  #broken: Diagnostic | undefined;

  private constructor(place: AgentPlace, options: FolderOptions) {
    this.place = place;
    this.#coding = options.codingTools ?? (() => []);
    this.#files = new FolderFiles([
      hostsDir(),
      join(place.dir, ".secrets"),
      join(place.cwd, ".secrets"),
      ...(options.protectedPaths ?? []),
    ]);
    this.#modules = new AuthoredModules(place.dir, this.#files, options.loadMs);
    this.#loaded = new LoadedCode(place.dir);
    this.#giveBack = lendOwnModules(place.dir, this.#loaded);
  }

  /** Opens and reads the folder. Throws a `Fault` where its config or models.json cannot be used. */
  static async open(pointedAt: string, options: FolderOptions = {}): Promise<AgentFolder> {
    const found = findAgent(pointedAt, options.named);
    const place = options.cwd === undefined ? found : { ...found, cwd: realDirectory(options.cwd) };
    const folder = new AgentFolder(place, options);
    try {
      folder.#sweep();
      await folder.load();
      // What was loaded tells of more places.
      folder.#sweep();
    } catch (error) {
      folder.close();
      throw error;
    }
    return folder;
  }

  /** The folder's name now: a label. */
  get name(): string {
    return basename(this.place.dir);
  }

  /** Made once and kept in the folder. */
  get id(): string {
    return agentIdOf(this.place.dir);
  }

  /** What the agent's tools must never change: the code that the host runs for it, as far as it is known now. */
  get readOnly(): readonly string[] {
    return readOnlyPlaces(this.place, this.#loaded);
  }

  /**
   * The same for what the folder's own connections reach: a folder inside of it that its owner named is theirs to change,
   * the parts with a meaning to the host are not.
   */
  get readOnlyParts(): readonly string[] {
    return readOnlyPlaces({ ...this.place, cwd: this.place.dir }, this.#loaded);
  }

  /** The modules that the host has loaded for it or looked for, wherever they lie: there or not yet. */
  get loaded(): readonly string[] {
    return this.#loaded.paths;
  }

  /** The definition as the folder stands. */
  async load(): Promise<LoadedDefinition> {
    if (this.#modules.takeArrived() || !this.#read?.stamps.isFresh)
      await (this.#next ??= this.#readNext());
    const { definition, diagnostics, modelsJson } = this.#read!;
    return {
      definition,
      ...(modelsJson === undefined ? {} : { modelsJson }),
      diagnostics: this.#broken ? [this.#broken, ...diagnostics] : diagnostics,
    };
  }

  close(): void {
    this.#giveBack();
  }

  /** Takes away what a killed host's commands left. */
  #sweep(): void {
    const { dir, cwd } = this.place;
    sweepPlaceholders([...this.readOnly, join(dir, ".secrets"), join(cwd, ".secrets")]);
  }

  /** A reading that began before somebody asked may have missed the newest edit: it is waited for, and the next one counts. */
  async #readNext(): Promise<void> {
    await this.#reading?.catch(() => undefined);
    this.#reading = this.#next;
    this.#next = undefined;
    await this.#readAnew();
  }

  async #readAnew(): Promise<void> {
    try {
      this.#read = await readFolder(this.place, this.#coding, this.#modules, this.#files);
      this.#broken = undefined;
    } catch (error) {
      if (!this.#read || !Fault.is(error)) throw error;
      const [file = "", ...problem] = error.message.split(": ");
      this.#broken = {
        severity: "error",
        file,
        problem: `${problem.join(": ")} The last version that worked is in use`,
        fix: "correct the file: it is read again before the next turn",
      };
    }
  }
}

/** Reads the agent that `pointedAt` holds, once. */
export async function loadDefinition(
  pointedAt: string,
  options: FolderOptions = {},
): Promise<LoadedDefinition> {
  const folder = await AgentFolder.open(pointedAt, options);
  try {
    return await folder.load();
  } finally {
    folder.close();
  }
}
