// Puts an approval to the person at this terminal.

import { createInterface } from "node:readline/promises";
import type { Approval } from "@lichen/wire";
import { oneLine, printable } from "./printable.ts";
import type { Terminal } from "./terminal.ts";

/** What the run waits for, in words that a person can decide on. */
export function describeApproval(approval: Approval): string {
  const { kind, tool, input, description } = approval;
  const about = description === undefined ? "" : printable(description);
  if (kind === "question") return about === "" ? "The agent has a question." : about;
  const call = `${oneLine(tool ?? "a tool", 64)} ${printable(JSON.stringify(input ?? {}))}`;
  return about === "" ? `May the agent call ${call}?` : `${about}\nMay the agent call ${call}?`;
}

/** Undefined where nobody can be asked, or the question was withdrawn before its answer. */
export async function decideAtTerminal(
  terminal: Terminal,
  approval: Approval,
  withdrawn: AbortSignal,
): Promise<{ allow: boolean; message?: string } | undefined> {
  terminal.say(describeApproval(approval));
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  // The reader takes Ctrl-C from the terminal; it belongs to the command.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    if (approval.kind === "question") {
      const message = (await lines.question("> ", { signal: withdrawn })).trim();
      return message === "" ? { allow: false } : { allow: true, message };
    }
    const typed = await lines.question("[y]es or [N]o: ", { signal: withdrawn });
    return { allow: /^y(es)?$/i.test(typed.trim()) };
  } catch (error) {
    if (withdrawn.aborted) return undefined;
    throw error;
  } finally {
    lines.close();
  }
}
