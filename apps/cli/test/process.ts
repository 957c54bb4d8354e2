// The real command as a real process in a clean environment, for tests.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const repository = fileURLToPath(import.meta.resolve("../../.."));
export const bin = join(repository, "apps/cli/bin/lichen.mjs");

export interface Settings {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Another program than the launcher under this Node. */
  readonly program?: readonly [string, ...string[]];
}

/** A process that runs, and what it has written so far. */
export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stdout = "";
  stderr = "";
  readonly #changed = new Set<() => void>();

  constructor(child: ChildProcess) {
    this.child = child;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
      this.#tell();
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
      this.#tell();
    });
    this.ended = new Promise((resolve) => {
      child.once("close", (code, signal) => {
        resolve({ code, signal });
        this.#tell();
      });
    });
  }

  /** Settles once `read` finds something in what was written; rejects when the process ends without it. */
  async until<T>(read: (running: this) => T | undefined): Promise<T> {
    for (;;) {
      const found = read(this);
      if (found !== undefined) return found;
      if (this.child.exitCode !== null || this.child.signalCode !== null) {
        await this.ended;
        const late = read(this);
        if (late !== undefined) return late;
        throw new Error(`it ended without that; stdout: ${this.stdout}\nstderr: ${this.stderr}`);
      }
      await new Promise<void>((resolve) => {
        const changed = () => {
          this.#changed.delete(changed);
          resolve();
        };
        this.#changed.add(changed);
        this.child.once("exit", changed);
      });
    }
  }

  firstLine(): Promise<string> {
    return this.until(({ stdout }) => /^(.*)\n/.exec(stdout)?.[1]);
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<number | null> {
    this.child.kill(signal);
    return (await this.ended).code;
  }

  #tell(): void {
    for (const changed of this.#changed) changed();
  }
}

/** A home of its own, the processes started in it, and their end. */
export class Home implements AsyncDisposable {
  readonly dir: string;
  readonly #started: Running[] = [];

  private constructor(dir: string) {
    this.dir = dir;
  }

  static async make(): Promise<Home> {
    return new Home(await mkdtemp(join(tmpdir(), "lichen-cli-")));
  }

  path(...parts: string[]): string {
    return join(this.dir, ...parts);
  }

  start(args: readonly string[], settings: Settings = {}): Running {
    const [program, ...before] = settings.program ?? [process.execPath, bin];
    const child = spawn(program, [...before, ...args], {
      cwd: settings.cwd ?? this.dir,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: this.dir,
        // One cache for all homes: a first start compiles everything.
        NODE_COMPILE_CACHE: join(tmpdir(), "lichen-cli-compile"),
        ...settings.env,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(settings.input ?? "");
    const running = new Running(child);
    this.#started.push(running);
    return running;
  }

  async run(
    args: readonly string[],
    settings?: Settings,
  ): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const running = this.start(args, settings);
    const { code } = await running.ended;
    return { code, stdout: running.stdout, stderr: running.stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const running of this.#started) {
      if (running.child.exitCode === null && running.child.signalCode === null) {
        running.child.kill("SIGKILL");
      }
      await running.ended;
    }
    await rm(this.dir, { recursive: true, force: true });
  }
}
