// What every sandbox executor keeps, whatever it runs programs in.

import {
  type Binding,
  type Bindings,
  type ExecuteOptions,
  type Execution,
  ProgramEnd,
  type SandboxExecutor,
} from "@lichen/capability/execute";
import { type Json, OperationError } from "@lichen/capability";
import { expect, onTestFinished, test } from "vitest";
import { Ledger, waiting } from "./ledger.ts";

export function executorContract(open: () => SandboxExecutor & { close(): Promise<void> }): void {
  function run(code: string, bindings: Bindings = {}, options: ExecuteOptions = {}) {
    const executor = open();
    onTestFinished(() => executor.close());
    return executor.execute(code, bindings, options);
  }
  async function valueOf(code: string, bindings: Bindings = {}): Promise<Json | undefined> {
    return value(await run(code, bindings));
  }

  test("[B1] a program is the body of an async function, whose value is the result", async () => {
    const echo: Binding = async (input) => ({ got: input ?? "nothing" });
    const api = { echo };
    expect(await valueOf("return 1 + 1")).toBe(2);
    expect(await valueOf("const a = 1")).toBeUndefined();
    expect(await valueOf("return await api.echo({ a: [1, null, 'x'] })", { api })).toEqual({
      got: { a: [1, null, "x"] },
    });
    expect(await valueOf("return api.echo() // the end", { api })).toEqual({ got: "nothing" });
    expect(
      await valueOf("return (await Promise.all([1, 2].map((n) => api.echo({ n })))).length", {
        api,
      }),
    ).toBe(2);
    expect(
      await valueOf("return [Object.keys(api), 'echo' in api, typeof api.echo]", { api }),
    ).toEqual([["echo"], true, "function"]);
  });

  test("[B21] a namespace of a thousand operations can be listed, and is the same before and after", async () => {
    const names = Array.from({ length: 1_222 }, (_, at) => `operation${at}`);
    const api = Object.fromEntries(names.map((name) => [name, async () => name]));
    const code = `
      const look = () => [
        JSON.stringify(Object.getOwnPropertyDescriptor(api, "operation7")), Object.hasOwn(api, "operation8"),
        Object.hasOwn(api, "none"), "operation9" in api, "none" in api, typeof api.then, api.operation7.name,
        ...[() => api.none, () => { api.none = 1 }, () => delete api.operation7, () => Object.freeze(api)].map((it) => {
          try { return it() } catch (error) { return error.code }
        }),
      ];
      const first = api.operation7;
      const before = look();
      const names = Object.keys(api);
      const inside = []; for (const name in api) inside.push(name);
      return {
        before, after: look(), names, inside: inside.length, again: Reflect.ownKeys(api).length,
        isSame: first === api.operation7 && first === Object.values(api)[7], told: await api.operation1221(),
      }`;
    const answered = await valueOf(code, { api });
    const looked = [
      ...['{"writable":true,"enumerable":true,"configurable":true}', true, false, true, false],
      ...["undefined", "operation7", "unknown_operation"],
      ...["invalid_input", "invalid_input", "invalid_input"],
    ];
    expect(answered).toEqual({
      ...{ before: looked, after: looked, names, inside: 1_222, again: 1_222 },
      ...{ isSame: true, told: "operation1221" },
    });
  });

  test("[B1] calls are numbered as the code makes them and counted", async () => {
    const seen: unknown[] = [];
    const note: Binding = async (input, { ordinal }) => void seen.push([ordinal, input]);
    const code =
      "const a = api.note({ n: 1 }); await api.note({ n: 2 }); await a; api.note({ n: 3 })";
    expect(await run(code, { api: { note } })).toMatchObject({ result: { ok: true }, calls: 3 });
    expect(seen).toEqual([
      [0, { n: 1 }],
      [1, { n: 2 }],
      [2, { n: 3 }],
    ]);
  });

  test("[B2] an operation that fails throws into the code, with its code and message", async () => {
    const api = {
      fail: () => Promise.reject(new OperationError("http_404", "There is no such thing.")),
    };
    const caught =
      "try { await api.fail() } catch (e) { return [e.code, e.message, e instanceof Error] }";
    expect(await valueOf(caught, { api })).toEqual(["http_404", "There is no such thing.", true]);
    expect((await run("await api.fail()", { api })).result).toEqual({
      ok: false,
      reason: "error",
      message: "OperationError: There is no such thing. [http_404]",
    });
  });

  test("[B2] an unknown operation says which are like it, and a namespace cannot be changed", async () => {
    const api = { reposGet: async () => 1, reposList: async () => 1 };
    const code = "try { await api.reposGot() } catch (e) { return [e.code, e.message] }";
    expect(await valueOf(code, { api })).toEqual([
      "unknown_operation",
      "There is no operation api.reposGot. Did you mean reposGet, reposList?",
    ]);
    for (const change of ["api.x = 1", "delete api.reposGet", "Object.freeze(api)"])
      expect((await run(change, { api })).result).toMatchObject({
        ok: false,
        message: expect.stringContaining("cannot be changed"),
      });
  });

  test("[B2] what the host itself fails with reaches its caller, never the code", async () => {
    const bug = new Error("the host's own");
    const ran = run("try { await api.a() } catch {} return 1", {
      api: { a: () => Promise.reject(bug) },
    });
    await expect(ran).rejects.toBe(bug);
  });

  test("[B3] what the code prints is told as it comes, and cut at 256 KiB aloud", async () => {
    const told: string[] = [];
    const output = (text: string) => void told.push(text);
    const code =
      "console.log('a', { b: 1 }, [2]); console.error(new TypeError('no')); await api.x(); console.warn(3)";
    const { printed } = await run(code, { api: { x: async () => 1 } }, { output });
    expect(printed).toBe('a {"b":1} [2]\nTypeError: no\n3\n');
    expect(told.at(-1)).toBe(printed);
    const flood = await run("for (let i = 0; i < 1e5; i++) console.log('0123456789')");
    expect(Buffer.byteLength(flood.printed)).toBeLessThan(256 * 1_024 + 100);
    expect(flood.printed).toMatch(/\[Cut: a program prints at most 256 KiB\.\]\n$/);
  });

  const refusedInputs = {
    "a cycle": ["const it = {}; it.it = it", "cycles"],
    "a BigInt": ["const it = { a: 1n }", "BigInt"],
    "a function": ["const it = { a() {} }", "function"],
    NaN: ["const it = { a: NaN }", "NaN"],
    "a promise": ["const it = { a: Promise.resolve(1) }", "await it first"],
    "a field named __proto__": ["const it = JSON.parse('{\"__proto__\": 1}')", "__proto__"],
    "a getter that throws": ["const it = { get a() { throw new Error('mine') } }", "mine"],
    "a toJSON that gives itself": ["const it = { toJSON() { return it } }", "itself|deeper"],
    "a toJSON that goes on": ["const it = { toJSON() { return { toJSON: it.toJSON } } }", "deeper"],
    "a depth of 65": ["let it = 1; for (let i = 0; i < 65; i++) it = [it]", "deeper than 64"],
    "a proxy that throws": ["const it = new Proxy({}, { ownKeys() { throw 'mine' } })", "mine"],
    "an array without end": ["const it = []; it.length = 2 ** 32 - 1", "larger than"],
    "a map": ["const it = new Map()", "fromEntries"],
  };
  test.for(Object.entries(refusedInputs))(
    "[B4] %s does not cross, and says why",
    async ([, [make, says]]) => {
      const api = { never: () => Promise.reject(new Error("was called")) };
      for (const use of ["return it", "return await api.never(it)"]) {
        const { result, calls } = await run(`${make}; ${use}`, { api });
        expect(result).toMatchObject({ ok: false, message: expect.stringMatching(says!) });
        expect(calls).toBe(0);
      }
    },
  );

  test("[B4] results, inputs and answers that are too large say so, and what to do", async () => {
    const api = {
      big: async () => "x".repeat(5 * 1_024 * 1_024),
      cyclic: async () => {
        const it: { it?: unknown } = {};
        it.it = it;
        return it;
      },
      deep: async () => JSON.parse("[".repeat(65) + "]".repeat(65)) as Json,
      take: async () => 1,
    };
    const result = (await run("return 'x'.repeat(300000)")).result;
    expect(result).toEqual({
      ok: false,
      reason: "limit",
      message: "The result is larger than 256 KiB: return less, only what is needed.",
    });
    expect((await run("return 'ü'.repeat(200000)")).result).toMatchObject({ reason: "limit" });
    const codes =
      "const codes = []; for (const call of [() => api.big(), () => api.cyclic(), () => api.take({ a: 'x'.repeat(2e6) })]) try { await call() } catch (e) { codes.push(e.code) } return codes";
    expect(await valueOf(codes, { api })).toEqual(["limit", "invalid_outcome", "limit"]);
    const { calls } = await run(codes, { api });
    expect(calls).toBe(2);
    // Whoever wrote something must not take that for a refusal.
    for (const operation of ["big", "cyclic", "deep"])
      expect((await run(`await api.${operation}()`, { api })).result).toMatchObject({
        message: expect.stringContaining(`api.${operation} ran, but`),
      });
  });

  test("[B10] an abort ends the program and its calls", async () => {
    const abort = new AbortController();
    const reasons: unknown[] = [];
    const hang: Binding = (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          reasons.push(signal.reason);
          reject(new Error("stopped"));
        });
        abort.abort(new Error("The host stops."));
      });
    const ran = await run(
      "try { await api.hang() } catch {} return 1",
      { api: { hang } },
      { signal: abort.signal },
    );
    expect(ran.result).toEqual({
      ok: false,
      reason: "aborted",
      message: "The program was stopped. The host stops.",
    });
    expect(reasons).toEqual([abort.signal.reason]);
    const late = await run("return 1", {}, { signal: abort.signal });
    expect(late.result).toMatchObject({ ok: false, reason: "aborted" });
  });

  test("[B12] two runs of one journal have the same clock and the same randomness", async () => {
    const ledger = new Ledger();
    const api = { a: async () => 1 };
    const code = `const all = () => [Date.now(), new Date().toISOString(), performance.now(), Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(4))]];
      const first = all(); for (let i = 0; i < 1e5; i++); const still = Date.now(); await api.a(); return [first, still, all()]`;
    const runs: (Json | undefined)[] = [];
    for (let life = 0; life < 2; life++) {
      const { journal, bindings } = ledger.live({ api });
      runs.push(value(await run(code, bindings, { journal })));
    }
    expect(runs[1]).toEqual(runs[0]);
    const [first, still, then] = runs[0] as [Json[], number, Json[]];
    expect([first[0], still, then[0]]).toEqual([
      ledger.startedAt,
      ledger.startedAt,
      ledger.startedAt + 1_000,
    ]);
    expect(first[1]).toBe(new Date(ledger.startedAt).toISOString());
    expect(first[4]).not.toBe(then[4]);
    const other = new Ledger();
    Object.assign(other, { seed: "0dd5eed1".repeat(8) });
    const life = other.live({ api });
    const [otherFirst] = value(await run(code, life.bindings, { journal: life.journal })) as [
      Json[],
    ];
    expect(otherFirst.slice(3)).not.toEqual(first.slice(3));
  });

  test("[B13] outcomes come in the order of the journal, one at a time, however early they are", async () => {
    const ledger = new Ledger();
    const api = { a: async () => "a", b: async () => "b", c: async () => "c" };
    for (const [ordinal, name] of [...["a", "b", "c"].entries()].toReversed()) {
      ledger.calls.set(ordinal, `api.${name} undefined`);
      ledger.outcomes.set(ordinal, { at: 5_000 - ordinal, ok: true, value: name });
      ledger.order.push(ordinal);
    }
    const { journal, bindings } = ledger.live({ api });
    const code = `const seen = []; const one = async (name) => { const it = await api[name](); seen.push(it, Date.now()); await null; seen.push(it + "!") };
      await Promise.all([one("a"), one("b"), one("c")]); return seen`;
    expect(value(await run(code, bindings, { journal }))).toEqual([
      "c",
      4_998,
      "c!",
      "b",
      4_999,
      "b!",
      "a",
      5_000,
      "a!",
    ]);
  });

  test("[B14] a program that asks for something else than before has diverged", async () => {
    const ledger = new Ledger();
    const api = { a: async () => 1, b: async () => 2 };
    const first = ledger.live({ api });
    await run("await api.a()", first.bindings, { journal: first.journal });
    const again = ledger.live({ api });
    const other = await run("try { await api.b() } catch {} return 1", again.bindings, {
      journal: again.journal,
    });
    expect(other.result).toMatchObject({ ok: false, reason: "diverged", message: /Call 0 was/ });
    const third = ledger.live({ api });
    const none = await run("await new Promise(() => {})", third.bindings, {
      journal: third.journal,
    });
    expect(none.result).toMatchObject({ ok: false, reason: "diverged" });
  });

  test("[B14] a binding can end the program, which does not see it", async () => {
    const api = { a: () => Promise.reject(new ProgramEnd("aborted", "The run stops.")) };
    const { result } = await run("try { await api.a() } catch {} return 1", { api });
    expect(result).toEqual({ ok: false, reason: "aborted", message: "The run stops." });
  });

  test("[B15] a program that stopped while it waited goes on, each call made once", async () => {
    const ledger = new Ledger();
    const made: string[] = [];
    const approved = Promise.withResolvers<void>();
    const api = {
      make: async (input: Json | undefined) => (made.push(JSON.stringify(input)), made.length),
      ask: waiting(() => approved.promise),
    };
    const code =
      "const a = await api.make({ n: Math.random() }); console.log('asks'); const yes = await api.ask(); return [a, yes, await api.make({ a, r: Math.random() })]";
    const stop = new AbortController();
    const first = ledger.live({ api });
    const ran = run(code, first.bindings, { journal: first.journal, signal: stop.signal });
    await first.saved;
    stop.abort(new Error("The host stops."));
    expect((await ran).result).toMatchObject({ ok: false, reason: "aborted" });
    approved.resolve();
    const second = ledger.live({ api });
    const ended = await run(code, second.bindings, { journal: second.journal });
    expect(ended).toMatchObject({ result: { ok: true, value: [1, "yes", 2] }, calls: 3 });
    expect(ended.printed).toBe("asks\n");
    expect(made).toHaveLength(2);
  });
}

export function value({ result }: Execution): Json | undefined {
  if (!result.ok) throw new Error(`${result.reason}: ${result.message}`);
  return result.value;
}
