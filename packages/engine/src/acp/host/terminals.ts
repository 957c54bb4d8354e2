// The terminals of an agent: commands that its client runs for it, in its directory and behind its wall.
//
//   - Each has a process group of its own and the mark of its session; none outlives the agent's process, and what a
//     command leaves in the background ends with it.
//   - A command's end is its own: who inherited its output and left its group is not waited for.
//   - Variables that the agent names count behind the wall alone: what builds the wall must not be told by them what to load.
//   - Of an output the last bytes are kept, whole characters of them.

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { Fault } from "@lichen/wire";
import { begin, closedWithin, notBegun } from "../../harness/host/begin.ts";
import { harnessMark } from "../../harness/host/processes.ts";
import type { HarnessOptions, HarnessWall } from "../../harness/port.ts";
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
  readonly child: ChildProcessByStdio<null, Readable, Readable>;
  readonly limit: number;
  output: Buffer;
  isCut: boolean;
  /** Its process is gone; `exit` is told once its last output is there. */
  isGone: boolean;
  exit?: TerminalExit;
  readonly exited: Promise<TerminalExit>;
}

const usualLimit = 1024 * 1024;
const mostKept = 8 * 1024 * 1024;
const mostTerminals = 64;
/** How long the pipes of a command that is gone are read on: what it wrote last is in them by then. */
const lastWordsMs = 500;

export class Terminals {
  readonly #options: Pick<HarnessOptions, "env" | "wall">;
  readonly #files: AgentFiles;
  readonly #mark: string;
  readonly #terminals = new Map<string, Terminal>();
  readonly #beginning = new Set<Promise<unknown>>();
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
    if (this.#terminals.size + this.#beginning.size >= mostTerminals)
      throw new Fault(
        "capacity",
        `There are ${mostTerminals} terminals: release those that are not needed any more.`,
      );
    const beginning = this.#create(request);
    this.#beginning.add(beginning);
    try {
      return await beginning;
    } finally {
      this.#beginning.delete(beginning);
    }
  }

  async #create(request: TerminalRequest): Promise<string> {
    const cwd = await this.#files.folder(request.cwd ?? undefined);
    if (this.#isOver) throw isGone();
    const { child, release } = await this.#begun(request, cwd);
    const ended = Promise.withResolvers<TerminalExit>();
    const terminal: Terminal = {
      child,
      limit: Math.min(Math.max(0, request.outputByteLimit ?? usualLimit), mostKept),
      output: Buffer.alloc(0),
      isCut: false,
      isGone: false,
      exited: ended.promise.finally(release),
    };
    const hear = (chunk: Buffer): void => keep(terminal, chunk);
    child.stdout.on("data", hear);
    child.stderr.on("data", hear);
    child.once("exit", (exitCode, signal) => {
      ended.resolve(lastHeard(terminal, { exitCode, signal }));
    });
    if (this.#isOver) {
      killGroup(terminal);
      await terminal.exited;
      throw isGone();
    }
    const id = `t${++this.#made}`;
    this.#terminals.set(id, terminal);
    return id;
  }

  async #begun(request: TerminalRequest, cwd: string) {
    const { env, wall } = this.#options;
    const named = namedIn(request);
    const argv = argvOf(request);
    let walled: ReturnType<HarnessWall> | undefined;
    try {
      walled = wall?.(behindWall(argv, named.length));
      const [file = "", ...args] = walled?.argv ?? argv;
      const own = { ...env, ...(wall ? carried(named) : Object.fromEntries(named)) };
      const child = await begin(request.command, () =>
        spawn(file, args, {
          cwd,
          env: { ...own, [harnessMark]: this.#mark },
          detached: true,
          stdio: ["ignore", "pipe", "pipe"],
        }),
      );
      return { child, release: () => walled?.release() };
    } catch (error) {
      walled?.release();
      throw notBegun(request.command, error);
    }
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
    await Promise.allSettled(this.#beginning);
  }

  #get(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (!terminal) throw new Fault("invalid", `There is no terminal ${id}: it was released.`);
    return terminal;
  }
}

function isGone(): Fault {
  return new Fault("unavailable", "The agent's process is gone.");
}

/** A command line that came as one text is for a shell. */
function argvOf({ command, args = [] }: TerminalRequest): string[] {
  return args.length === 0 && /\s/.test(command) ? ["/bin/sh", "-c", command] : [command, ...args];
}

/** The variables that the agent names. Lichen's own are not its to set: by one of them its processes are found. */
function namedIn({ env = [] }: TerminalRequest): [name: string, value: string][] {
  return env.flatMap(({ name, value }): [string, string][] => {
    if (name === "" || /[=\0]/.test(name) || value.includes("\0"))
      throw new Fault("invalid", `${JSON.stringify(name)} can be no variable of a command.`);
    return /^LICHEN_/i.test(name) ? [] : [[name, value]];
  });
}

const carrier = "LICHEN_GIVEN_";

/** Variables under names that mean nothing to any program, until `behindWall` gives them their own. */
function carried(named: readonly (readonly [string, string])[]): Record<string, string> {
  return Object.fromEntries(
    named.map(([name, value], at) => [`${carrier}${at}`, `${name}=${value}`]),
  );
}

/** The command with the variables that were carried. */
function behindWall(argv: readonly string[], variables: number): readonly string[] {
  if (variables === 0) return argv;
  const names = Array.from({ length: variables }, (_, at) => `${carrier}${at}`);
  const words = [...names.map((name) => `-u ${name}`), ...names.map((name) => `"$${name}"`)];
  return ["/bin/sh", "-c", `exec /usr/bin/env ${words.join(" ")} "$@"`, "sh", ...argv];
}

/** Ends what the command left in its group, which holds its pipes open otherwise, and reads what it wrote last. */
async function lastHeard(terminal: Terminal, exit: TerminalExit): Promise<TerminalExit> {
  const { stdout, stderr } = terminal.child;
  killGroup(terminal);
  terminal.isGone = true;
  await closedWithin([stdout, stderr], lastWordsMs);
  stdout.destroy();
  stderr.destroy();
  return (terminal.exit = exit);
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

function killGroup({ child, isGone }: Terminal): void {
  if (isGone || child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // Nobody of the group is left.
  }
}
