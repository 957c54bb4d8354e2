// What code in a sandbox tries to reach, and does not: the host, the bridge, another execution.

import type { Bindings } from "@lichen/capability/execute";
import { OperationError } from "@lichen/capability";
import { afterAll, expect, test } from "vitest";
import { createQuickJsExecutor } from "../../src/host/node.ts";
import { value } from "./executor.contract.ts";

const executor = createQuickJsExecutor();
afterAll(() => executor.close());

const api = {
  echo: async (input: unknown) => input ?? null,
  fail: () => Promise.reject(new OperationError("no", "No.")),
};
async function run(code: string, bindings: Bindings = { api }) {
  return value(await executor.execute(code, bindings));
}

const globals =
  "Object Function Error EvalError RangeError ReferenceError SyntaxError TypeError URIError InternalError AggregateError SuppressedError Iterator Array parseInt parseFloat isNaN isFinite queueMicrotask decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape Infinity NaN undefined eval Number Boolean String Math Reflect Symbol DisposableStack globalThis BigInt Date RegExp JSON Proxy Map Set WeakMap WeakSet ArrayBuffer Uint8ClampedArray Int8Array Uint8Array Int16Array Uint16Array Int32Array Uint32Array BigInt64Array BigUint64Array Float16Array Float32Array Float64Array DataView Promise AsyncDisposableStack performance DOMException btoa atob console crypto api Symbol(Symbol.toStringTag)";

test("[B5] a program has exactly these globals, and nothing that does anything outside", async () => {
  const listed = await run("return Reflect.ownKeys(globalThis).map(String).join(' ')");
  expect(listed).toBe(globals);
  const walk = `const seen = new Set(), names = new Set(); const visit = (it) => { if ((typeof it !== "object" && typeof it !== "function") || it === null || seen.has(it)) return; seen.add(it);
    for (const key of Reflect.ownKeys(it)) { names.add(String(key)); let d; try { d = Reflect.getOwnPropertyDescriptor(it, key) } catch { continue } for (const v of [d?.value, d?.get, d?.set]) visit(v) } visit(Reflect.getPrototypeOf(it)) };
    visit(globalThis); visit(async function () {}); visit(async function* () {}); return [...names].filter((n) => /^(fetch|setTimeout|setInterval|process|require|module|WebAssembly|SharedArrayBuffer|Atomics|WeakRef|FinalizationRegistry|host|bridge|setup|deliver|os|std|scriptArgs|Worker|navigator|gc)$/.test(n))`;
  expect(await run(walk)).toEqual([]);
});

const missing: Record<string, RegExp> = {
  "fetch('http://127.0.0.1')": /no network here.*api/,
  "setTimeout(() => {}, 1)": /no timers here/,
  "process.exit()": /no process here/,
  "require('node:fs')": /no modules here/,
  "await import('node:fs')": /no modules here/,
  "new WebAssembly.Memory({ initial: 1 })": /no WebAssembly here/,
  "new SharedArrayBuffer(1)": /no shared memory here/,
  "Buffer.from('')": /no Node globals here/,
};
test.for(Object.entries(missing))(
  "[B5] %s fails with a sentence that says what there is instead",
  async ([code, says]) => {
    const { result } = await executor.execute(code, { api });
    expect(result).toMatchObject({
      ok: false,
      reason: "error",
      message: expect.stringMatching(says),
    });
  },
);

const unreached = {
  "the constructor of a constructor":
    "return this?.process ?? [].constructor.constructor('return typeof process + typeof host + typeof fetch')()",
  "the constructor of an operation":
    "return api.echo.constructor('return typeof process + typeof host + typeof fetch')()",
  "the constructor of a result":
    "return (await api.echo({})).constructor.constructor('return typeof process + typeof host + typeof fetch')()",
  "the constructor of an error":
    "try { await api.fail() } catch (e) { return e.constructor.constructor('return typeof process + typeof host + typeof fetch')() }",
  "an async function's constructor":
    "return await (async () => {}).constructor('return typeof process + typeof host + typeof fetch')()",
  "an async generator's":
    "for await (const it of (async function* () {}).constructor('yield typeof process + typeof host + typeof fetch')()) return it",
  eval: "return (0, eval)('typeof process + typeof host + typeof fetch')",
  "a thenable that is returned":
    "return { then(done) { done(typeof process + typeof host + typeof fetch) } }",
  "the callee of a bridge function":
    "return (() => { try { return typeof console.log.caller } catch { return 'undefined'.repeat(3) } })().repeat(1).replace(/^undefined$/, 'undefinedundefinedundefined')",
};
test.for(Object.entries(unreached))("[B7] %s leads nowhere", async ([, code]) => {
  expect(await run(code)).toBe("undefinedundefinedundefined");
});

test("[B7] the prototypes of results, errors and namespaces are the guest's own", async () => {
  expect(
    await run(`const it = await api.echo({ a: [{}] }); let error; try { await api.fail() } catch (e) { error = e }
      return [Object.getPrototypeOf(it) === Object.prototype, Object.getPrototypeOf(it.a) === Array.prototype, Object.getPrototypeOf(error) === Error.prototype,
        Object.getPrototypeOf(api), Object.getPrototypeOf(api.echo) === Function.prototype, api.echo() instanceof Promise, Object.isFrozen(api.echo), JSON.stringify(api), api[Symbol.iterator] ?? null]`),
  ).toEqual([true, true, true, null, true, true, true, "{}", null]);
});

test("[B7] no stack trace tells of the host, and no call site is handed out", async () => {
  const stacks =
    await run(`const all = []; const note = (f) => { try { f() } catch (e) { all.push(String(e.stack), String(e.message)) } };
    note(() => { throw new Error("x") }); note(() => api.nope); note(() => api.x = 1); note(() => null.x); note(() => new Function("throw new Error('y')")());
    for (const f of [() => api.fail(), () => api.echo(1n), () => import("x")]) try { await f() } catch (e) { all.push(String(e.stack)) }
    return all.join("\\n")`);
  expect(stacks).not.toMatch(/\/|node|worker|machine|\.ts/);
  expect(
    await run(`let sites = "none"; try { Error.prepareStackTrace = (_, s) => { sites = s; return s } } catch {}
      try { Object.defineProperty(Error, "prepareStackTrace", { value: (_, s) => { sites = s; return s } }) } catch {}
      try { await api.echo(1n) } catch (e) { e.stack } try { await api.fail() } catch (e) { e.stack } return sites`),
  ).toBe("none");
});

test("[B6] code that overwrites what everything is built from has calls and a result as before", async () => {
  const spoil = `
    const lie = () => { throw new Error("spoiled") };
    const targets = [Array, Map, Set, Promise, String, Number, Object, Function, RegExp, Error, Proxy, JSON, Reflect, Math, Symbol, WeakMap, ArrayBuffer, Uint8Array].flatMap((it) => [it, it.prototype]).filter(Boolean);
    const all = targets.flatMap((it) => Reflect.ownKeys(it).map((key) => ({ it, key }))).filter(({ it, key }) => it !== Promise.prototype || key !== "constructor");
    const count = all.length;
    for (let at = 0; at < count; at++) try { all[at].it[all[at].key] = lie } catch {}
    Promise = JSON = Proxy = Map = Error = TypeError = Reflect = Object = Uint8Array = lie;`;
  const define = `
    for (const key of ["get", "set", "value", "writable", "then", "resolve", "toJSON", "0", "1", "namespace", "text", "code", "has"])
      try { Object.defineProperty(Object.prototype, key, { get() { lied++; return undefined }, set() { lied++ }, configurable: true }) } catch {}`;
  expect(
    await run(`${spoil}
      const answer = await api.echo({ a: [1, "x"], b: null });
      let code; try { await api.fail() } catch (e) { code = e.code }
      return { answer, code, random: Math.random === lie }`),
  ).toEqual({ answer: { a: [1, "x"], b: null }, code: "no", random: true });
  expect(
    await run(`let lied = 0; ${define} const answer = await api.echo({ a: [1, "x"] }); let code; try { await api.fail() } catch (e) { code = e.code }
      const near = (() => { try { api.ecko } catch (e) { return e.message } })(); return [answer.a, code, near, Object.keys(api)]`),
  ).toEqual([
    [1, "x"],
    "no",
    "There is no operation api.ecko. Did you mean echo?",
    ["echo", "fail"],
  ]);
});

test("[B6] a promise whose machinery lies harms the program that made it so, and ends", async () => {
  const { result } = await executor.execute(
    "Promise.prototype.then = () => {}; Object.defineProperty(Promise.prototype, 'constructor', { get() { throw new Error('mine') } }); await api.echo(1)",
    { api },
  );
  expect(result).toMatchObject({ ok: false, reason: "error" });
});

test("[B6] traps of a proxy that is sent run in the guest, and only their JSON crosses", async () => {
  const seen: unknown[] = [];
  const take = async (input: unknown) => void seen.push(input);
  const code =
    "await api.take(new Proxy({ a: 1 }, { get: (t, k) => (k === 'a' ? { toJSON: () => 'x' } : undefined) }))";
  expect(await run(code, { api: { take } })).toBeUndefined();
  expect(seen).toEqual([{ a: "x" }]);
});

test("[B6] an execution sees nothing of another, running or over", async () => {
  await run(
    "globalThis.secret = 'canary-4711'; Object.prototype.secret = 'canary-4711'; Math.secret = 1; return 1",
  );
  const other = executor.execute(
    "globalThis.mine = 'canary-4712'; await api.hold(); return globalThis.mine",
    {
      api: { hold: async () => void (await looked) },
    },
  );
  const looked =
    run(`const names = []; for (const it of [globalThis, Object.prototype, Math, api]) names.push(...Reflect.ownKeys(it).map(String));
    const bytes = new Uint8Array(8_000_000); return [names.filter((n) => /secret|mine/.test(n)), bytes.some((b) => b !== 0)]`);
  expect(await looked).toEqual([[], false]);
  expect(value(await other)).toBe("canary-4712");
});

test("[B6] code that closes its own function early is still a program, and a part of nothing else", async () => {
  const { result } = await executor.execute(
    "}); globalThis.x = typeof host; (async function () { return x",
    { api },
  );
  expect(result).toEqual({ ok: true, value: "undefined" });
});
