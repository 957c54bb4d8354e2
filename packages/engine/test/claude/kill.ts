// Runs a host of Claude Code in a process of its own, and kills it when the test says so.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

export class DoomedHost {
  readonly #child: ChildProcess;
  readonly #kinds: string[] = [];
  #group: number | undefined;
  readonly #waiting: { kind: string; resolve: () => void }[] = [];

  constructor(folder: string, url: string, ...flags: string[]) {
    this.#child = spawn(
      process.execPath,
      [join(import.meta.dirname, "killed-host.ts"), folder, url, ...flags],
      {
        env: { PATH: process.env["PATH"] ?? "", HOME: folder },
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    createInterface({ input: this.#child.stdout! }).on("line", (kind) => {
      if (kind.startsWith("group ")) this.#group = Number(kind.slice("group ".length));
      this.#kinds.push(kind);
      for (const one of this.#waiting) if (one.kind === kind) one.resolve();
    });
  }

  /** Settles once it has said that an entry of the kind is in its log. */
  async until(kind: string): Promise<void> {
    if (this.#kinds.includes(kind)) return;
    await new Promise<void>((resolve) => void this.#waiting.push({ kind, resolve }));
  }

  /** Settles once it has said so after `earlier` for the second time. */
  async untilAfterSecond(earlier: string, kind: string): Promise<void> {
    const isSaid = (): boolean => {
      const second = this.#kinds.indexOf(earlier, this.#kinds.indexOf(earlier) + 1);
      return second > this.#kinds.indexOf(earlier) && this.#kinds.lastIndexOf(kind) > second;
    };
    while (!isSaid())
      await new Promise<void>((resolve) => void this.#waiting.push({ kind, resolve }));
  }

  /** Settles once it has said so of as many. */
  async untilCount(kind: string, count: number): Promise<void> {
    while (this.#kinds.filter((it) => it === kind).length < count)
      await new Promise<void>((resolve) => void this.#waiting.push({ kind, resolve }));
  }

  /** `withHarness`: what it drives is killed at the same moment. */
  async kill({ withHarness = false } = {}): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    if (withHarness && this.#group !== undefined) process.kill(-this.#group, "SIGKILL");
    const [, signal] = await exited;
    if (signal !== "SIGKILL") throw new Error("The host ended before it was killed.");
  }
}
