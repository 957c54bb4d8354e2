// The process beside this one in which the code of an agent's folder runs for `lichen tool`: whatever that code does, stdout
// holds answers alone, and a signal ends it.
//
//   The first Ctrl-C or SIGTERM is told to it, and it has all the time it wants. The second one kills it, and what it has
//   started. A process that ends without having said how is a failure.

import { fork } from "node:child_process";
import { getCompileCacheDir } from "node:module";
import { constants } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Terminal } from "../terminal.ts";

/** A command line of `lichen tool`, as the process beside is given it. */
export interface Line {
  readonly words: Readonly<Record<"name" | "json" | "dir", string | undefined>>;
  readonly state: string | undefined;
  readonly flags: readonly string[];
  /** Whether answers go to a screen. */
  readonly showsLive: boolean;
}

export type Told =
  | { readonly type: "line"; readonly line: Line }
  | { readonly type: "stop"; readonly signal: Stop };

export type Said =
  | { readonly type: "answer"; readonly text: string }
  /** Ctrl-C at a question. */
  | { readonly type: "interrupted" }
  | { readonly type: "done"; readonly code: number };

/** Where the process beside finds a pipe that is closed once this one is gone. */
export const watchedDescriptor = 4;

export type Stop = "SIGINT" | "SIGTERM";

/** The exit code of a command that a signal ended. */
export function codeOf(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}

export async function runApart(line: Line, terminal: Terminal): Promise<number> {
  const cache = getCompileCacheDir();
  const program = fileURLToPath(import.meta.resolve("./apart-process.ts"));
  // Node's answer is a folder for its own version, in the one that it was given.
  const child = fork(program, [cache === undefined ? "" : dirname(cache)], {
    // What the folder's code writes to its stdout is no answer.
    stdio: ["inherit", 2, 2, "ipc", "pipe"],
    // A group of its own, which can be killed whole.
    detached: true,
  });
  const { promise: ended, resolve, reject } = Promise.withResolvers<string>();
  child.once("error", reject);
  child.once("exit", (code, signal) => resolve(signal ?? `exit code ${code}`));
  const tell = (told: Told) => {
    if (child.connected) child.send(told, () => undefined);
  };
  const toGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // Nothing of it runs any more.
    }
  };
  let code: number | undefined;
  let stopped: Stop | undefined;
  const stop = (signal: Stop) => {
    if (stopped === undefined) {
      stopped = signal;
      terminal.say("stopping; once more to quit at once");
      return tell({ type: "stop", signal });
    }
    code ??= codeOf(signal);
    toGroup("SIGKILL");
  };
  child.on("message", (said: Said) => {
    if (said.type === "answer") terminal.answer(said.text);
    else if (said.type === "interrupted") stop("SIGINT");
    else code ??= said.code;
  });
  const hangUp = () => {
    toGroup("SIGKILL");
    process.exit(codeOf("SIGHUP"));
  };
  const pause = () => {
    toGroup("SIGSTOP");
    process.kill(process.pid, "SIGSTOP");
  };
  const goOn = () => toGroup("SIGCONT");
  const handlers = { SIGINT: stop, SIGTERM: stop, SIGHUP: hangUp, SIGTSTP: pause, SIGCONT: goOn };
  for (const [signal, handle] of Object.entries(handlers)) process.on(signal, handle);
  try {
    tell({ type: "line", line });
    const how = await ended;
    if (stopped !== undefined) toGroup("SIGKILL");
    if (code !== undefined) return code;
    if (stopped !== undefined) return codeOf(stopped);
    terminal.say(
      `lichen: the agent's code ended the process in which it runs (${how}), and nothing was answered: a tool answers by what it returns or throws.`,
    );
    return 1;
  } finally {
    for (const [signal, handle] of Object.entries(handlers)) process.off(signal, handle);
  }
}
