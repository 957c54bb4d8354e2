// One VM of one program: started or restored once, given outcomes one by one, and never used for another.
//
//   Whatever ends a drain early (memory, a stop, a trap of the engine) breaks the machine: it answers how it ended and
//   does nothing more. A broken machine gives no snapshot.

import { createHash, createHmac } from "node:crypto";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { Intrinsics, type JSValueHandle, JSException, MAX_STACK_SIZE, QuickJS } from "quickjs-wasi";
import { nearest } from "../../model/near-names.ts";
import { bridgeSource } from "../bridge.ts";
import { limits } from "../limits.ts";
import type { Ask, Beginning, Ending, Names, Outcome, SandboxData } from "../protocol.ts";
import { programEnd, programFile, programStart, shownError } from "../shown-error.ts";

const headerBytes = 4;

export interface Step {
  readonly asks: readonly Ask[];
  readonly calls: number;
  readonly ending?: Ending;
}

/** What a snapshot must say beside the engine's memory. */
interface Left {
  readonly bridge: number;
  readonly calls: number;
  readonly drawn: number;
  readonly printed: string;
  readonly printedBytes: number;
}

export class Machine {
  readonly #data: SandboxData;
  readonly #print: (text: string) => void;
  #vm: QuickJS | undefined;
  #bridge: JSValueHandle | undefined;
  #names: Names = {};
  #seed = "";
  #clock = 0;
  #calls = 0;
  #drawn = 0;
  #printed = "";
  #printedBytes = 0;
  #asks: Ask[] = [];
  #ending: Ending | undefined;
  #isBroken = false;

  private constructor(data: SandboxData, print: (text: string) => void) {
    this.#data = data;
    this.#print = print;
  }

  /** A machine with the bridge in it and no program yet. */
  static async boot(data: SandboxData, print: (text: string) => void): Promise<Machine> {
    const machine = new Machine(data, print);
    const vm = await QuickJS.create(machine.#options());
    machine.#vm = vm;
    using host = vm.newFunction("host", machine.#host);
    using make = vm.evalCode(bridgeSource, "bridge.js");
    machine.#bridge = vm.callFunction(make, vm.undefined, host);
    return machine;
  }

  /** The machine that `snapshot` was taken from, with its open calls. Throws where that is not possible. */
  static async restore(
    data: SandboxData,
    print: (text: string) => void,
    bytes: Uint8Array,
    beginning: Beginning,
  ): Promise<{ machine: Machine; open: readonly Ask[]; calls: number; printed: string }> {
    const machine = new Machine(data, print);
    machine.#begin(beginning);
    const image = zstdDecompressSync(bytes, { maxOutputLength: 2 * data.limits.heapBytes });
    const until = headerBytes + image.readUInt32LE(0);
    const left: Left = JSON.parse(image.toString("utf8", headerBytes, until));
    const snapshot = QuickJS.deserializeSnapshot(image.subarray(until));
    const vm = await QuickJS.restore(snapshot, machine.#options());
    machine.#vm = vm;
    vm.registerHostCallback("host", machine.#host);
    machine.#bridge = vm.importHandle(left.bridge);
    machine.#calls = left.calls;
    machine.#drawn = left.drawn;
    machine.#printed = left.printed;
    machine.#printedBytes = left.printedBytes;
    const text = vm.withScope(() => machine.#ask("open").toString());
    const open: readonly Ask[] = JSON.parse(text);
    return { machine, open, calls: left.calls, printed: left.printed };
  }

  start(code: string, beginning: Beginning): Step {
    this.#begin(beginning);
    const seed = createHash("sha256").update(`Math.random ${beginning.seed}`).digest();
    return this.#step((vm) => {
      const state = [0, 4, 8, 12].map((at) => vm.newNumber(seed.readInt32LE(at)));
      this.#ask("setup", vm.newString(JSON.stringify(Object.keys(beginning.names))), ...state);
      this.#ask("run", vm.evalCode(programStart + code + programEnd, programFile));
    });
  }

  deliver(ordinal: number, outcome: Outcome, clock: number): Step {
    this.#clock = clock;
    return this.#step((vm) => {
      const said = outcome.ok
        ? [vm.true, outcome.text === undefined ? vm.undefined : vm.newString(outcome.text)]
        : [vm.false, vm.newString(outcome.code), vm.newString(outcome.message)];
      this.#ask("deliver", vm.newNumber(ordinal), ...said);
    });
  }

  /** The machine between two steps, compressed; undefined where it is broken or its snapshot too large. */
  snapshot(): Uint8Array | undefined {
    const vm = this.#vm;
    if (!vm || !this.#bridge || this.#isBroken || this.#ending) return undefined;
    vm.runGC();
    const left: Left = {
      bridge: vm.exportHandle(this.#bridge),
      calls: this.#calls,
      drawn: this.#drawn,
      printed: this.#printed,
      printedBytes: this.#printedBytes,
    };
    const header = Buffer.from(JSON.stringify(left));
    const length = Buffer.alloc(headerBytes);
    length.writeUInt32LE(header.length);
    const bytes = zstdCompressSync(
      Buffer.concat([length, header, QuickJS.serializeSnapshot(vm.snapshot())]),
      {
        params: {
          [constants.ZSTD_c_compressionLevel]: 3,
          [constants.ZSTD_c_checksumFlag]: 1,
        },
      },
    );
    return bytes.length > this.#data.limits.snapshotBytes ? undefined : bytes;
  }

  dispose(): void {
    this.#vm?.dispose();
    this.#vm = undefined;
    this.#bridge = undefined;
  }

  #begin({ seed, clock, names }: Beginning): void {
    this.#seed = seed;
    this.#clock = clock;
    this.#names = names;
  }

  #options(): Parameters<typeof QuickJS.create>[0] {
    return {
      wasm: this.#data.module,
      memoryLimit: this.#data.limits.heapBytes,
      maxStackSize: MAX_STACK_SIZE,
      // References that the garbage collector decides about would make two runs differ.
      intrinsics: Intrinsics.ALL & ~Intrinsics.WEAK_REF,
      timezoneOffset: 0,
      interruptHandler: () => Atomics.load(this.#data.stop, 0) !== 0,
      moduleLoader: {
        load: () => {
          throw refusal("There are no modules here: use the operations that are given.");
        },
      },
      wasi: (memory) => ({
        clock_time_get: (_id: number, _precision: bigint, at: number) => {
          new DataView(memory.buffer).setBigUint64(at, BigInt(this.#clock) * 1_000_000n, true);
          return 0;
        },
        random_get: (at: number, length: number) => {
          new Uint8Array(memory.buffer, at, length).fill(0);
          return 0;
        },
        fd_write: () => 8,
      }),
    };
  }

  /** Runs what `work` begins until the guest has nothing more to do. */
  #step(work: (vm: QuickJS) => void): Step {
    const vm = this.#vm;
    if (!vm || this.#isBroken) throw new Error("A sandbox that ended was used again.");
    try {
      vm.withScope(() => work(vm));
      vm.executePendingJobs();
    } catch (error) {
      this.#isBroken = true;
      this.#ending = this.#broken(error);
    }
    const asks = this.#asks;
    this.#asks = [];
    return { asks, calls: this.#calls, ...(this.#ending ? { ending: this.#ending } : {}) };
  }

  #broken(error: unknown): Ending {
    if (!(error instanceof JSException))
      return limit("The code is nested too deeply, or calls itself without end.");
    const { name, message, stack = "" } = error;
    error.dispose();
    if (name === "InternalError" && message === "out of memory")
      return limit(
        `The program needs more than ${this.#data.limits.heapBytes / 1_024 / 1_024} MB of memory: keep less at once.`,
      );
    if (name === "InternalError" && message === "interrupted")
      return limit("The program was stopped.");
    return {
      ok: false,
      reason: "error",
      message: shownError(`${name}: ${message}`, stack, Object.keys(this.#names)),
    };
  }

  #ask(name: "setup" | "run" | "deliver" | "open", ...given: JSValueHandle[]): JSValueHandle {
    const vm = this.#vm;
    if (!vm || !this.#bridge) throw new Error("A sandbox that ended was used again.");
    return vm.callFunction(this.#bridge.getProp(name), vm.undefined, ...given);
  }

  /** Everything that the guest can ask of the host. What it says is held to nothing: it is a claim of the guest. */
  readonly #host = (what: JSValueHandle, ...given: JSValueHandle[]): JSValueHandle => {
    const vm = this.#vm;
    if (!vm) throw new Error("A sandbox that ended was used again.");
    const [first = "", second = "", third] = given.map((it) =>
      it.isString || it.isNumber ? it.toString() : "",
    );
    switch (what.isString ? what.toString() : "") {
      case "call":
        this.#asks.push({
          ordinal: this.#calls++,
          namespace: first,
          operation: second,
          ...(third === undefined ? {} : { input: third }),
        });
        return vm.undefined;
      case "print":
        this.#keep(first);
        return vm.undefined;
      case "done":
        this.#ending ??= { ok: true, ...(given.length > 0 ? { text: first } : {}) };
        return vm.undefined;
      case "failed":
        this.#ending ??= {
          ok: false,
          reason: first === "limit" ? "limit" : "error",
          message: shownError(second, third ?? "", Object.keys(this.#names)),
        };
        return vm.undefined;
      case "has":
        return this.#operations(first).includes(second) ? vm.true : vm.false;
      case "names":
        return vm.newString(JSON.stringify(this.#operations(first)));
      case "near": {
        const near = nearest(second, this.#operations(first));
        const hint = near.length > 0 ? ` Did you mean ${near.join(", ")}?` : "";
        return vm.newString(`There is no operation ${first}.${second}.${hint}`);
      }
      case "random":
        return vm.newString(this.#draw(Math.min(Number(first) || 0, 65_536)));
      default:
        throw refusal("The program asked its host for something that it does not do.");
    }
  };

  #operations(namespace: string): readonly string[] {
    return Object.hasOwn(this.#names, namespace) ? (this.#names[namespace] ?? []) : [];
  }

  #keep(text: string): void {
    const room = this.#data.limits.printedBytes - this.#printedBytes;
    if (room < 0) return;
    const size = Buffer.byteLength(text);
    const kept =
      size <= room
        ? text
        : `${Buffer.from(text)
            .subarray(0, room)
            .toString("utf8")
            .replace(
              /\uFFFD$/,
              "",
            )}\n[Cut: a program prints at most ${this.#data.limits.printedBytes / 1_024} KiB.]\n`;
    this.#printedBytes += size;
    this.#printed += kept;
    this.#print(kept);
  }

  /** The next `length` bytes of the program's own randomness, as hex. */
  #draw(length: number): string {
    let hex = "";
    while (hex.length < 2 * length)
      hex += createHmac("sha256", this.#seed)
        .update(String(this.#drawn++))
        .digest("hex");
    return hex.slice(0, 2 * length);
  }
}

function limit(message: string): Ending {
  return { ok: false, reason: "limit", message: message.slice(0, limits.messageLength) };
}

/** An error for the guest: its stack would tell it of this machine's files. */
function refusal(message: string): Error {
  const error = new Error(message);
  error.stack = "";
  return error;
}
