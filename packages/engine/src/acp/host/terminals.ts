// The terminals of an agent: commands that its client runs for it, in its directory and behind its wall.
//
//   - Each has a process group of its own and the mark of its session; none outlives the agent's process, and what a
//     command leaves in the background ends with it.
//   - Of an output the last bytes are kept, whole characters of them.

import { type ChildProcess, spawn } from "node:child_process";
import { Fault } from "@lichen/wire";
import { harnessMark } from "../../harness/host/processes.ts";
import type { HarnessOptions } from "../../harness/port.ts";
import type { AgentFiles } from "./files.ts";

export interface TerminalRequest {
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | undefined;
  readonly cwd?: string | null | undefined;
  readonly outputByteLimit?: number | null | undefined;
}

export interface TerminalExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

interface Terminal {
  readonly child: ChildProcess;
  readonly limit: number;
  output: Buffer;
  isCut: boolean;
  exit?: TerminalExit;
  readonly exited: Promise<TerminalExit>;
}

const usualLimit = 1024 * 1024;
const mostTerminals = 64;

export class Terminals {
  readonly #options: Pick<HarnessOptions, "env" | "wall">;
  readonly #files: AgentFiles;
  readonly #mark: string;
  readonly #terminals = new Map<string, Terminal>();
  #made = 0;
  #isOver = false;

  constructor(options: Pick<HarnessOptions, "env" | "wall">, files: AgentFiles, mark: string) {
    this.#options = options;
    this.#files = files;
    this.#mark = mark;
  }

  /** Whether a command runs. */
  get isBusy(): boolean {
    return [...this.#terminals.values()].some((it) => it.exit === undefined);
  }

  async create(request: TerminalRequest): Promise<string> {
    if (this.#terminals.size >= mostTerminals)
      throw new Fault(
        "capacity",
        `There are ${mostTerminals} terminals: release those that are not needed any more.`,
      );
    const cwd = await this.#files.folder(request.cwd ?? undefined);
    if (this.#isOver) throw new Fault("unavailable", "The agent's process is gone.");
    const walled = this.#options.wall?.(argvOf(request));
    const [file = "", ...args] = walled?.argv ?? argvOf(request);
    const named = Object.fromEntries((request.env ?? []).map(({ name, value }) => [name, value]));
    const child = spawn(file, args, {
      cwd,
      env: { ...this.#options.env, ...named, [harnessMark]: this.#mark },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = Promise.withResolvers<TerminalExit>();
    const terminal: Terminal = {
      child,
      limit: Math.max(0, request.outputByteLimit ?? usualLimit),
      output: Buffer.alloc(0),
      isCut: false,
      exited: ended.promise.finally(() => walled?.release()),
    };
    const hear = (chunk: Buffer): void => keep(terminal, chunk);
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    // What it left holds its pipes open otherwise.
    child.once("exit", () => killGroup(terminal));
    child.once("close", (exitCode, signal) => {
      terminal.exit ??= { exitCode, signal };
      ended.resolve(terminal.exit);
    });
    const id = `t${++this.#made}`;
    this.#terminals.set(id, terminal);
    try {
      await begun(child, request.command);
    } catch (error) {
      this.#terminals.delete(id);
      throw error;
    }
    return id;
  }

  output(id: string): {
    readonly output: string;
    readonly truncated: boolean;
    readonly exitStatus: TerminalExit | null;
  } {
    const { output, isCut, exit } = this.#get(id);
    return { output: wholeText(output), truncated: isCut, exitStatus: exit ?? null };
  }

  exited(id: string): Promise<TerminalExit> {
    return this.#get(id).exited;
  }

  async kill(id: string): Promise<void> {
    const terminal = this.#get(id);
    killGroup(terminal);
    await terminal.exited;
  }

  async release(id: string): Promise<void> {
    const terminal = this.#get(id);
    this.#terminals.delete(id);
    killGroup(terminal);
    await terminal.exited;
  }

  /** Ends all of them and begins none any more; settles when they are gone. */
  async endAll(): Promise<void> {
    this.#isOver = true;
    const all = [...this.#terminals.values()];
    this.#terminals.clear();
    for (const terminal of all) killGroup(terminal);
    await Promise.all(all.map((it) => it.exited));
  }

  #get(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (!terminal) throw new Fault("invalid", `There is no terminal ${id}: it was released.`);
    return terminal;
  }
}

/** A command line that came as one text is for a shell. */
function argvOf({ command, args = [] }: TerminalRequest): string[] {
  return args.length === 0 && /\s/.test(command) ? ["/bin/sh", "-c", command] : [command, ...args];
}

async function begun(child: ChildProcess, command: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  child.once("spawn", resolve);
  child.once("error", reject);
  try {
    await promise;
  } catch (error) {
    throw new Fault("unavailable", `${command} could not be started: is it installed?`, {
      cause: error,
    });
  }
}

function keep(terminal: Terminal, chunk: Buffer): void {
  const all = Buffer.concat([terminal.output, chunk]);
  if (all.length <= terminal.limit) terminal.output = all;
  else {
    terminal.isCut = true;
    terminal.output = all.subarray(all.length - terminal.limit);
  }
}

/** A character that was cut in its middle is left out. */
function wholeText(bytes: Buffer): string {
  let start = 0;
  while (start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.subarray(start).toString("utf8");
}

function killGroup({ child, exit }: Terminal): void {
  if (exit !== undefined || child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // Nobody of the group is left.
  }
}
