// Puts an approval to the person at this terminal.

import { createInterface, type Interface } from "node:readline/promises";
import type { Approval } from "@lichen/wire";
import { oneLine, printable } from "./printable.ts";
import {
  answerTyped,
  type Decision,
  describeQuestion,
  type Question,
  questionsOf,
} from "./question.ts";
import { revealed } from "./revealed.ts";
import { suggestedLines } from "./suggested.ts";
import type { Terminal } from "./terminal.ts";

/** What the run waits for, in words that a person can decide on. */
export function describeApproval(approval: Approval): string {
  const { kind, tool, input, description } = approval;
  const about = description === undefined ? "" : printable(description);
  if (kind === "question") {
    const parts = [about, ...questionsOf(approval).map(describeQuestion)];
    return parts.filter((part) => part !== "").join("\n") || "The agent has a question.";
  }
  const call = `${oneLine(tool ?? "a tool", 256)} ${revealed(JSON.stringify(input ?? {}))}`;
  const always = suggestedLines(approval).map((line) => `always would allow: ${line}`);
  const lines = [...(about === "" ? [] : [about]), `May the agent call ${call}?`, ...always];
  return lines.join("\n");
}

/** Undefined where the question was withdrawn before its answer. */
export async function decideAtTerminal(
  terminal: Terminal,
  approval: Approval,
  withdrawn: AbortSignal,
): Promise<Decision | undefined> {
  if (withdrawn.aborted) return undefined;
  const questions = approval.kind === "question" ? questionsOf(approval) : [];
  if (questions.length > 0)
    return askAtTerminal(terminal, questions, approval.description, withdrawn);
  terminal.say(describeApproval(approval));
  return withLines(withdrawn, async (next) => {
    if (approval.kind === "question") {
      const message = (await next("> ")).trim();
      return message === "" ? { allow: false } : { allow: true, message };
    }
    const canLast = suggestedLines(approval).length > 0;
    const typed = (await next(canLast ? "[y]es, [a]lways or [N]o: " : "[y]es or [N]o: ")).trim();
    if (canLast && /^a(lways)?$/i.test(typed)) return { allow: true, always: true };
    return { allow: /^y(es)?$/i.test(typed) };
  });
}

/**
 * Asks one question after the other; an empty line leaves one out, and nothing but empty lines is a no. Undefined where
 * `withdrawn` aborts before the end.
 */
export async function askAtTerminal(
  terminal: Terminal,
  questions: readonly Question[],
  description: string | undefined,
  withdrawn: AbortSignal,
): Promise<Decision | undefined> {
  if (withdrawn.aborted) return undefined;
  if (description !== undefined) terminal.say(printable(description));
  return withLines(withdrawn, async (next) => {
    const answers: [string, string][] = [];
    for (const question of questions) {
      terminal.say(describeQuestion(question));
      const answer = answerTyped(question, await next(promptOf(question)));
      if (answer !== "") answers.push([question.text, answer]);
    }
    return answers.length === 0
      ? { allow: false }
      : { allow: true, answers: Object.fromEntries(answers) };
  });
}

/** Lets what needs the terminal to itself come one after the other, so that one typed line answers one thing. */
export function oneByOne(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
}

function promptOf({ options, takesSeveral }: Question): string {
  if (options.length === 0) return "> ";
  return takesSeveral
    ? "numbers with commas between, or your own words: "
    : "a number, or your own words: ";
}

/** Lends the terminal's lines; undefined where `withdrawn` aborts meanwhile. Ctrl-D is an empty line. */
async function withLines<T>(
  withdrawn: AbortSignal,
  work: (next: (prompt: string) => Promise<string>) => Promise<T>,
): Promise<T | undefined> {
  const lines: Interface = createInterface({ input: process.stdin, output: process.stderr });
  // The reader takes Ctrl-C from the terminal; it belongs to the command.
  lines.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  const closed = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  let isOpen = true;
  lines.once("close", () => (isOpen = false));
  try {
    return await work((prompt) =>
      isOpen
        ? Promise.race([lines.question(prompt, { signal: withdrawn }), closed])
        : Promise.resolve(""),
    );
  } catch (error) {
    if (withdrawn.aborted) return undefined;
    throw error;
  } finally {
    lines.close();
  }
}
