// The engine of a session whose program may be missing, or move: it looks for the program whenever a process is to start,
// so that one installed or upgraded later needs no restart, and a session whose harness is gone stays listed and readable.

import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { HarnessEngine, HarnessOptions, HarnessStanding } from "@lichen/engine";
import type {
  Connection,
  EngineAbilities,
  EngineHost,
  EngineSession,
  HarnessState,
  ModelCatalogue,
  Result,
  Run,
  Work,
} from "@lichen/runtime";
import { type EntryData, Fault, type Json, type Reasoning } from "@lichen/wire";
import { endingOf, isOfTurn } from "../events/lines.ts";
import { isDirectory } from "../sessions/session-name.ts";
import { harnessEnvironment } from "./environment.ts";
import type { Found, Harness, Places } from "./harness.ts";

/** The id of the one session of each coding agent. */
export const onlySession = "main";

export interface LateEngineOptions extends Omit<HarnessOptions, "command" | "env"> {
  readonly harness: Harness;
  readonly places: Places;
  /** The session's own command, of a harness that takes one. */
  readonly command?: readonly string[] | undefined;
  /** The agent's id: what its processes are told to be. */
  readonly id: string;
}

/** What a harness says after the end of a turn is short. */
const lastLines = 8;

type Program = Pick<HarnessOptions, "command" | "env">;

/** The files that a command begins with: a program, or the one that runs it and the script. */
function isThere({ command }: Program): boolean {
  return command.slice(0, 2).every((word) => !isAbsolute(word) || existsSync(word));
}

export class LateEngine implements HarnessEngine {
  readonly name: string;
  readonly #options: LateEngineOptions;
  #engine: HarnessEngine | undefined;
  /** As it was found last. */
  #program: Program | undefined;
  #missing: string | undefined;
  #host: EngineHost | undefined;
  /** Runs that are under way. */
  #runs = 0;
  /** The conversation of the last run, where its harness named it. */
  #former: string | undefined;

  constructor(options: LateEngineOptions) {
    this.name = options.harness.name;
    this.#options = options;
    this.#look();
  }

  get can(): EngineAbilities {
    return this.#engine?.can ?? this.#options.harness.can;
  }

  /** What was missing when it was looked for last. */
  get missing(): string | undefined {
    return this.#missing;
  }

  /** The engine itself; refuses (`unavailable`) with what is missing. */
  require(): HarnessEngine {
    return this.#able(this.standing().isRunning ? this.#engine : this.#look());
  }

  #able(engine: HarnessEngine | undefined): HarnessEngine {
    const { dir } = this.#options;
    if (!engine) throw new Fault("unavailable", this.#missing!, { retryable: false });
    if (!isDirectory(dir))
      throw new Fault(
        "unavailable",
        `Its directory ${dir} is not there any more: make it again, or delete the session.`,
        { retryable: false },
      );
    return engine;
  }

  /** Looks for the program, and makes the engine when it is found first; nothing where it is not there now. */
  #look(): HarnessEngine | undefined {
    const program = this.#find();
    if (!program) return undefined;
    const { harness, report } = this.#options;
    try {
      this.#engine ??= harness.open(this.#optionsOf(program));
    } catch (error) {
      report(error);
      this.#missing = `${harness.title} cannot be driven: ${error instanceof Error ? error.message : String(error)}`;
    }
    return this.#engine;
  }

  #find(): Program | undefined {
    const { harness, places, command: own, id } = this.#options;
    const { command, missing }: Found = harness.find(places, own);
    this.#missing = missing;
    if (command === undefined) return undefined;
    const env = harnessEnvironment(harness, places, { session: id, command });
    return (this.#program = { command, env });
  }

  /** Of an engine, which reads the command and the environment anew at each start of a process. */
  #optionsOf(first: Program): HarnessOptions {
    const { dir, settings, clock, report, wall } = this.#options;
    const now = (): Program => {
      // Where it is nowhere, the start says so by the place where it was last.
      const last = this.#program ?? first;
      return isThere(last) ? last : (this.#find() ?? last);
    };
    return {
      ...{ dir, settings, clock, report },
      ...(wall ? { wall } : {}),
      get command() {
        return now().command;
      },
      get env() {
        return now().env;
      },
    };
  }

  async check(settings: { model?: string; reasoning?: Reasoning }): Promise<void> {
    await this.#engine?.check?.(settings);
  }

  async models(): Promise<ModelCatalogue> {
    return (await this.#engine?.models?.()) ?? { models: [] };
  }

  open(session: EngineSession, host: EngineHost): Connection {
    if (session.session !== onlySession) return noSession;
    this.#host = host;
    return new LateConnection(this, session, host);
  }

  /** The harness's own conversation that the session is in, where it was named. */
  get conversation(): HarnessState["conversation"] {
    return this.#host?.harness().conversation;
  }

  /** The engine where its program was found. */
  get found(): HarnessEngine | undefined {
    return this.#engine;
  }

  /** A line as clients read it. */
  read(line: Json): Json {
    return this.#options.harness.toClaudeLine?.(line) ?? line;
  }

  standing(): HarnessStanding {
    return this.#engine?.standing() ?? { isRunning: false };
  }

  async restart(by?: string): Promise<void> {
    // One that runs is not ended where no other can begin.
    await this.#able(this.#look()).restart(by);
  }

  async settingsChanged(): Promise<void> {
    await this.#engine?.settingsChanged();
  }

  /** Ends the process of a conversation that is over. A run that has begun since then has done so itself. */
  async newConversation(): Promise<void> {
    if (this.#runs === 0) await this.#engine?.newConversation();
  }

  /** Runs where no process is left of a conversation that is over. */
  async running(engine: HarnessEngine, run: () => Promise<Result>): Promise<Result> {
    this.#runs++;
    try {
      const isOver = this.#former !== undefined && this.conversation === undefined;
      if (isOver && engine.standing().isRunning) await engine.newConversation();
      return await run();
    } finally {
      this.#runs--;
      this.#former = this.conversation?.id;
    }
  }
}

/** A coding agent works in one directory, at one thing at a time. */
const noSession: Connection = {
  run: () =>
    Promise.resolve({
      terminal: "failed",
      diagnostic: `a coding agent has one session, ${onlySession}: send it there`,
    }),
  close: () => Promise.resolve(),
};

class LateConnection implements Connection {
  readonly #engine: LateEngine;
  readonly #session: EngineSession;
  readonly #host: EngineHost;
  #inner: Connection | undefined;

  constructor(engine: LateEngine, session: EngineSession, host: EngineHost) {
    this.#engine = engine;
    this.#session = session;
    this.#host = host;
    this.#inner = engine.found?.open(session, host);
  }

  get stays(): boolean {
    return this.#inner?.stays === true;
  }

  async run(work: Work, run: Run): Promise<Result> {
    let engine: HarnessEngine;
    try {
      engine = this.#engine.require();
      this.#inner ??= engine.open(this.#session, this.#host);
    } catch (error) {
      if (!Fault.is(error)) throw error;
      return lost(work, run, error.message);
    }
    const inner = this.#inner;
    const result = await this.#engine.running(engine, () => inner.run(work, run));
    return { ...result, isTold: this.#isTold(result, run) };
  }

  /** Whether the harness's own last word is the end of a turn, and one that fits. */
  #isTold({ terminal, entries = [] }: Result, run: Run): boolean {
    if (terminal === "completed") return true;
    const last = entries.flatMap((it) => (it.kind === "harness.line" ? [it.data.line] : []));
    for (const line of [...run.lines(lastLines), ...last].toReversed()) {
      const read = this.#engine.read(line);
      if (isOfTurn(read)) return false;
      const ending = endingOf(read);
      if (ending) return ending === "bad";
    }
    return false;
  }

  async close(why?: string): Promise<void> {
    await this.#inner?.close(why);
  }
}

/**
 * How a run ends that cannot go on: unknown where a call of its own has no outcome, but for those that only waited for a
 * person, which have theirs now.
 */
function lost(work: Work, run: Run, diagnostic: string): Result {
  if (!work.resumed) return { terminal: "failed", diagnostic };
  const open = openCalls(run);
  const unmade = open.filter((call) => run.isUndecided(call));
  return {
    terminal: open.length > unmade.length ? "outcome_unknown" : "interrupted",
    diagnostic,
    entries: unmade.map((call) => ({
      kind: "message.tool",
      data: { ...call, isError: true, content: [{ type: "text", text: notMade }] },
    })),
  };
}

const notMade =
  "Nobody had allowed this call when the coding agent ended with its machine: it was not made.";

type OpenCall = Pick<EntryData["message.tool"], "assistant" | "index" | "callId" | "name">;

/** Calls of the run that have no outcome. */
function openCalls(run: Run): OpenCall[] {
  const open = new Map<string, OpenCall>();
  for (const entry of run.transcript()) {
    if (entry.commandId !== run.commandId) continue;
    if (entry.kind === "message.assistant" && Array.isArray(entry.data.content))
      for (const block of entry.data.content)
        if (block.type === "call") {
          const { index, callId, name } = block;
          open.set(`${entry.id} ${index}`, { assistant: entry.id, index, callId, name });
        }
    if (entry.kind === "message.tool") open.delete(`${entry.data.assistant} ${entry.data.index}`);
  }
  return [...open.values()];
}
