// The life of the process in which the code of an agent's folder runs for `lichen tool`: takes a line, does what it asks, and
// tells the answer and the exit code. It ends with the process that has started it.

import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { Input } from "../command.ts";
import { explain } from "../main.ts";
import { processTerminal, type Terminal } from "../terminal.ts";
import { codeOf, type Line, type Said, type Stop, type Told, watchedDescriptor } from "./apart.ts";
import { runTool } from "./program.ts";

const send = process.send!.bind(process);
// The folder's code finds what it finds in a host: no process to talk to.
delete process.send;
let sending: Promise<void> = Promise.resolve();
let stopCall: ((signal: Stop) => void) | undefined;

new Worker(fileURLToPath(import.meta.resolve("./apart-watch.ts")), {
  workerData: watchedDescriptor,
}).unref();
process.on("SIGINT", () => say({ type: "interrupted" }));
process.on("message", (told: Told) => {
  if (told.type === "line") void live(told.line);
  else if (stopCall === undefined) void end(codeOf(told.signal));
  else stopCall(told.signal);
});

async function live(line: Line): Promise<void> {
  const terminal: Terminal = {
    ...processTerminal(),
    answer: (text) => say({ type: "answer", text }),
    showsLive: line.showsLive,
  };
  const onStop = (listener: (signal: Stop) => void) => {
    stopCall = listener;
    return () => (stopCall = undefined);
  };
  try {
    await end(await runTool(inputOf(line), terminal, { onStop, end }));
  } catch (error) {
    await end(await explain(error, terminal));
  }
}

function inputOf({ words, state, flags }: Line): Input {
  return {
    argument: (name) =>
      name === "name" || name === "json" || name === "dir" ? words[name] : undefined,
    value: (name) => (name === "state" ? state : undefined),
    values: () => [],
    flag: (name) => flags.includes(name),
    rest: [],
  };
}

function say(said: Said): void {
  const { promise, resolve } = Promise.withResolvers<void>();
  send(said, undefined, undefined, () => resolve());
  sending = Promise.all([sending, promise]).then(() => undefined);
}

async function end(code: number): Promise<void> {
  say({ type: "done", code });
  await Promise.all([sending, processTerminal().flush()]);
  process.exit(code);
}
