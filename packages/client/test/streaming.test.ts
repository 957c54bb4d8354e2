import { rmSync } from "node:fs";
import { join } from "node:path";
import {
  type Engine,
  openOwner,
  type Owner,
  type Run,
  type Session,
  type Sql,
} from "@lichen/runtime";
import { nodePlatform, openSql } from "@lichen/runtime/node";
import { textOutcome } from "@lichen/runtime/testing";
import { type Baseline, type Entry, foldBaseline, known, type Partial } from "@lichen/wire";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ViewFold, viewOf } from "../src/index.ts";
import { HandClock } from "./hand-clock.ts";
import { baselineAt } from "./hand-host.ts";
import { temporaryFolder } from "./host.ts";
import { prompt } from "./messages.ts";

const assistant = (seq: number, kind = "message.assistant"): Entry => ({
  seq,
  id: `ent_${seq}`,
  at: "2026-01-01T00:00:00.000Z",
  kind,
  commandId: "cmd_1",
  data: { text: `m${seq}`, content: [{ type: "text", text: `m${seq}` }], stop: "stop" },
});
const running = (partial?: Partial): NonNullable<Baseline["running"]> => ({
  commandId: "cmd_1",
  startedAt: "2026-01-01T00:00:00.000Z",
  ...(partial ? { partial } : {}),
});

test("[N26] a partial that comes after the message it became is dropped, in any order and over a reset", () => {
  const text = { commandId: "cmd_1", after: 3, text: "I write" };
  const fold = new ViewFold();
  const shown = () => fold.view?.running?.partial?.text;
  const rebase = (head: number, entries: Entry[], partial?: Partial) =>
    fold.take({
      type: "reset",
      id: `e.${head}`,
      data: { ...baselineAt(head), entries, running: running(partial) },
    });
  rebase(3, []);
  fold.take({ type: "partial", data: text });
  expect(shown()).toBe("I write");
  fold.take({ type: "entry", id: "e.4", data: assistant(4) });
  expect(shown()).toBeUndefined();
  fold.take({ type: "partial", data: text });
  expect(shown()).toBeUndefined();
  rebase(4, [assistant(4)], text);
  expect(shown()).toBeUndefined();
  fold.take({ type: "partial", data: text });
  expect(shown()).toBeUndefined();
  fold.take({ type: "partial", data: { ...text, after: 4, text: "next" } });
  expect(shown()).toBe("next");
  // What stands after an entry that is yet to come outlives it.
  fold.take({ type: "partial", data: { ...text, after: 5, text: "later" } });
  fold.take({ type: "entry", id: "e.5", data: assistant(5, "message.tool") });
  expect(shown()).toBe("later");
  // The process that streamed is gone.
  fold.take({ type: "entry", id: "e.6", data: assistant(6, "run.recovered") });
  expect(shown()).toBeUndefined();
  rebase(6, [assistant(6)], { ...text, after: 6, commandId: "cmd_0" });
  expect(shown()).toBeUndefined();
});

test("[N26] a host that does not say where its partials stand is followed as before", () => {
  const fold = new ViewFold();
  const data = { ...baselineAt(4), entries: [assistant(4)], running: running() };
  fold.take({ type: "baseline", id: "e.4", data });
  fold.take({ type: "partial", data: { commandId: "cmd_1", text: "next" } });
  expect(fold.view?.running?.partial?.text).toBe("next");
  fold.take({ type: "entry", id: "e.5", data: assistant(5) });
  expect(fold.view?.running?.partial).toBeUndefined();
});

test("[N26] what streamed before a break is shown again only once it is told again", () => {
  const fold = new ViewFold();
  const data = {
    ...baselineAt(3),
    running: running({ commandId: "cmd_1", after: 3, text: "half" }),
  };
  fold.take({ type: "baseline", id: "e.3", data });
  fold.take({ type: "outage", data: { since: 1, reason: new Error("gone") as never } });
  expect(fold.view?.running?.partial?.text).toBe("half");
  fold.take({ type: "back", data: { since: 1, at: 2 } });
  expect(fold.view?.running?.partial).toBeUndefined();
});

test("[N26] view and wire agree on what a baseline's partial is after any entries", () => {
  const kinds = ["message.assistant", "message.tool", "run.recovered", "line", "new"];
  fc.assert(
    fc.property(
      fc.option(fc.nat(8), { nil: undefined }),
      fc.array(fc.constantFrom(...kinds), { maxLength: 6 }),
      (after, then) => {
        const partial = {
          commandId: "cmd_1",
          text: "t",
          ...(after === undefined ? {} : { after }),
        };
        const baseline: Baseline = { ...baselineAt(3), entries: [], running: running(partial) };
        const entries = then.map((kind, at) => assistant(4 + at, kind));
        expect(viewOf(baseline, entries).running).toEqual(
          entries.reduce(foldBaseline, baseline).running,
        );
      },
    ),
  );
});

/** An engine that a test plays, one thing at a time. */
class Puppet {
  run: Run | undefined;
  /** Assistant messages so far, and the calls of the newest one. */
  messages = 0;
  calls: { readonly assistant: string; readonly index: number }[] = [];
  #streamed = 0;
  #end: (() => void) | undefined;
  readonly engine: Engine = {
    name: "puppet",
    can: {
      steer: false,
      approve: true,
      resume: true,
      takeover: false,
      images: false,
      models: false,
      eager: true,
    },
    open: () => ({
      run: async (_work, run) => {
        this.run = run;
        const ended = Promise.withResolvers<void>();
        this.#end = ended.resolve;
        run.signal.addEventListener("abort", () => ended.resolve(), { once: true });
        await ended.promise;
        this.run = undefined;
        return run.signal.aborted ? { terminal: "cancelled" } : { terminal: "completed" };
      },
      close: () => Promise.resolve(),
    }),
  };

  stream(): void {
    this.run?.partial({ text: `m${this.messages}.${this.#streamed++}` });
  }

  async say(calls: number): Promise<void> {
    const text = `m${this.messages}`;
    const blocks = Array.from({ length: calls }, (_, index) => ({
      type: "call" as const,
      index,
      callId: `${text}-${index}`,
      name: "tool",
      input: {},
    }));
    const [entry] =
      (await this.run?.append([
        {
          kind: "message.assistant",
          data: { content: [{ type: "text", text }, ...blocks], stop: "calls" },
        },
      ])) ?? [];
    this.messages++;
    this.calls = blocks.map(({ index }) => ({ assistant: entry?.id ?? "", index }));
  }

  /** Runs a call that talks while it runs and goes on talking after its end. */
  async call(outputs: number): Promise<void> {
    const call = this.calls.shift();
    const { run } = this;
    if (!call || !run) return;
    const talk = (): void =>
      run.partial({
        tool: { index: call.index, name: "tool", output: `${call.assistant}/${call.index}` },
      });
    const rest = { callId: "c", name: "tool", input: {}, label: "read", replaySafe: true } as const;
    await run.call({ ...call, ...rest }, async () => {
      for (let n = 0; n < outputs; n++) talk();
      return textOutcome("done");
    });
    talk();
  }

  end(): void {
    this.#end?.();
  }
}

/** A reader with a fold, and the law that its view keeps at every frame. */
class Screen {
  fold = new ViewFold();
  isFull = false;
  #watch: ReturnType<Session["observe"]> | undefined;
  #cursor: string | undefined;

  open(session: Session): void {
    this.#watch?.close();
    const isBack = this.#watch !== undefined;
    if (isBack) {
      this.fold.take({ type: "outage", data: { since: 0, reason: new Error("cut") as never } });
      this.fold.take({ type: "back", data: { since: 0, at: 0 } });
    }
    this.isFull = false;
    this.#watch = session.observe(
      {
        frame: (frame) => {
          if ("id" in frame) this.#cursor = frame.id;
          this.fold.take(frame);
          this.#keepsLaw();
          return !this.isFull;
        },
        end: () => {},
      },
      this.#cursor === undefined ? {} : { after: this.#cursor },
    );
  }

  fresh(session: Session): void {
    this.#cursor = undefined;
    this.#watch?.close();
    this.#watch = undefined;
    this.fold = new ViewFold();
    this.open(session);
  }

  resume(): void {
    this.isFull = false;
    this.#watch?.resume();
  }

  #keepsLaw(): void {
    const partial = this.fold.view?.running?.partial;
    if (!partial) return;
    for (const entry of this.fold.entries) {
      const it = known(entry);
      if (it?.kind === "message.assistant")
        expect(partial.text?.split(".")[0]).not.toBe(
          it.data.content.flatMap((block) => (block.type === "text" ? [block.text] : []))[0],
        );
      if (it?.kind === "message.tool")
        expect(partial.tool?.output).not.toBe(`${it.data.assistant}/${it.data.index}`);
    }
  }
}

type Move =
  | "stream"
  | "call"
  | "talk"
  | "say"
  | "ask"
  | "hold"
  | "release"
  | "tick"
  | "turn"
  | "fresh"
  | "again"
  | "full"
  | "resume"
  | "prompt"
  | "crash";

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Move>("stream") },
  { weight: 8, arbitrary: fc.constantFrom<Move>("say", "ask", "call", "talk", "turn", "turn") },
  { weight: 6, arbitrary: fc.constantFrom<Move>("hold", "release", "tick", "fresh", "again") },
  { weight: 3, arbitrary: fc.constantFrom<Move>("full", "resume", "prompt", "crash") },
);

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

test(
  "[N26] no view shows as streaming what is stored, whatever the order of streaming, storing, syncing, reading and crashes",
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 5, maxLength: 40 }), async (moves) => {
        const folder = temporaryFolder();
        const file = await openSql(join(folder, "host.db"));
        const clock = new HandClock();
        let release: (() => void) | undefined;
        let held: Promise<void> | undefined;
        const sql: Sql = {
          run: (...args) => file.sql.run(...args),
          all: (...args) => file.sql.all(...args),
          transact: (body) => file.sql.transact(body),
          inTransaction: () => file.sql.inTransaction(),
          durable: async () => {
            await held;
            await file.sql.durable();
          },
        };
        const reports: unknown[] = [];
        const report = (error: unknown): void => void reports.push(error);
        const platform = { ...nodePlatform({ report }), after: clock.after };
        const puppet = new Puppet();
        const work: Promise<unknown>[] = [];
        let owner: Owner;
        let session: Session;
        const live = async (): Promise<void> => {
          owner = openOwner({ sql, platform });
          session = (await owner.attach({ agent: "a", engine: puppet.engine })).session("s");
        };
        const letGo = (): void => {
          release?.();
          release = held = undefined;
        };
        const settle = async (): Promise<void> => {
          letGo();
          await Promise.allSettled(work.splice(0));
          clock.advance(25);
          for (let n = 0; n < 4; n++) await turn();
          clock.advance(25);
          await turn();
        };
        await live();
        let prompts = 0;
        const ask = (): Promise<unknown> => session.send(prompt(`p${prompts++}`, "go"));
        await ask();
        while (!puppet.run) await turn();
        const screens = [new Screen(), new Screen()];
        for (const screen of screens) screen.open(session!);
        let busy: Promise<unknown> = Promise.resolve();
        /** The engine does one thing after another; what streams comes in between as it likes. */
        const soon = (deed: () => Promise<void>): void => {
          busy = busy.then(deed).catch(() => {});
          work.push(busy);
        };
        try {
          for (const [at, it] of moves.entries()) {
            const screen = screens[at % screens.length]!;
            if (it === "stream") soon(async () => puppet.stream());
            else if (it === "say") soon(() => puppet.say(2));
            else if (it === "ask") soon(() => puppet.say(0));
            else if (it === "call") soon(() => puppet.call(0));
            else if (it === "talk") soon(() => puppet.call(2));
            else if (it === "hold" && !held) held = new Promise((open) => (release = open));
            else if (it === "release") letGo();
            else if (it === "tick") clock.advance(25);
            else if (it === "turn") await turn();
            else if (it === "fresh") screen.fresh(session!);
            else if (it === "again") screen.open(session!);
            else if (it === "full") screen.isFull = true;
            else if (it === "resume") screen.resume();
            else if (it === "prompt") {
              work.push(ask());
              soon(async () => puppet.end());
            } else if (it === "crash") {
              await settle();
              await owner!.close({ patienceMs: 0 });
              await live();
              for (let n = 0; n < 4; n++) await turn();
              for (const each of screens) each.open(session!);
            }
          }
          await settle();
          for (const screen of screens) screen.resume();
          const isEven = async (): Promise<boolean> => {
            const now = JSON.stringify((await session!.read()).running);
            return screens.every((it) => JSON.stringify(it.fold.view?.running) === now);
          };
          for (let turns = 0; !(await isEven()); turns++) {
            if (turns > 200) expect(screens.map((it) => it.fold.view?.running)).toEqual([]);
            await turn();
          }
          expect(reports).toEqual([]);
        } finally {
          letGo();
          await owner!.close({ patienceMs: 0 });
          await file.close();
          rmSync(folder, { recursive: true, force: true });
        }
      }),
      { numRuns: 80 },
    );
  },
);
