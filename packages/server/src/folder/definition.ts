// What an agent folder says, read whole: the words for the model, the tools, the settings; and what is wrong with it.

import type { Tool } from "@lichen/engine";
import type { NamedConnection } from "./connection-set.ts";
import type { LichenConfig } from "./define-config.ts";
import type { Skill } from "./skill.ts";

export interface Definition {
  /** The folder's name: a label. */
  readonly name: string;
  /** The system prompt. */
  readonly instructions: string;
  readonly persona?: string;
  readonly contextFiles: readonly ContextFile[];
  readonly skills: readonly Skill[];
  /** All tools of the agent, in their order, each name once. */
  readonly tools: readonly Tool[];
  /** What the agent may call, each name once. */
  readonly connections: readonly NamedConnection[];
  readonly config: LichenConfig;
}

export interface ContextFile {
  readonly path: string;
  readonly content: string;
}

/** Something wrong with the folder that did not stop the rest of it. Holds no absolute path. */
export interface Diagnostic {
  readonly severity: "error" | "warning";
  /** From the agent's directory. */
  readonly file: string;
  readonly problem: string;
  /** What to do about it. */
  readonly fix: string;
}
