// Programs that go on without end or take too much, each beside one that does not notice.

import type { Binding, ExecuteOptions } from "@lichen/capability/execute";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createQuickJsExecutor, type QuickJsExecutorOptions } from "../../src/host/node.ts";
import { value } from "./executor.contract.ts";
import { Ledger, waiting } from "./ledger.ts";

const executor = createQuickJsExecutor({ limits: { graceMs: 300 } });
afterAll(() => executor.close());

function another(options: QuickJsExecutorOptions) {
  const it = createQuickJsExecutor(options);
  onTestFinished(() => it.close());
  return it;
}

const deadline: ExecuteOptions = { deadlineMs: 200 };
const endless = {
  "a loop": "for (;;);",
  "a loop in a promise": "(async () => { for (;;); })(); await null",
  "a loop that catches": "for (;;) try { for (;;); } catch {}",
  "a loop in finally": "try { throw 1 } finally { for (;;); }",
  "microtasks without end": "for (;;) await null",
  "microtasks that multiply":
    "const f = () => { queueMicrotask(f) }; f(); f(); await new Promise(() => {})",
  "promises that call themselves": "const f = () => Promise.resolve().then(f); await f()",
  "a generator": "function* g() { for (;;) yield 1 } for (const it of g());",
  "an async generator": "async function* g() { for (;;) yield 1 } for await (const it of g());",
  "a pattern that backtracks": "/^(a+)+$/.test('a'.repeat(40) + 'b')",
  "a comparison without end": "[1, 2].sort(() => { for (;;); })",
  "a toJSON without end": "return { toJSON() { for (;;); } }",
  "an error's name without end": "throw { message: 'x', get name() { for (;;); } }",
  "native loops": "for (;;) new Array(4e6).fill(1).indexOf(2)",
};
test.for(Object.entries(endless))("[B8] %s ends at the deadline", async ([, code]) => {
  const { result } = await executor.execute(code, {}, deadline);
  expect(result).toMatchObject({
    ok: false,
    reason: "limit",
    message: expect.stringMatching(/took longer than 0.2 seconds/),
  });
});

const greedy = {
  "an array": "const a = []; for (;;) a.push({ a: a.length })",
  strings: "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)",
  "strings that are caught":
    "const a = []; for (;;) try { for (;;) a.push('x'.repeat(1e6) + a.length) } catch {}",
  "a buffer": "new ArrayBuffer(2 ** 30)",
  "one huge array": "new Array(1e9).fill(1)",
  "a map": "const m = new Map(); for (let i = 0; ; i++) m.set(i, [i])",
  "pending promises":
    "const a = []; for (;;) a.push((async () => { await new Promise(() => {}) })())",
  "numbers that square": "let b = 10n; for (;;) b *= b",
};
test.for(Object.entries(greedy))(
  "[B8] %s without end ends with the memory there is",
  async ([, code]) => {
    const { result } = await executor.execute(code, {}, { deadlineMs: 20_000 });
    expect(result).toMatchObject({ ok: false });
    expect(result).toMatchObject({
      message: expect.stringMatching(/64 MB of memory|too large|too long|out of memory/),
    });
  },
);

const deep = {
  "endless recursion": "const f = () => f() + 1; f()",
  "recursion through the engine": "const a = []; a[0] = { toString: () => String(a) }; String(a)",
  "text nested too deeply": "eval('('.repeat(1e5) + '1' + ')'.repeat(1e5))",
  "JSON nested too deeply": "JSON.parse('['.repeat(2e5))",
  "a trap that asks itself": "const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x",
};
test.for(Object.entries(deep))(
  "[B8] %s ends with an error, and the next program is well",
  async ([, code]) => {
    const { result } = await executor.execute(code, {});
    expect(result).toMatchObject({
      ok: false,
      message: expect.stringMatching(/call stack|nested too deeply|stack overflow/),
    });
    expect(value(await executor.execute("return 1", {}))).toBe(1);
  },
);

test("[B8] others go on undisturbed while programs are stopped", async () => {
  const api = { next: async (input: unknown) => input ?? null };
  const good = executor.execute(
    "let sum = 0; for (let i = 0; i < 200; i++) sum += await api.next(i); return sum",
    { api },
  );
  const bad = [endless["a loop"], endless["native loops"], greedy.strings].map((code) =>
    executor.execute(code, {}, deadline),
  );
  expect(value(await good)).toBe(19_900);
  for (const { result } of await Promise.all(bad))
    expect(result).toMatchObject({ reason: "limit" });
});

test("[B8] the code and the calls that are open have their bounds", async () => {
  const { result } = await executor.execute(`return 1 // ${"x".repeat(262_144)}`, {});
  expect(result).toMatchObject({ reason: "limit", message: expect.stringContaining("write less") });
  const hang: Binding = async () => 1;
  const flood = await executor.execute(
    "for (let i = 0; i < 1e6; i++) { const it = api.hang(); if (i >= 1000) await it }",
    { api: { hang } },
  );
  expect(flood).toMatchObject({
    calls: 1_000,
    result: { ok: false, message: /1000 calls are open already/ },
  });
});

test("[B9] the deadline counts calls too, but no waiting for people", async () => {
  const asked = Promise.withResolvers<void>();
  const hang: Binding = (_, { signal }) =>
    new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason)),
    );
  const api = { ask: waiting(() => asked.promise), hang };
  const slow = await executor.execute("await api.hang()", { api }, deadline);
  expect(slow.result).toMatchObject({ reason: "limit" });
  const waits = executor.execute("return await api.ask()", { api }, deadline);
  // As long as three deadlines of programs that are stopped by theirs.
  for (let i = 0; i < 3; i++) await executor.execute("for (;;);", {}, deadline);
  asked.resolve();
  expect(value(await waits)).toBe("yes");
  const both = await executor.execute(
    "api.ask2(); for (;;);",
    { api: { ask2: waiting(() => new Promise(() => {})) } },
    deadline,
  );
  expect(both.result).toMatchObject({ reason: "limit" });
  await expect(executor.execute("", {}, { deadlineMs: 900_001 })).rejects.toThrow(
    "from 1 to 900000",
  );
});

test("[B10] an abort stops code that never waits, and what does not stop is ended with its thread", async () => {
  for (const code of [endless["a loop"], endless["native loops"]]) {
    const abort = new AbortController();
    const { result } = await executor.execute(
      `console.log("up"); await api.go(); ${code}`,
      { api: { go: async () => queueMicrotask(() => abort.abort()) } },
      { signal: abort.signal },
    );
    expect(result).toEqual({ ok: false, reason: "aborted", message: "The program was stopped." });
  }
});

test("[B10] a call that does not heed its signal is left after the grace", async () => {
  const { result } = await executor.execute(
    "await api.deaf()",
    { api: { deaf: () => new Promise(() => {}) } },
    deadline,
  );
  expect(result).toMatchObject({ reason: "limit" });
});

test("[B1] calls that nobody awaits are waited for before the result is given", async () => {
  const ends = Promise.withResolvers<void>();
  const order: string[] = [];
  const api = { slow: async () => (await ends.promise, order.push("call")), go: async () => 1 };
  const ran = executor
    .execute("api.slow(); await api.go(); return 1", { api })
    .then(({ result }) => {
      order.push("result");
      return result;
    });
  await executor.execute("return 1", {});
  ends.resolve();
  expect(await ran).toEqual({ ok: true, value: 1 });
  expect(order).toEqual(["call", "result"]);
});

test("[B1] a call that nobody awaits is withdrawn at the end while it waits for a person, which is told", async () => {
  const withdrawn: unknown[] = [];
  const ask: Binding = (_, call) => {
    call.waits();
    return new Promise((_resolve, reject) =>
      call.signal.addEventListener("abort", () => {
        withdrawn.push(call.ordinal);
        reject(call.signal.reason);
      }),
    );
  };
  for (const [code, result] of [
    ["api.ask(); return 1", { ok: true, value: 1 }],
    ["api.ask(); throw new Error('x')", { ok: false, reason: "error" }],
  ] as const) {
    const ended = await executor.execute(code, { api: { ask } });
    expect(ended.result).toMatchObject(result);
    expect(ended.printed).toBe("[Not awaited, and withdrawn while a person was asked: api.ask.]\n");
  }
  expect(withdrawn).toEqual([0, 0]);
});

test("[B11] so many programs run at once, others wait in turn, give up when told to, and are refused past a bound", async () => {
  const it = another({ limits: { concurrent: 2, queued: 2 } });
  const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const up = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = gates.map((gate, at) =>
    it.execute("await api.hold(); return 'held'", {
      api: { hold: async () => (up[at]!.resolve(), gate.promise) },
    }),
  );
  await Promise.all(up.map(({ promise }) => promise));
  const abort = new AbortController();
  const gaveUp = it.execute("return 1", {}, { signal: abort.signal });
  const third = it.execute("return 3", {});
  const refused = await it.execute("return 4", {});
  expect(refused.result).toMatchObject({
    ok: false,
    reason: "limit",
    message: expect.stringContaining("try again later"),
  });
  abort.abort();
  expect((await gaveUp).result).toMatchObject({ reason: "aborted" });
  gates[0]!.resolve();
  expect(value(await held[0]!)).toBe("held");
  expect(value(await third)).toBe(3);
  gates[1]!.resolve();
  await held[1];
});

test("[B18] programs that wait for people hold no place once their snapshots are kept", async () => {
  const it = another({ limits: { concurrent: 1 } });
  const approved = Promise.withResolvers<void>();
  const waits = [new Ledger(), new Ledger(), new Ledger()].map((ledger, at) => {
    const life = ledger.live({ api: { ask: waiting(() => approved.promise, at) } });
    const code =
      "const n = Math.random(); console.log('asks'); const got = await api.ask(); return [got, n > 0]";
    return it.execute(code, life.bindings, { journal: life.journal });
  });
  expect(value(await it.execute("return 'free'", {}))).toBe("free");
  approved.resolve();
  const all = await Promise.all(waits);
  expect(all.map(value)).toEqual([
    [0, true],
    [1, true],
    [2, true],
  ]);
  expect(all.map(({ printed }) => printed)).toEqual(Array(3).fill("asks\n"));
});
