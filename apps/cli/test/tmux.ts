// One tmux server of the tests' own with one pane, spoken to in control mode: commands go in, what the pane's program
// writes comes out as it is written. A guard ends it when this process dies, so that a killed test leaves nothing behind.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

const settings = `
set -g status off
set -g destroy-unattached on
set -g remain-on-exit on
set -sg escape-time 0
set -g history-limit 0
set -sg exit-empty on
set -g allow-rename off
`;

// A server that cannot get rid of its output would outlive its only client.
const guard = 'cat >/dev/null; exec tmux -S "$1" kill-server';

export interface TmuxOptions {
  /** Run as it is, without a shell. */
  readonly command: readonly string[];
  readonly cols: number;
  readonly rows: number;
  readonly cwd: string;
  /** Told each piece that the pane's program writes, before any answer that saw it. */
  readonly onOutput: (bytes: Buffer) => void;
  readonly onEnd: () => void;
}

export class Tmux {
  readonly #line: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Waits for the end of its input, which comes with the end of this process, and ends the server. */
  readonly #guard: ChildProcessByStdio<Writable, null, null>;
  readonly #dir: string;
  readonly #onOutput: (bytes: Buffer) => void;
  readonly #asked: PromiseWithResolvers<string[]>[] = [];
  #answer: { readonly mark: string; readonly lines: string[] } | undefined;
  #rest: Buffer = Buffer.alloc(0);
  #complaint = "";
  #hasEnded = false;

  static async start(options: TmuxOptions): Promise<Tmux> {
    const dir = await mkdtemp(join(tmpdir(), "lichen-tmux-"));
    await writeFile(join(dir, "conf"), settings);
    const tmux = new Tmux(dir, options);
    await tmux.ask("display-message -p ready");
    return tmux;
  }

  private constructor(dir: string, options: TmuxOptions) {
    this.#dir = dir;
    this.#onOutput = options.onOutput;
    const { cols, rows, cwd, command } = options;
    const session = ["new-session", "-x", `${cols}`, "-y", `${rows}`, "-c", cwd, ...command];
    const socket = join(dir, "s");
    const own = ["-u", "-S", socket, "-f", join(dir, "conf"), "-C"];
    const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C.UTF-8", TERM: "xterm-256color" };
    this.#line = spawn("tmux", [...own, ...session], { env, stdio: ["pipe", "pipe", "pipe"] });
    this.#guard = spawn("sh", ["-c", guard, "sh", socket], {
      env,
      stdio: ["pipe", "ignore", "ignore"],
    });
    this.#guard.on("error", () => undefined);
    this.#guard.stdin.on("error", () => undefined);
    this.#line.stdin.on("error", () => undefined);
    this.#line.stdout.on("data", (bytes: Buffer) => this.#take(bytes));
    this.#line.stderr.on("data", (bytes: Buffer) => (this.#complaint += bytes.toString()));
    this.#line.once("error", (error) => (this.#complaint += error.message));
    this.#line.once("close", () => {
      this.#hasEnded = true;
      for (const asked of this.#asked.splice(0)) asked.reject(this.#gone());
      options.onEnd();
    });
  }

  /** Gives one command; answers its lines. Rejects with what tmux says against it. */
  ask(command: string): Promise<string[]> {
    if (this.#hasEnded) return Promise.reject(this.#gone());
    const asked = Promise.withResolvers<string[]>();
    this.#asked.push(asked);
    this.#line.stdin.write(`${command}\n`);
    return asked.promise;
  }

  /** A file that only this server's commands read. */
  path(name: string): string {
    return join(this.#dir, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) {
      this.#line.stdin.end("kill-server\n");
      await once(this.#line, "close");
    }
    if (this.#guard.exitCode === null && this.#guard.signalCode === null) {
      this.#guard.stdin.end();
      await once(this.#guard, "close");
    }
    await rm(this.#dir, { recursive: true, force: true });
  }

  #gone(): Error {
    return new Error(`tmux has ended. ${this.#complaint}`.trim());
  }

  #take(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    for (let end = this.#rest.indexOf(10); end >= 0; end = this.#rest.indexOf(10)) {
      const line = this.#rest.subarray(0, end);
      this.#rest = this.#rest.subarray(end + 1);
      this.#takeLine(line);
    }
  }

  #takeLine(bytes: Buffer): void {
    const line = bytes.toString("utf8");
    if (this.#answer) {
      const ends = /^%(end|error) (\d+ \d+) /.exec(line);
      if (ends?.[2] !== this.#answer.mark) return void this.#answer.lines.push(line);
      const { lines } = this.#answer;
      this.#answer = undefined;
      const asked = this.#asked.shift();
      if (ends[1] === "end") asked?.resolve(lines);
      else asked?.reject(new Error(`tmux refuses: ${lines.join(" ")}`));
      return;
    }
    // Only answers to this line end with 1; the command that tmux started with has one too.
    const begins = /^%begin (\d+ \d+) 1/.exec(line);
    if (begins) this.#answer = { mark: begins[1]!, lines: [] };
    else if (line.startsWith("%output ")) this.#onOutput(unescaped(bytes));
  }
}

/** The bytes of a `%output %1 …` line: control characters and backslashes stand there as three octal digits. */
function unescaped(line: Buffer): Buffer {
  const from = line.indexOf(32, "%output ".length) + 1;
  const bytes = Buffer.alloc(line.length - from);
  let length = 0;
  for (let at = from; at < line.length; at++) {
    if (line[at] === 92) {
      bytes[length++] = Number.parseInt(line.toString("latin1", at + 1, at + 4), 8);
      at += 3;
    } else bytes[length++] = line[at]!;
  }
  return bytes.subarray(0, length);
}
