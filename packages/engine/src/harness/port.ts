// What drivers of coding agents (Claude Code, pi, ACP agents) share with the machine that runs them.
//
// One engine drives one coding agent: an agent of ours with one session. Its process is started when a run needs it
// and stays between runs.

import type { Engine } from "@lichen/runtime";

/** What a machine says of one of its coding agents; read anew whenever it counts. */
export interface HarnessSettings {
  /** Permissions are given without asking, questions never. */
  readonly autoApprove: boolean;
  /** The process is started without a message, and again when it ends. */
  readonly keepRunning: boolean;
}

export interface HarnessClock {
  /** Milliseconds since the epoch. */
  now(): number;
  after(ms: number, wake: () => void): () => void;
}

/** The machine's wall around an agent's processes: it puts a command behind it. */
export interface HarnessWall {
  (argv: readonly string[]): { readonly argv: readonly string[]; release(): void };
  /** What they do not see, whether a wall stands or not: nothing of it is read or written in their place either. */
  readonly hidden?: () => readonly string[];
  /** What they may read and never change; asked for at each change. */
  readonly readOnly?: () => readonly string[];
}

export interface HarnessOptions {
  /** The coding agent's working directory, absolute. */
  readonly dir: string;
  /** The program and its leading arguments. Read anew for each process: programs move. */
  readonly command: readonly string[];
  /** All of the process's environment. Read anew for each process. */
  readonly env: Readonly<Record<string, string>>;
  readonly settings: () => HarnessSettings;
  readonly clock: HarnessClock;
  /** Puts a command behind the machine's wall (bubblewrap); the command itself where there is none. */
  readonly wall?: HarnessWall;
  /** Told of faults that have no caller. */
  readonly report: (error: unknown) => void;
}

/** How a coding agent's process stands. */
export interface HarnessStanding {
  readonly isRunning: boolean;
  readonly pid?: number;
  /** Since when nothing has happened: epoch milliseconds. */
  readonly lastUsedAt?: number;
}

/** An engine that drives a coding agent. */
export interface HarnessEngine extends Engine {
  /** Reads no disk and never waits. */
  standing(): HarnessStanding;
  /** Ends the process group at once and starts it again on the same conversation; the run in hand goes on or ends. `by`: who wants it. */
  restart(by?: string): Promise<void>;
  /** Settings have changed: a live process is told, or replaced, before this settles. */
  settingsChanged(): Promise<void>;
  /** The next message begins a new conversation: the process is ended. */
  newConversation(): Promise<void>;
}
