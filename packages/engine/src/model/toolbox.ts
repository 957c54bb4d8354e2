// The tools of one run: which the model sees, and one call's way from its arguments to its outcome.
//
// A call's arguments are validated before anything is recorded; from there the run's own `call` keeps the order of
// approval, intent, effect and outcome. What was refused before that is the caller's to record.
//
// Grants decide about a call when it begins, and once more where a person was waited for: what they refuse is recorded
// like any call, and nothing runs.

import { decide, type Decision } from "@lichen/capability";
import type { Call, Outcome, Run } from "@lichen/runtime";
import type { CallBlock, Json, JsonObject } from "@lichen/wire";
import { type Answers, answersOf, askedOf } from "../asking.ts";
import { errorOutcome, type Tool, type ToolContext, type ToolSwitches } from "../tool.ts";
import { acceptedInput, confirmationOf, outcomeOfWork } from "../tool-call.ts";
import { withoutSecrets } from "./diagnostic.ts";

type Ask = ReturnType<NonNullable<ToolContext["askFor"]>>;

/** A call by the assistant entry that asks for it. */
export interface CallKey {
  readonly assistant: string;
  readonly block: Pick<CallBlock, "index" | "callId" | "name">;
}

export class Toolbox {
  readonly #run: Run;
  readonly #cwd: string;
  readonly #tools: readonly Tool[];
  readonly #activated: Set<string>;
  readonly #secrets: () => Promise<readonly string[]>;
  readonly switches: ToolSwitches;

  /** `secrets` are what the host holds and no tool's error may tell the model. */
  constructor(
    run: Run,
    cwd: string,
    tools: readonly Tool[],
    secrets: () => Promise<readonly string[]>,
  ) {
    this.#run = run;
    this.#secrets = secrets;
    this.#cwd = cwd;
    this.#tools = tools;
    this.#activated = new Set(run.settings().tools);
    this.switches = {
      active: () => this.active().map((tool) => tool.name),
      registered: () =>
        tools.map(({ name, description, deferred }) => ({
          name,
          description,
          deferred: deferred ?? false,
        })),
      activate: (names) => this.#activate(names),
    };
  }

  /** The tools that the model sees now. */
  active(): readonly Tool[] {
    return this.#tools.filter((tool) => !tool.deferred || this.#activated.has(tool.name));
  }

  /** Runs one call; rejects where the run can go no further, throws `Refusal` where nothing ran. */
  async call(key: CallKey, tool: Tool, given: unknown): Promise<Outcome> {
    const input = acceptedInput(tool, given);
    const decision = this.#decide(tool);
    const confirm = decision.allowed ? confirmationOf(tool, input) : undefined;
    const call: Call = {
      assistant: key.assistant,
      index: key.block.index,
      callId: key.block.callId,
      name: tool.name,
      input,
      // What is refused changes nothing; one that an earlier process began keeps its own label.
      label: decision.allowed ? tool.label : "read",
      replaySafe: decision.allowed && (tool.replaySafe ?? false),
      ...(confirm ? { confirm } : {}),
      check: (edited) => tool.parse(edited),
    };
    return this.#run.call(call, async (allowed, signal) => {
      const now = decision.allowed ? this.#decide(tool) : decision;
      if (!now.allowed) return errorOutcome(now.message);
      const asker = new Asker(this.#run, key);
      try {
        return await this.#execute(tool, allowed, this.#context(key, signal, asker));
      } finally {
        asker.end();
      }
    });
  }

  #decide({ grant, label }: Tool): Decision {
    return grant === undefined ? { allowed: true } : decide(this.#run.access(), grant, label);
  }

  async #execute(tool: Tool, input: JsonObject, context: ToolContext): Promise<Outcome> {
    const { signal } = context;
    const work = async () => tool.execute(input, context);
    const outcome = await outcomeOfWork(signal, async () => {
      if (!tool.endsItself) return untilStopped(signal, work);
      const result = await work();
      // What a stopped tool still answers is no outcome.
      signal.throwIfAborted();
      return result;
    });
    return this.withoutSecrets(outcome);
  }

  /** An error's outcome without what the host holds as secret; any other as it is. */
  async withoutSecrets(outcome: Outcome): Promise<Outcome> {
    if (!outcome.isError) return outcome;
    const secrets = await this.#secrets();
    return {
      ...outcome,
      content: outcome.content.map((block) =>
        block.type === "text" ? { ...block, text: withoutSecrets(block.text, secrets) } : block,
      ),
      ...(outcome.data === undefined ? {} : { data: jsonWithoutSecrets(outcome.data, secrets) }),
    };
  }

  async #activate(names: readonly string[]): Promise<string[]> {
    const fresh = this.#tools
      .filter(
        (tool) => tool.deferred && names.includes(tool.name) && !this.#activated.has(tool.name),
      )
      .map((tool) => tool.name);
    if (fresh.length === 0) return [];
    for (const name of fresh) this.#activated.add(name);
    await this.#run.append([{ kind: "session.changed", data: { tools: [...this.#activated] } }]);
    return fresh;
  }

  #context({ assistant, block }: CallKey, signal: AbortSignal, asker: Asker): ToolContext {
    const run = this.#run;
    const { agent, session, commandId } = run;
    return {
      cwd: this.#cwd,
      signal,
      session: { agent, session, commandId },
      tools: this.switches,
      output: (text) =>
        run.partial({ tool: { index: block.index, name: block.name, output: text } }),
      ask: (questions, options) => asker.ask(questions, options),
      askFor: (ordinal) => asker.askFor(ordinal),
      program: () => run.program({ assistant, index: block.index }),
      access: () => run.access(),
      clean: async (text) => withoutSecrets(text, await this.#secrets()),
      sessionManager: {
        getSessionId: () => session,
        getHeader: () => ({ type: "session", id: session, cwd: this.#cwd }),
        getBranch: () => JSON.parse(JSON.stringify(run.transcript())) as Json[],
      },
    };
  }
}

/**
 * What one call asks a person. A question is known by its call and its place among those the call asks, so that a call
 * that runs again finds its answers.
 */
class Asker {
  readonly #run: Run;
  readonly #call: CallKey;
  /** How many questions were asked, by the name of who asks. */
  readonly #asked = new Map<string, number>();
  #isOver = false;

  constructor(run: Run, call: CallKey) {
    this.#run = run;
    this.#call = call;
  }

  /** The call has ended: what it still asks is withdrawn with its outcome. */
  end(): void {
    this.#isOver = true;
  }

  readonly ask: ToolContext["ask"] = this.#asking();

  /** For a call of a program: its questions are known by its ordinal, so that no other call finds their answers. */
  askFor(ordinal: number): Ask {
    return this.#asking(ordinal);
  }

  #asking(ordinal?: number): Ask {
    return (questions, options) => {
      const answers = this.#ask(questions, options, ordinal);
      // A tool that ends without its answer has nothing to hear of a stop.
      answers.catch(() => undefined);
      return answers;
    };
  }

  async #ask(
    given: Parameters<Ask>[0],
    options: Parameters<Ask>[1],
    ordinal: number | undefined,
  ): Promise<Answers> {
    const { assistant, block } = this.#call;
    if (this.#isOver) throw new Error(`ask: the call of ${block.name} has ended.`);
    const { questions, json, description } = askedOf(given, options);
    const name = `${assistant}/${block.index}/${ordinal === undefined ? "" : `program/${ordinal}/`}ask`;
    const asked = this.#asked.get(name) ?? 0;
    this.#asked.set(name, asked + 1);
    const answer = await this.#run.ask({
      key: `${name}/${asked}`,
      kind: "question",
      assistant,
      index: block.index,
      ...(ordinal === undefined ? {} : { ordinal }),
      tool: block.name,
      questions: json,
      ...(description === undefined ? {} : { description }),
    });
    return answersOf(questions, answer);
  }
}

function jsonWithoutSecrets(value: Json, secrets: readonly string[]): Json {
  if (typeof value === "string") return withoutSecrets(value, secrets);
  if (Array.isArray(value)) return value.map((item) => jsonWithoutSecrets(item, secrets));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, jsonWithoutSecrets(member, secrets)]),
  );
}

/** A stop does not wait for a tool that ignores it. */
async function untilStopped<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const stopped = Promise.withResolvers<never>();
  const stop = () => stopped.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work(), stopped.promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
