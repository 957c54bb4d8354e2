// What a machine knows of each kind of coding agent: how to find its program, what its processes may see, how to drive
// it, and how its lines read in the shape that clients of the machine API know.

import type { HarnessEngine, HarnessOptions } from "@lichen/engine";
import type { EngineAbilities } from "@lichen/runtime";
import type { Json } from "@lichen/wire";

/** What clients are told that a harness can do. */
export interface HarnessCaps {
  /** It asks before it uses tools, so that auto-approve means something. */
  readonly approve: boolean;
  /** Its conversations from elsewhere can be listed and continued. */
  readonly takeover: boolean;
}

/** A program as it was found, or what to do so that it is. */
export type Found =
  | { readonly command: readonly string[]; readonly missing?: never }
  | { readonly command?: never; readonly missing: string };

/** What somebody said inside a harness. */
export interface OutsideMessage {
  /** Who: an extension, or the harness itself. */
  readonly by: string;
  readonly text: string;
}

/** What a harness was told without asking a person. */
export interface AnsweredPrompt {
  /** Whose decision it was. */
  readonly by: string;
  readonly prompt: string;
  readonly allow: boolean;
}

/** How the lines of a harness read to clients; as they are where nothing is said here. */
export interface LineReading {
  /** One line as the stream-json that clients know. */
  readonly toClaudeLine?: (line: Json) => Json;
  /** The message that a line is, where it is one that came from elsewhere. */
  readonly outsideOf?: (line: Json) => OutsideMessage | undefined;
  /** The answer that a line is, where nobody was asked for it. */
  readonly answeredIn?: (line: Json) => AnsweredPrompt | undefined;
}

export interface Harness extends LineReading {
  /** `claude`, `pi`, `acp`. */
  readonly name: string;
  /** As a person knows it. */
  readonly title: string;
  readonly caps: HarnessCaps;
  /** What its engine can do while its program is not found. */
  readonly can: EngineAbilities;
  /** It takes a message into the turn in hand. */
  readonly folds: boolean;
  /** It has no program of its own: each session names the command that it drives. */
  readonly takesCommand?: boolean;
  /** Looks for the program now. `command` is the session's own, where it has one. */
  find(places: Places, command?: readonly string[]): Found;
  /** Whether its processes get this variable of the machine's environment. */
  takesVariable(name: string): boolean;
  open(options: HarnessOptions): HarnessEngine;
}

/** Where programs and homes are looked for. */
export interface Places {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

/** The harnesses of a machine, by name, in the order in which they are offered. */
export class Harnesses {
  readonly #all: readonly Harness[];
  readonly #places: Places;

  constructor(all: readonly Harness[], places: Places) {
    this.#all = all;
    this.#places = places;
  }

  get places(): Places {
    return this.#places;
  }

  get(name: string): Harness | undefined {
    return this.#all.find((harness) => harness.name === name);
  }

  names(): string[] {
    return this.#all.map((harness) => harness.name);
  }

  /** Each with what was found of it now. */
  look(): { readonly harness: Harness; readonly found: Found }[] {
    return this.#all.map((harness) => ({ harness, found: harness.find(this.#places) }));
  }
}
