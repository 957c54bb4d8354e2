// A scripted engine: plays a list of moves onto the engine port, without a model.
//
// Where it stands is in the log, not here. Each `say` and each `calls` commits exactly one assistant message of the run,
// so the number of those tells how far an earlier process came: a resumed run passes over what was said, goes through
// its calls again (the runtime hands back recorded outcomes) and goes on from there. Questions are asked again under the
// same key, which finds the same approval. Waits and partials before the last committed move are not repeated.

import type { EntryData, EntryOf, Json, JsonObject, Usage } from "@lichen/wire";
import type {
  Answer,
  Call,
  Connection,
  Draft,
  Engine,
  EngineAbilities,
  EngineSession,
  ModelCatalogue,
  Outcome,
  Question,
  Result,
  Run,
  Steer,
  Work,
} from "../engine/port.ts";
import type { Program } from "../engine/program.ts";

export interface ScriptedToolCall {
  readonly name: string;
  readonly input?: JsonObject;
  readonly label?: Call["label"];
  readonly replaySafe?: boolean;
  readonly confirm?: Call["confirm"];
  readonly check?: Call["check"];
  /** The provider's id; by default one that no other call of the run has. */
  readonly callId?: string;
  /** What the call does; by default it answers `<name> done`. A string is an outcome's text. */
  readonly effect?: (input: JsonObject, signal: AbortSignal) => Effect | Promise<Effect>;
  /** Instead of an effect: the call is a program, which makes calls of its own. */
  readonly program?: (program: Program, signal: AbortSignal) => Effect | Promise<Effect>;
}
export type Effect = string | Outcome;

/** What a run has seen so far, for moves that depend on it. */
export interface Seen {
  readonly work: Work;
  readonly run: Run;
  readonly outcomes: readonly Outcome[];
  readonly answers: readonly Answer[];
  readonly steers: readonly Steer[];
}

export type Move =
  /** An assistant message; as the script's last move it is written with the settlement. */
  | { readonly say: string | ((seen: Seen) => string); readonly usage?: Usage }
  /** What streams, in steps; shown, never stored. */
  | { readonly partials: readonly string[] }
  /** An assistant message that calls tools, all at once. */
  | { readonly calls: readonly ScriptedToolCall[]; readonly text?: string; readonly usage?: Usage }
  | { readonly ask: Omit<Question, "key"> & { readonly key?: string } }
  /** Waits for the test, or for the run's abort. */
  | { readonly gate: Promise<unknown> | ((seen: Seen) => Promise<unknown>) }
  /** Takes the steers that arrived. */
  | { readonly steers: true }
  /** Entries as they are: a compaction, a changed setting. */
  | { readonly append: readonly Draft[] }
  | { readonly fail: string; readonly retryable?: boolean }
  | { readonly throws: string }
  /** Ends only when the run is aborted. */
  | { readonly hang: true };

export type EngineScript =
  | readonly Move[]
  | ((work: Work, session: EngineSession) => readonly Move[]);

export interface ScriptedEngineOptions {
  readonly name?: string;
  readonly can?: Partial<EngineAbilities>;
  /** What its sessions can be set to, for show: the script plays the same on each. */
  readonly models?: ModelCatalogue;
  /** Sees every run as it begins. */
  readonly onRun?: (work: Work, run: Run) => void;
}

/** An engine that plays `script` for every command; by default it says `ok`. */
export function scriptedEngine(
  script: EngineScript = [{ say: "ok" }],
  options: ScriptedEngineOptions = {},
): Engine {
  const { models } = options;
  return {
    name: options.name ?? "scripted",
    can: {
      steer: true,
      approve: true,
      resume: true,
      takeover: false,
      images: true,
      models: models !== undefined,
      eager: true,
      ...options.can,
    },
    ...(models === undefined ? {} : { models: () => Promise.resolve(models) }),
    open: (session): Connection => ({
      run(work, run) {
        options.onRun?.(work, run);
        const moves = typeof script === "function" ? script(work, session) : script;
        return play(moves, work, run);
      },
      close: () => Promise.resolve(),
    }),
  };
}

async function play(moves: readonly Move[], work: Work, run: Run): Promise<Result> {
  const said = work.resumed ? ownMessages(run) : [];
  const outcomes: Outcome[] = [];
  const answers: Answer[] = [];
  const steers: Steer[] = [];
  const seen: Seen = { work, run, outcomes, answers, steers };
  let committed = 0;

  for (const [at, move] of moves.entries()) {
    if (run.signal.aborted) return { terminal: "cancelled" };
    const isPassed = committed < said.length;
    if ("say" in move) {
      if (said[committed++]) continue;
      const draft = assistant(typeof move.say === "string" ? move.say : move.say(seen), [], move);
      if (at === moves.length - 1) return { terminal: "completed", entries: [draft] };
      await run.append([draft]);
    } else if ("calls" in move) {
      const entry = said[committed++]?.id ?? (await commitCalls(move, at, run));
      outcomes.push(...(await runCalls(entry, move.calls, at, run)));
    } else if ("ask" in move) {
      answers.push(await run.ask({ key: `move-${at}`, ...move.ask }));
    } else if (isPassed) {
      continue;
    } else if ("partials" in move) {
      for (const text of move.partials) run.partial({ text });
    } else if ("gate" in move) {
      const gate = typeof move.gate === "function" ? move.gate(seen) : move.gate;
      await untilAborted(run.signal, gate);
    } else if ("steers" in move) {
      steers.push(...(await run.steers()));
    } else if ("append" in move) {
      await run.append(move.append);
    } else if ("fail" in move) {
      return {
        terminal: "failed",
        diagnostic: move.fail,
        ...(move.retryable === undefined ? {} : { retryable: move.retryable }),
      };
    } else if ("throws" in move) {
      throw new Error(move.throws);
    } else {
      await untilAborted(run.signal);
    }
  }
  return { terminal: run.signal.aborted ? "cancelled" : "completed" };
}

function ownMessages(run: Run): EntryOf<"message.assistant">[] {
  return run
    .transcript()
    .filter((entry) => entry.kind === "message.assistant")
    .filter((entry) => entry.commandId === run.commandId);
}

async function commitCalls(
  move: {
    readonly calls: readonly ScriptedToolCall[];
    readonly text?: string;
    readonly usage?: Usage;
  },
  at: number,
  run: Run,
): Promise<string> {
  const blocks = move.calls.map((call, index) => ({
    type: "call" as const,
    index,
    callId: callIdOf(call, at, index),
    name: call.name,
    input: call.input ?? {},
  }));
  const [entry] = await run.append([assistant(move.text ?? "", blocks, move)]);
  if (!entry) throw new Error("An append of one draft gave no entry.");
  return entry.id;
}

function runCalls(
  entry: string,
  calls: readonly ScriptedToolCall[],
  at: number,
  run: Run,
): Promise<Outcome[]> {
  const running = calls.map((call, index) =>
    run.call(
      {
        assistant: entry,
        index,
        callId: callIdOf(call, at, index),
        name: call.name,
        input: call.input ?? {},
        label: call.label ?? "read",
        replaySafe: call.replaySafe ?? false,
        ...(call.confirm ? { confirm: call.confirm } : {}),
        ...(call.check ? { check: call.check } : {}),
      },
      async (input, signal) => {
        const effect = call.program
          ? await call.program(await run.program({ assistant: entry, index }), signal)
          : ((await call.effect?.(input, signal)) ?? `${call.name} done`);
        return typeof effect === "string" ? textOutcome(effect) : effect;
      },
    ),
  );
  return Promise.all(running);
}

/** An outcome that is one text. */
export function textOutcome(text: string, data?: Json): Outcome {
  return {
    content: [{ type: "text", text }],
    isError: false,
    ...(data === undefined ? {} : { data }),
  };
}

function callIdOf(call: ScriptedToolCall, at: number, index: number): string {
  return call.callId ?? `call-${at}-${index}`;
}

function assistant(
  text: string,
  calls: EntryData["message.assistant"]["content"],
  move: { readonly usage?: Usage },
): Draft & { kind: "message.assistant" } {
  return {
    kind: "message.assistant",
    data: {
      content: [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls],
      stop: calls.length > 0 ? "calls" : "stop",
      ...(move.usage ? { usage: move.usage } : {}),
    },
  };
}

/** Settles with `wait`, or once the signal aborts; without `wait` only then. */
async function untilAborted(signal: AbortSignal, wait?: Promise<unknown>): Promise<void> {
  if (signal.aborted) return;
  const aborted = Promise.withResolvers<void>();
  const onAbort = () => aborted.resolve();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await (wait ? Promise.race([wait, aborted.promise]) : aborted.promise);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
