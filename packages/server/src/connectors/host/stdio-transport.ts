// One MCP server that runs as a program: started with a clean environment, spoken to in lines of JSON, ended with all
// that it started.
//
//   It leads a process group of its own, and gets PATH, HOME and what its connection names: nothing else of the host's.
//   At its end: its input is closed, then the group is asked, then killed. Where its host dies, its input closes too.
//   What it says is bounded, and the secrets that it was given do not come back in it.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { OperationError, Redactor } from "@lichen/capability";
import {
  answerBounds,
  JsonScan,
  malformedCode,
  type McpTransport,
  type RpcMessage,
  type ServerProgram,
} from "@lichen/capability/connectors";

export interface ProgramPlace {
  readonly path: string;
  readonly home: string;
  readonly cwd: string;
  /** What runs a command in the wall around it; the command itself where there is none. */
  wrap?(argv: readonly string[]): { readonly argv: readonly string[]; release(): void };
  /** Called once, when the program and its group are gone. */
  release(): Promise<void>;
}

const shownWords = 4_000;
/** More than is shown, so that no secret is cut where it is still to be known. */
const keptBytes = 65_536;
const graceMs = 1_000;

const asWished = "It was ended";

export class StdioTransport implements McpTransport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: RpcMessage) => void) | undefined;
  readonly #server: ServerProgram;
  readonly #redactor: Redactor;
  readonly #openPlace: () => Promise<ProgramPlace>;
  readonly #gone = Promise.withResolvers<void>();
  #place: ProgramPlace | undefined;
  #wall: ReturnType<NonNullable<ProgramPlace["wrap"]>> | undefined;
  #child: ChildProcessWithoutNullStreams | undefined;
  #isClosed = false;
  #ending: string | undefined;
  #words = Buffer.alloc(0);
  #line: Buffer[] = [];
  #lineBytes = 0;
  #scan = new JsonScan(answerBounds);
  /** Why the line is not parsed, and only its beginning kept. */
  #flaw: string | undefined;
  /** What was said since the last message that is none. */
  #noise = { lines: 0, first: "" };

  constructor(server: ServerProgram, openPlace: () => Promise<ProgramPlace>) {
    this.#server = server;
    this.#redactor = new Redactor(server.secrets);
    this.#openPlace = openPlace;
  }

  async start(): Promise<void> {
    const { command, args, env } = this.#server;
    const place = (this.#place = await this.#openPlace());
    const { path, home, cwd } = place;
    let child: ChildProcessWithoutNullStreams;
    try {
      if (this.#isClosed)
        throw new OperationError("unavailable", `${command} was not started: it is not wanted.`);
      const [program = command, ...rest] = this.#walledIn([command, ...args]);
      child = spawn(program, rest, {
        cwd,
        env: { PATH: path, HOME: home, ...env },
        detached: true,
        stdio: "pipe",
      });
    } catch (error) {
      await this.#over();
      throw error;
    }
    this.#child = child;
    child.stdout.on("data", (chunk: Buffer) => this.#hear(chunk));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#words = Buffer.concat([this.#words, chunk]).subarray(-keptBytes);
    });
    // A broken pipe is told by the end of the program.
    child.stdin.on("error", () => {});
    child.once("exit", (code, signal) => {
      this.#killGroup("SIGKILL");
      // Who closes it may be faster than the news that it had failed.
      if (this.#ending === undefined || (this.#ending === asWished && code !== null && code > 0))
        this.#ending = `It ended ${code === null ? `by ${signal}` : `with code ${code}`}`;
      // What left the group may hold the pipes open: it is not listened to.
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, 200).unref();
    });
    child.once("close", () => void this.#over());
    // Without an output it can answer nothing.
    child.stdout.once("end", () => {
      void this.#isGoneWithin(graceMs).then((isGone) => (isGone ? undefined : this.close()));
    });
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", (cause: NodeJS.ErrnoException) => {
        void this.#over();
        reject(new OperationError("unavailable", notStarted(command, cwd, cause), { cause }));
      });
    });
  }

  send(message: RpcMessage): Promise<void> {
    const child = this.#child;
    if (!child || this.#ending !== undefined)
      return Promise.reject(
        new OperationError(
          "unavailable",
          `${this.#server.command} runs no more. ${this.ending() ?? ""}`,
        ),
      );
    return new Promise((resolve, reject) => {
      child.stdin.write(`${JSON.stringify(message)}\n`, (error) => {
        if (error) reject(error);
        else resolve();
      });
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const child = this.#child;
    if (!child) return;
    this.#ending ??= asWished;
    child.stdin.end();
    if (await this.#isGoneWithin(graceMs)) return;
    this.#killGroup("SIGTERM");
    if (await this.#isGoneWithin(graceMs)) return;
    this.#killGroup("SIGKILL");
    await this.#gone.promise;
  }

  /** How it ended, with its last words. */
  ending(): string | undefined {
    if (this.#ending === undefined) return undefined;
    const words = this.#redactor.lastOf(this.#words.toString("utf8"), shownWords).trim();
    if (/^bwrap: execvp .*: No such file or directory$/.test(words))
      return "There is no such program: correct the connection's command, or install it.";
    return words === "" ? `${this.#ending}.` : `${this.#ending}. Its last words: ${words}`;
  }

  noise(): string | undefined {
    const { lines, first } = this.#noise;
    if (lines === 0) return undefined;
    return `Meanwhile it wrote ${lines === 1 ? "a line that is" : `${lines} lines that are`} no message where its answers go; the first begins: ${first}`;
  }

  #walledIn(argv: readonly string[]): readonly string[] {
    this.#wall = this.#place?.wrap?.(argv);
    return this.#wall?.argv ?? argv;
  }

  #hear(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      this.#keep(chunk.subarray(from, at));
      from = at + 1;
      const line = Buffer.concat(this.#line).toString("utf8");
      const flaw = this.#flaw;
      this.#line = [];
      this.#lineBytes = 0;
      this.#scan = new JsonScan(answerBounds);
      this.#flaw = undefined;
      if (flaw === undefined) this.#read(line);
      else this.#leave(line, flaw);
    }
    this.#keep(chunk.subarray(from));
  }

  #keep(part: Buffer): void {
    this.#lineBytes += part.length;
    if (this.#lineBytes <= this.#server.limitBytes) {
      if (this.#flaw !== undefined) return;
      this.#flaw = this.#scan.take(part);
      this.#line.push(part);
    } else if (this.#ending === undefined) {
      this.#ending = `It said more than ${this.#server.limitBytes} bytes at once, which is not read, and was ended`;
      this.#line = [];
      this.#killGroup("SIGKILL");
    }
  }

  #read(line: string): void {
    if (line.trim() === "") return;
    let said: unknown;
    try {
      said = JSON.parse(line);
    } catch (error) {
      this.#leave(line, "it is no JSON");
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    // Some older servers answer several requests at once.
    for (const one of Array.isArray(said) ? said : [said])
      if (isMessage(one)) {
        this.#noise = { lines: 0, first: "" };
        this.onmessage?.(one);
      } else this.#heardNoise(line);
  }

  /** What is not taken fails the request that it answers, where it says which. */
  #leave(line: string, flaw: string): void {
    const id = answeredBy(line);
    // Some print notes where their answers go.
    if (id === undefined) this.#heardNoise(line);
    else this.onmessage?.({ jsonrpc: "2.0", id, error: { code: malformedCode, message: flaw } });
  }

  #heardNoise(line: string): void {
    const { lines, first } = this.#noise;
    const begins = lines === 0 ? this.#redactor.text(line.slice(0, 2_000)).slice(0, 200) : first;
    this.#noise = { lines: lines + 1, first: begins };
  }

  #killGroup(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, signal);
    } catch {
      // Nobody of the group is left.
    }
  }

  async #isGoneWithin(ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(false), ms);
    void this.#gone.promise.then(() => resolve(true));
    const isGone = await promise;
    clearTimeout(timer);
    return isGone;
  }

  async #over(): Promise<void> {
    const place = this.#place;
    this.#place = undefined;
    this.#child = undefined;
    if (!place) return;
    this.#wall?.release();
    await place.release();
    this.#gone.resolve();
    this.onclose?.();
  }
}

function isMessage(value: unknown): value is RpcMessage {
  // Whoever is asked reads the rest, also of an answer that does not say what it is.
  if (typeof value !== "object" || value === null) return false;
  return ("jsonrpc" in value && value.jsonrpc === "2.0") || ("id" in value && !("method" in value));
}

/** Which request a broken line answers, where it begins as an answer does. */
function answeredBy(line: string): number | undefined {
  const [, id] =
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"(?:result|error)"\s*:/.exec(
      line,
    ) ?? [];
  return id === undefined ? undefined : Number(id);
}

function notStarted(
  command: string,
  cwd: string,
  { code, message }: NodeJS.ErrnoException,
): string {
  if (code === "ENOENT")
    return `${command} cannot be started: there is no such program, or its folder ${cwd} is not there. Correct the connection's command, or install it.`;
  if (code === "EACCES") return `${command} cannot be started: it may not be executed.`;
  return `${command} cannot be started: ${message}`;
}
