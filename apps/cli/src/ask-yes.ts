// Yes or no from the person at the terminal. Everything but a yes is a no, Ctrl-D as well.

import { createInterface } from "node:readline/promises";
import { onStopSignal } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Terminal } from "./terminal.ts";

/** Undefined after Ctrl-C. Refuses where nobody can be asked, and says that --yes is the way then. */
export async function askedYes(question: string, terminal: Terminal): Promise<boolean | undefined> {
  if (!terminal.canAsk)
    throw new Fault(
      "invalid",
      `Nobody can be asked here, so say --yes if this is meant: ${question}`,
    );
  const stop = new AbortController();
  const ignoreSignals = onStopSignal(() => stop.abort());
  try {
    return await askYes(question, stop.signal);
  } catch (error) {
    if (stop.signal.aborted) return undefined;
    throw error;
  } finally {
    ignoreSignals();
  }
}

/** Needs stdin and stderr to be a terminal. Rejects where `signal` aborts meanwhile. */
export async function askYes(question: string, signal: AbortSignal): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // The reader takes Ctrl-C from the terminal; it belongs to the command.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const { promise: closed, resolve: close } = Promise.withResolvers<string>();
  lines.on("close", () => close(""));
  try {
    const typed = await Promise.race([
      lines.question(`${question} [y]es or [N]o: `, { signal }),
      closed,
    ]);
    return /^y(es)?$/i.test(typed.trim());
  } finally {
    lines.close();
  }
}
