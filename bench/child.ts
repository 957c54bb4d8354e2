// A measured process: started with an empty environment, asked over IPC, ended by its own handle.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { basename, join } from "node:path";
import type { BenchContext } from "./figure.ts";

interface Question {
  readonly id: number;
  readonly what: string;
  readonly value: unknown;
}

interface Reply {
  readonly id: number;
  readonly value?: unknown;
  readonly error?: string;
}

export interface CpuReading {
  /** User and system time of the whole process, in microseconds. */
  readonly cpuMicros: number;
  readonly residentBytes: number;
}

/** One program of this folder, running. */
export class Child {
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #asked = 0;

  private constructor(process: ChildProcess) {
    this.#process = process;
    process.on("message", (message) => this.#answered(message as Reply));
    process.once("exit", (code, signal) => {
      const how = code === null ? `of ${signal}` : `with ${code}`;
      for (const pending of this.#pending.values())
        pending.reject(new Error(`The child ${process.spawnargs[1]} ended ${how}.`));
      this.#pending.clear();
    });
  }

  /** `as` names the CPU profile where one is asked for. */
  static start(
    context: BenchContext,
    file: string,
    options: { as?: string; arguments?: readonly string[]; execArgv?: readonly string[] } = {},
  ): Child {
    const flags = [...(options.execArgv ?? [])];
    if (context.profileFolder !== undefined) {
      const folder = join(context.profileFolder, options.as ?? basename(file, ".ts"));
      mkdirSync(folder, { recursive: true });
      flags.push("--cpu-prof", `--cpu-prof-dir=${folder}`);
    }
    const process = fork(join(import.meta.dirname, file), [...(options.arguments ?? [])], {
      env: {},
      execArgv: flags,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    const child = new Child(process);
    context.ends.push(() => child.kill());
    return child;
  }

  /** The caller says what the other side answers; both sides stand in this folder. */
  ask<T>(what: string, value?: unknown): Promise<T> {
    const id = ++this.#asked;
    const pending = Promise.withResolvers<unknown>();
    this.#pending.set(id, pending);
    this.#process.send({ id, what, value: value ?? null } satisfies Question);
    return pending.promise as Promise<T>;
  }

  cpu(): Promise<CpuReading> {
    return this.ask<CpuReading>("cpu");
  }

  /** Ends it in order, so that a CPU profile is written. */
  async stop(): Promise<void> {
    const exited = once(this.#process, "exit");
    this.#process.disconnect();
    await exited;
  }

  /** As if the machine's owner had pulled the plug on it. */
  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await exited;
  }

  #answered({ id, value, error }: Reply): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (error === undefined) pending?.resolve(value);
    else pending?.reject(new Error(error));
  }
}

export type Handlers = Readonly<Record<string, (value: never) => unknown>>;

/** The child's side: answers questions until the parent lets go. */
export function answerParent(handlers: Handlers): void {
  const all = new Map(Object.entries<(value: never) => unknown>({ cpu: cpuReading, ...handlers }));
  process.on("message", (message) => {
    const { id, what, value } = message as Question;
    const work = async (): Promise<unknown> => {
      const handler = all.get(what);
      if (!handler) throw new Error(`This child cannot be asked for ${what}.`);
      return await handler(value as never);
    };
    work().then(
      (answer) => process.send?.({ id, value: answer } satisfies Reply),
      (error: unknown) => process.send?.({ id, error: String(error) } satisfies Reply),
    );
  });
  process.once("disconnect", () => process.exit(0));
}

function cpuReading(): CpuReading {
  const { user, system } = process.cpuUsage();
  return { cpuMicros: user + system, residentBytes: process.memoryUsage.rss() };
}
