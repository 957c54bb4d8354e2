// Coding agents that a person runs by hand in terminals of this computer: who they are, and how one is ended.
//
//   AD20 Only what was listed as such is signalled, and only while it is the same process: a number that another process
//        has by now is nobody's.

import type { Places } from "../harnesses/harness.ts";
import { Fault } from "@lichen/wire";
import { type HandRun, handRuns, startOf } from "./processes.ts";
import { tmuxSessions } from "./tmux.ts";

/** As clients of the machine API know it. */
export interface Terminal {
  readonly pid: number;
  readonly dir: string;
  /** The tmux session that it runs in; empty where it runs in none. */
  readonly tmux: string;
  readonly args: readonly string[];
  readonly harness: string;
}

export class Terminals {
  readonly #places: Places;
  /** When each process began that was listed last. */
  #listed = new Map<number, string>();

  constructor(places: Places) {
    this.#places = places;
  }

  async list(): Promise<Terminal[]> {
    const [runs, sessions] = await Promise.all([handRuns(), tmuxSessions(this.#places)]);
    this.#listed = new Map(runs.map(({ pid, start }) => [pid, start]));
    return runs.map((run) => ({
      pid: run.pid,
      dir: run.dir,
      tmux: tmuxOf(run, sessions),
      args: run.args,
      harness: run.harness,
    }));
  }

  /** Asks it to end (SIGTERM). `unknown_session` where the number is not that of a listed terminal. */
  async stop(pid: number): Promise<void> {
    const run = (await handRuns()).find((it) => it.pid === pid);
    const listed = this.#listed.get(pid);
    if (!run || (listed !== undefined && listed !== run.start)) throw noTerminal(pid);
    if ((await startOf(pid)) !== run.start) throw noTerminal(pid);
    try {
      process.kill(pid, "SIGTERM");
    } catch {
      throw noTerminal(pid);
    }
  }
}

export function noTerminal(pid: number | string): Fault {
  return new Fault(
    "unknown_session",
    `Process ${pid} is no coding agent that runs in a terminal here: list the conversations again.`,
  );
}

/** The session whose pane it, or a process that began it, runs in. */
function tmuxOf({ line }: HandRun, sessions: ReadonlyMap<number, string>): string {
  for (const pid of line) {
    const session = sessions.get(pid);
    if (session !== undefined) return session;
  }
  return "";
}
