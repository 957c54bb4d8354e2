// One call of a tool from the command line, from its question to its outcome: what the tool is told of where it runs, who
// stops it, and what is seen of it meanwhile.
//
//   The first signal aborts the tool's own and waits for it to end. What a stopped tool still answers is no outcome.

import { randomUUID } from "node:crypto";
import {
  answersOf,
  askedOf,
  confirmationOf,
  outcomeOfWork,
  type Tool,
  type ToolContext,
} from "@lichen/engine";
import type { FolderTools } from "@lichen/server/node";
import { Fault, type JsonObject } from "@lichen/wire";
import { askYes } from "../ask-yes.ts";
import { askAtTerminal, oneByOne } from "../decide.ts";
import { oneLine, printable } from "../printable.ts";
import { questionsOf } from "../question.ts";
import type { Terminal } from "../terminal.ts";
import { codeOf, type Stop } from "./apart.ts";

type Outcome = Awaited<ReturnType<typeof outcomeOfWork>>;

export type Ended =
  | { readonly outcome: Outcome; readonly progress: string }
  /** It was stopped by a signal. */
  | { readonly exitCode: number };

export interface CallOptions {
  readonly terminal: Terminal;
  /** How a person is asked where the tool wants one; `yes` allows it. */
  readonly asks: "terminal" | "nobody" | "yes";
  /** Lets a listener be told once that the call is to be stopped; what it answers takes that back. */
  readonly onStop: (listener: (signal: Stop) => void) => () => void;
}

/** Throws a `Fault` where a person did not allow the call. */
export async function callTool(
  tool: Tool,
  input: JsonObject,
  folder: FolderTools,
  options: CallOptions,
): Promise<Ended> {
  const { terminal } = options;
  const stop = new AbortController();
  let exitCode = 130;
  const ignoreSignals = options.onStop((signal) => {
    exitCode = codeOf(signal);
    stop.abort(new Error("The call was stopped."));
  });
  const progress = new Progress(terminal);
  try {
    await allow(tool, input, stop.signal, options);
    const context: ToolContext = {
      ...contextOf(folder, stop.signal, terminal, (text) => progress.show(text)),
      ask: askerOf(tool, stop.signal, options),
    };
    const outcome = await outcomeOfWork(stop.signal, async () => tool.execute(input, context));
    if (!stop.signal.aborted) return { outcome, progress: progress.text };
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    progress.end();
    ignoreSignals();
  }
  terminal.say(`${tool.name} was stopped`);
  return { exitCode };
}

async function allow(
  tool: Tool,
  input: JsonObject,
  signal: AbortSignal,
  { terminal, asks }: CallOptions,
): Promise<void> {
  const confirmation = confirmationOf(tool, input);
  if (confirmation === undefined || asks === "yes") return;
  const { description = "" } = confirmation;
  if (description !== "") terminal.say(printable(description));
  const call = `${tool.name} ${printable(JSON.stringify(input))}`;
  if (asks === "nobody")
    throw new Fault(
      "invalid",
      `${call} did not run: it asks a person first, and nobody can be asked here. Allow it with --yes.`,
    );
  if (await askYes(`Run ${call}?`, signal)) return;
  throw new Fault("invalid", `${tool.name} did not run: it was not allowed.`);
}

/** How the tool asks a person: here and now, and nothing of it is kept. */
function askerOf(
  tool: Tool,
  signal: AbortSignal,
  { terminal, asks }: CallOptions,
): ToolContext["ask"] {
  const inTurn = oneByOne();
  return async (given, options) => {
    const { questions, json, description } = askedOf(given, options);
    if (asks === "nobody" || !terminal.canAsk)
      throw new Error(
        `${tool.name} asks a person, and nobody can be asked here: call it at a terminal.`,
      );
    const shown = questionsOf({ questions: json });
    const decision = await inTurn(() => askAtTerminal(terminal, shown, description, signal));
    signal.throwIfAborted();
    if (!decision?.allow) return { outcome: "denied" };
    return answersOf(questions, { outcome: "allowed", ...decision });
  };
}

/** What a tool learns in a run, as far as it is true here: a session of its own without a history. */
function contextOf(
  { agent, cwd, tools }: FolderTools,
  signal: AbortSignal,
  terminal: Terminal,
  output: (text: string) => void,
): Omit<ToolContext, "ask"> {
  const session = `tool-${randomUUID()}`;
  const active = new Set(tools.filter(({ deferred }) => !deferred).map(({ name }) => name));
  return {
    cwd,
    signal,
    session: { agent, session, commandId: `cmd_${randomUUID()}` },
    tools: {
      active: () => [...active],
      registered: () =>
        tools.map(({ name, description, deferred = false }) => ({ name, description, deferred })),
      async activate(names) {
        const known = tools.map(({ name }) => name);
        const fresh = names.filter((name) => known.includes(name) && !active.has(name));
        for (const name of fresh) active.add(name);
        if (fresh.length > 0) terminal.say(`switched on for the conversation: ${fresh.join(", ")}`);
        return fresh;
      },
    },
    output,
    sessionManager: {
      getSessionId: () => session,
      getHeader: () => ({ type: "session", id: session, cwd }),
      getBranch: () => [],
    },
  };
}

/** What the tool has put out so far, on stderr: only what is new of it. */
class Progress {
  readonly #terminal: Terminal;
  text = "";

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  show(given: string): void {
    const text = String(given);
    if (text.startsWith(this.text)) this.#terminal.show(printable(text.slice(this.text.length)));
    else {
      // It was rewritten, or its middle left out: where it stands now is enough.
      this.end();
      this.#terminal.show(oneLine(text.slice(-200), 200));
    }
    this.text = text;
  }

  end(): void {
    if (this.text !== "" && !this.text.endsWith("\n")) this.#terminal.show("\n");
  }
}
