// Figure 9, the sandbox: a fresh one, a call out of it and back, and a paused program's snapshot and return; each beside
// the same work in a bare quickjs-wasi of this process.

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Bindings, Journal, Snapshot } from "@lichen/capability/execute";
import { createQuickJsExecutor } from "@lichen/engine/node";
import { QuickJS } from "quickjs-wasi";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { interleaved, median } from "./statistics.ts";

export const sandboxFigure: Figure = {
  number: 9,
  title: "The sandbox of programs",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const rounds = context.isQuick ? 5 : 40;
  const calls = context.isQuick ? 50 : 1_000;
  const wasm = await WebAssembly.compile(
    await readFile(fileURLToPath(import.meta.resolve("quickjs-wasi/quickjs.wasm"))),
  );
  const executor = createQuickJsExecutor();
  context.ends.push(() => executor.close());
  await executor.warm();
  const api = { it: async () => 1 };

  const run = async (code: string): Promise<number> => {
    const start = performance.now();
    const { result } = await executor.execute(code, { api });
    if (!result.ok) throw new Error(result.message);
    return performance.now() - start;
  };
  const bare = async (): Promise<number> => {
    const start = performance.now();
    using vm = await QuickJS.create({ wasm });
    vm.evalCode("1 + 1").dispose();
    return performance.now() - start;
  };
  const fresh = await interleaved(rounds, () => run("return 1 + 1"), bare);

  context.note(`${calls} calls, one after the other`);
  const loop = `for (let i = 0; i < ${calls}; i++) await api.it({ i })`;
  const each = async () => (await run(loop)) / calls;
  const bareCall = await bareCalls(wasm, calls);
  const call = await interleaved(Math.ceil(rounds / 4), each, bareCall);

  const sizes: number[] = [];
  const image: { snapshot?: Snapshot } = {};
  const paused = () =>
    pausedProgram(executor, (snapshot) => {
      image.snapshot = snapshot;
      sizes.push(snapshot.bytes.length);
    });
  const bareImage = () => bareSnapshot(wasm);
  const taken = await interleaved(Math.ceil(rounds / 4), paused, bareImage);
  const { snapshot } = image;
  if (!snapshot) throw new Error("No snapshot was kept.");
  const restore = () => restored(executor, snapshot);
  const bareRestore = () => bareRestored(wasm);
  const back = await interleaved(Math.ceil(rounds / 4), restore, bareRestore);

  return [
    reading("a fresh sandbox, to its result", fresh.first, 5, "ms", { bareMs: fresh.second }),
    reading("a fresh sandbox, against a bare VM", fresh.ratio, 4, "x", {}),
    reading("a call out and back", call.first, 0.1, "ms", {
      bareMs: call.second,
      ratio: call.ratio,
    }),
    reading("the snapshot of a paused program", median(sizes) / 1_024, 200, "KB", {}),
    reading("a program until its snapshot is kept, against a bare one", taken.ratio, 4, "x", {
      ms: taken.first,
      bareMs: taken.second,
    }),
    reading("a paused program restored and ended", back.first, 20, "ms", {
      bareMs: back.second,
      ratio: back.ratio,
    }),
  ];
}

function reading(
  what: string,
  measured: number,
  target: number,
  unit: Reading["unit"],
  detail: Reading["detail"],
): Reading {
  return { what, measured, bound: "at most", target, unit, detail };
}

function journal(snapshot: Snapshot | undefined, save: (snapshot: Snapshot) => void): Journal {
  const order: number[] = [];
  return {
    ...{ seed: "00".repeat(32), startedAt: 0, order, recordedAt: () => 0 },
    snapshot: () => snapshot,
    save: async (it) => save(it),
  };
}

const pausing =
  "const kept = Array.from({ length: 200 }, (_, i) => ({ i })); await api.ask(); return kept.length";
type Executor = ReturnType<typeof createQuickJsExecutor>;

async function pausedProgram(
  executor: Executor,
  keep: (snapshot: Snapshot) => void,
): Promise<number> {
  const stop = new AbortController();
  const start = performance.now();
  let ms = 0;
  const api: Bindings = {
    api: {
      ask: (_, call) => {
        call.waits();
        return new Promise((_resolve, reject) =>
          call.signal.addEventListener("abort", () => reject(new Error("stopped"))),
        );
      },
    },
  };
  const kept = journal(undefined, (snapshot) => {
    ms = performance.now() - start;
    keep(snapshot);
    stop.abort();
  });
  await executor.execute(pausing, api, { journal: kept, signal: stop.signal });
  return ms;
}

async function restored(executor: Executor, snapshot: Snapshot): Promise<number> {
  const its = journal(snapshot, () => {});
  const order: number[] = [];
  const start = performance.now();
  const ask = async () => void order.push(0);
  const { result } = await executor.execute("", { api: { ask } }, { journal: { ...its, order } });
  if (!result.ok) throw new Error(result.message);
  return performance.now() - start;
}

async function bareCalls(wasm: WebAssembly.Module, calls: number): Promise<() => Promise<number>> {
  const vm = await QuickJS.create({ wasm });
  using host = vm.newFunction("host", () => vm.hostToHandle(Promise.resolve(1)));
  vm.setProp(vm.global, "host", host);
  return async () => {
    const start = performance.now();
    using made = vm.evalCode(
      `(async () => { for (let i = 0; i < ${calls}; i++) await host(i) })()`,
    );
    const ended = vm.resolvePromise(made);
    vm.executePendingJobs();
    await ended;
    return (performance.now() - start) / calls;
  };
}

const level = { params: { [constants.ZSTD_c_compressionLevel]: 3 } };

async function bareImageOf(wasm: WebAssembly.Module): Promise<Uint8Array> {
  using vm = await QuickJS.create({ wasm });
  vm.evalCode("globalThis.kept = Array.from({ length: 200 }, (_, i) => ({ i }))").dispose();
  return zstdCompressSync(QuickJS.serializeSnapshot(vm.snapshot()), level);
}

async function bareSnapshot(wasm: WebAssembly.Module): Promise<number> {
  const start = performance.now();
  await bareImageOf(wasm);
  return performance.now() - start;
}

async function bareRestored(wasm: WebAssembly.Module): Promise<number> {
  const image = await bareImageOf(wasm);
  const start = performance.now();
  using vm = await QuickJS.restore(QuickJS.deserializeSnapshot(zstdDecompressSync(image)), {
    wasm,
  });
  vm.evalCode("kept.length").dispose();
  return performance.now() - start;
}
