// Around every call of every tool: its effect is written down before it begins and when it has ended, by its call's key.
//
//   The effects of writes happen one after another, so that what a write did to the folder is its own doing.
//   A write that ran to its end in an earlier life and runs again is watched: does the folder change once more?
//   Only the tested session runs; what else the copied state holds stays as it was.

import type { Engine, Program, Run } from "@lichen/runtime";
import type { Label } from "@lichen/wire";
import type { Deaths } from "./death.ts";
import { folderPrint } from "./folder-print.ts";
import type { Seen, Witness } from "./witness.ts";

export interface EffectsOptions {
  readonly session: string;
  /** Where the agent works. */
  readonly dir: string;
  readonly witness: Witness;
  /** What earlier lives of this copy have left. */
  readonly earlier: readonly Seen[];
  readonly deaths: Deaths;
}

interface Effect {
  readonly call: string;
  readonly tool: string;
  readonly label: Label;
  readonly replaySafe: boolean;
}

export class Effects {
  readonly #options: EffectsOptions;
  readonly #ended: ReadonlySet<string>;
  #turn: Promise<void> = Promise.resolve();

  constructor(options: EffectsOptions) {
    this.#options = options;
    this.#ended = new Set(
      options.earlier.flatMap((seen) => (seen.saw === "return" ? [seen.call] : [])),
    );
  }

  aroundEngine(engine: Engine): Engine {
    return {
      name: engine.name,
      can: engine.can,
      ...(engine.check ? { check: (settings) => engine.check!(settings) } : {}),
      ...(engine.models ? { models: () => engine.models!() } : {}),
      open: (session, host) => {
        const connection = engine.open(session, host);
        return {
          run: (work, run) =>
            session.session === this.#options.session
              ? connection.run(work, this.#around(run))
              : untilStopped(run.signal),
          close: () => connection.close(),
          ...(connection.stays === undefined ? {} : { stays: connection.stays }),
        };
      },
    };
  }

  #around(run: Run): Run {
    const { agent, session, epoch, commandId, signal } = run;
    return {
      ...{ agent, session, epoch, commandId, signal },
      settings: () => run.settings(),
      access: () => run.access(),
      transcript: () => run.transcript(),
      blob: (sha256) => run.blob(sha256),
      append: (drafts) => run.append(drafts),
      partial: (partial) => run.partial(partial),
      ask: (question) => run.ask(question),
      withdrawQuestion: (key, reason) => run.withdrawQuestion(key, reason),
      withdrawQuestions: (prefix, reason) => run.withdrawQuestions(prefix, reason),
      steers: () => run.steers(),
      onSteer: (arrived) => run.onSteer(arrived),
      onQueued: (arrived) => run.onQueued(arrived),
      lines: () => run.lines(),
      addUsage: (usage) => run.addUsage(usage),
      call: (call, effect) => {
        const { assistant, index, name, label, replaySafe } = call;
        const seen = { call: `${assistant}/${index}`, tool: name, label, replaySafe };
        return run.call(call, (input, stop) => this.#watched(seen, () => effect(input, stop)));
      },
      hasBegun: (call) => run.hasBegun(call),
      isUndecided: (call) => run.isUndecided(call),
      program: async (place) =>
        this.#aroundProgram(`${place.assistant}/${place.index}`, await run.program(place)),
    };
  }

  /** A program's own calls are effects like those of tools. */
  #aroundProgram(key: string, program: Program): Program {
    return {
      seed: program.seed,
      startedAt: program.startedAt,
      get order() {
        return program.order;
      },
      recordedAt: (ordinal) => program.recordedAt(ordinal),
      names: (now) => program.names(now),
      calls: () => program.calls(),
      snapshot: () => program.snapshot(),
      save: (snapshot) => program.save(snapshot),
      call: (call, effect) => {
        const { ordinal, operation, label, replaySafe } = call;
        const seen = { call: `${key}/${ordinal}`, tool: operation, label, replaySafe };
        return program.call(call, (input, stop) => this.#watched(seen, () => effect(input, stop)));
      },
    };
  }

  async #watched<T>({ label, replaySafe, ...name }: Effect, effect: () => Promise<T>): Promise<T> {
    const isWrite = label === "write";
    const leave = isWrite ? await this.#enter() : undefined;
    try {
      const { witness, deaths, dir } = this.#options;
      const isWatched = isWrite && this.#ended.has(name.call);
      const before = isWatched ? await folderPrint(dir) : undefined;
      witness.saw({ saw: "effect", ...name, label, replaySafe });
      try {
        return await effect();
      } finally {
        const hasChanged = isWatched && before !== (await folderPrint(dir));
        witness.saw({ saw: "return", ...name, hasChanged });
        await deaths.effectReturned(name.tool);
      }
    } finally {
      leave?.();
    }
  }

  /** Settles when the writes before this one have left. */
  async #enter(): Promise<() => void> {
    const before = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    await before;
    return resolve;
  }
}

function untilStopped(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  return promise;
}
