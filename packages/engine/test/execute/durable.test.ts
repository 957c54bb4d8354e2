// Programs that are ended anywhere and go on: from a snapshot in the middle, or again from the start.

import { type Binding, ProgramEnd, type Snapshot } from "@lichen/capability/execute";
import { OperationError } from "@lichen/capability";
import * as fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { createQuickJsExecutor } from "../../src/host/node.ts";
import { value } from "./executor.contract.ts";
import { Ledger, type LifeOptions, waiting } from "./ledger.ts";

const executor = createQuickJsExecutor({ limits: { graceMs: 2_000 } });
afterAll(() => executor.close());

/** A program that has made one call, holds state and waits for a person; with what it was left as. */
async function paused(code = stateful) {
  const ledger = new Ledger();
  const made: unknown[] = [];
  const approved = Promise.withResolvers<void>();
  const api = {
    make: async (input: unknown) => (made.push(input), made.length),
    ask: waiting(() => approved.promise),
  };
  const first = ledger.live({ api });
  const stop = new AbortController();
  const ran = executor.execute(code, first.bindings, {
    journal: first.journal,
    signal: stop.signal,
  });
  await first.saved;
  stop.abort();
  await ran;
  approved.resolve();
  return { ledger, made, api, code, kept: ledger.kept! };
}
const stateful =
  "const seen = new Map(); seen.set('r', Math.random()); const n = await api.make({ r: seen.get('r') }); console.log('made', n); const yes = await api.ask(); return [n, yes, seen.get('r'), Math.random(), Date.now(), crypto.randomUUID(), await api.make({ last: true })]";

test("[B15] a restored program goes on in the middle: nothing before it runs again", async () => {
  const { ledger, made, api, kept } = await paused();
  expect(kept).toMatchObject({ engine: await executor.engine(), delivered: 1 });
  const life = ledger.live({ api });
  const asked: number[] = [];
  const { ask, make } = life.bindings["api"]!;
  const noted =
    (it: Binding): Binding =>
    (input, call) => (asked.push(call.ordinal), it(input, call));
  const bindings = { api: { ask: noted(ask!), make: noted(make!) } };
  // Other code at the start: a program that is replayed would be another.
  const ended = await executor.execute("throw new Error('replayed')", bindings, {
    journal: life.journal,
  });
  expect(value(ended)).toEqual([
    1,
    "yes",
    expect.any(Number),
    expect.any(Number),
    ledger.startedAt + 2_000,
    expect.any(String),
    2,
  ]);
  expect(ended).toMatchObject({ printed: "made 1\n", calls: 3 });
  expect(asked).toEqual([1, 2]);
  expect(made).toHaveLength(2);
});

const unfit: Record<string, (it: Snapshot) => Snapshot> = {
  "of another engine": (it) => ({ ...it, engine: "0".repeat(64) }),
  "that is cut": (it) => ({ ...it, bytes: it.bytes.slice(0, it.bytes.length / 2) }),
  "that was changed": (it) => ({
    ...it,
    bytes: it.bytes.map((byte, at) => (at === 5_000 ? byte ^ 1 : byte)),
  }),
  "that is nothing": (it) => ({ ...it, bytes: new Uint8Array() }),
  "of more outcomes than there are": (it) => ({ ...it, delivered: 99 }),
};
test.for(Object.entries(unfit))(
  "[B17] with a snapshot %s the program runs again from its start, to the same result",
  async ([, spoil]) => {
    const one = await paused();
    const two = await paused();
    two.ledger.kept = spoil(two.kept);
    const results: unknown[] = [];
    for (const { ledger, api, code, made } of [one, two]) {
      const life = ledger.live({ api });
      const ended = await executor.execute(code, life.bindings, { journal: life.journal });
      results.push([ended, made, [...ledger.calls]]);
    }
    expect(results[1]).toEqual(results[0]);
  },
);

test("[B17] a program too large for a snapshot, or whose journal keeps none, waits without one", async () => {
  const small = createQuickJsExecutor({ limits: { snapshotBytes: 1_000 } });
  try {
    const ledger = new Ledger();
    const late = Promise.withResolvers<void>();
    const life = ledger.live({ api: { ask: waiting(() => late.promise) } });
    const ran = small.execute("return await api.ask()", life.bindings, { journal: life.journal });
    await executor.execute("return 1", {});
    late.resolve();
    expect(value(await ran)).toBe("yes");
    expect(ledger.kept).toBeUndefined();
  } finally {
    await small.close();
  }
});

test("[B19] a machine that broke leaves no snapshot", async () => {
  const ledger = new Ledger();
  const life = ledger.live(
    { api: { ask: waiting(() => new Promise(() => {})) } },
    { snapshots: "late" },
  );
  const small = createQuickJsExecutor({ limits: { graceMs: 50 } });
  try {
    const code =
      "api.ask(); await null; const a = []; a[0] = { toString: () => String(a) }; String(a)";
    const { result } = await small.execute(code, life.bindings, {
      journal: life.journal,
      deadlineMs: 5_000,
    });
    expect(result).toMatchObject({ ok: false });
    expect(ledger.kept).toBeUndefined();
  } finally {
    await small.close();
  }
});

// Random programs. `note` sends what the program has of chance and time, so that a difference shows as another input.

const statement = fc.letrec<{ one: string }>((tie) => ({
  one: fc.oneof(
    { depthSize: "small", maxDepth: 3 },
    fc.constant("seen.push(await api.note({ r: Math.random(), t: Date.now(), n: ++n }));"),
    fc.constant("seen.push(await api.ask({ n: ++n }));"),
    fc.constant("try { await api.fail({ n: ++n }) } catch (e) { seen.push(e.code + n) }"),
    fc.constant("api.note({ floating: ++n });"),
    fc.constant(
      "seen.push(await Promise.race([api.note({ n: ++n }), api.note({ n: ++n, t: Date.now() })]));",
    ),
    fc
      .tuple(tie("one"), tie("one"))
      .map(([a, b]) => `if (Math.random() < 0.5) { ${a} } else { ${b} }`),
    fc
      .array(tie("one"), { minLength: 2, maxLength: 3 })
      .map(
        (all) =>
          `await Promise.all([${all.map((it) => `(async () => { ${it} seen.push(Date.now()); })()`).join(", ")}]);`,
      ),
    tie("one").map((it) => `for (let i = 0; i < 2; i++) { ${it} }`),
  ),
})).one;
const program = fc
  .array(statement, { minLength: 1, maxLength: 3 })
  .map(
    (all) =>
      `let n = 0; const seen = []; ${all.join(" ")} return { seen, n, r: Math.random(), t: Date.now() }`,
  );

async function live(ledger: Ledger, code: string, options: LifeOptions) {
  let open = 0;
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const note: Binding = async (input) => {
    open++;
    await turn();
    open--;
    return input ?? null;
  };
  const ask: Binding = async (input, call) => {
    const resume = call.waits();
    // Until a snapshot may have been taken: everything else has settled, and one was kept or could not be.
    for (let at = 0; at < 20 && !call.signal.aborted; at++) {
      if (open === 0 && ledger.kept?.delivered === ledger.order.length) break;
      await turn();
    }
    resume();
    return input ?? null;
  };
  const fail: Binding = async () => {
    throw new OperationError("refused", "No.");
  };
  const life = ledger.live({ api: { note, ask, fail } }, options);
  return executor.execute(code, life.bindings, { journal: life.journal, signal: life.signal });
}

test(
  "[B16] wherever a random program is ended, it makes the same calls and has the same result",
  { timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        program,
        fc.constantFrom("none", "kept", "late"),
        async (code, snapshots) => {
          for (let dieAfter = 1; ; dieAfter++) {
            const ledger = new Ledger();
            const died = await live(ledger, code, { dieAfter, snapshots });
            const ended = await live(ledger, code, { snapshots });
            expect(ended.result).toMatchObject({ ok: true });
            // The same without any death or snapshot, given the same outcomes in the same order.
            const calls = [...ledger.calls];
            ledger.kept = undefined;
            const undisturbed = await live(ledger, code, { snapshots: "none" });
            expect(undisturbed).toEqual(ended);
            expect([...ledger.calls]).toEqual(calls);
            expect(ended.calls).toBe(calls.length);
            if (died.result.ok) break;
          }
        },
      ),
      { numRuns: 12 },
    );
  },
);

test("[B14] a restored program whose operation is gone cannot go on", async () => {
  const { ledger, api, code } = await paused();
  const life = ledger.live({ api: { make: api.make } });
  const { result } = await executor.execute(code, life.bindings, { journal: life.journal });
  expect(result).toMatchObject({
    ok: false,
    reason: "diverged",
    message: /api.ask, which is no longer there/,
  });
});

test("[B13] a journal that leaves out an outcome is a bug of its host", async () => {
  const { journal } = new Ledger().live({});
  const ran = executor.execute("await api.a()", { api: { a: async () => 1 } }, { journal });
  await expect(ran).rejects.toThrow("not in the journal's order");
});

test("[B14] what a binding learns of another program at its ordinal ends it there", async () => {
  const { ledger, api, code } = await paused();
  ledger.kept = undefined;
  const life = ledger.live({ api });
  const other = code.replace("Math.random()", "1");
  const { result } = await executor.execute(other, life.bindings, { journal: life.journal });
  expect(result).toMatchObject({ ok: false, reason: new ProgramEnd("diverged", "").reason });
});
