// Starts a harness so that no host's death leaves one behind unknown.
//
//   HK1  A launcher waits for a line before it becomes the harness. It gets that line only after its process group is
//        durable; where the host dies before, it sees the end of its input and goes.
//   HK7  The harness has exactly the environment that was named, and the mark of its session.
//   HK16 What it writes is read no faster than it is taken in.
//   HK8  Its end waits for nobody: what it started and left is ended too, and an inherited stdout keeps nothing open.

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Fault, type Json } from "@lichen/wire";
import type { HarnessProcess, LaunchRequest, ProcessEnding, ProcessHost } from "../process.ts";
import { begin, closedWithin, notBegun } from "./begin.ts";
import { endGroup, type GroupIdentity } from "./end-group.ts";
import { Lines } from "./lines.ts";
import { bootId, harnessMark, processInfo } from "./processes.ts";

const launcher = ["sh", "-c", 'read -r _ && exec "$@"', "sh"];
const keptStderr = 64 * 1024;
/** How long the pipes of a process that is gone are read on: what it wrote last is in them by then. */
const lastWordsMs = 500;
const reportedNoise = 3;
const readAhead = 4 * 1024 * 1024;
const longestRestMs = 5_000;

export const processHost: ProcessHost = { launch, endGroup };

async function launch(request: LaunchRequest): Promise<HarnessProcess> {
  const launched = await launcherOf(request);
  try {
    await launched.begin();
    return launched;
  } catch (error) {
    await launched.kill();
    throw error;
  }
}

async function launcherOf(request: LaunchRequest): Promise<LaunchedProcess> {
  const argv = [...launcher, ...request.argv];
  const [name = ""] = request.argv;
  let walled: ReturnType<NonNullable<LaunchRequest["wall"]>> | undefined;
  try {
    walled = request.wall?.(argv);
    const [file = "", ...rest] = walled?.argv ?? argv;
    const child = await begin(name, () =>
      spawn(file, rest, {
        cwd: request.dir,
        env: { ...request.env, [harnessMark]: request.mark },
        detached: true,
        stdio: "pipe",
      }),
    );
    return new LaunchedProcess(child, request, () => walled?.release());
  } catch (error) {
    walled?.release();
    throw notBegun(name, error);
  }
}

class LaunchedProcess implements HarnessProcess {
  group: GroupIdentity = { group: 1, startedAt: "", boot: "" };
  readonly ended: Promise<ProcessEnding>;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #request: LaunchRequest;
  readonly #lines: Lines;
  #stderr = Buffer.alloc(0);
  #stderrLine = "";
  #heard: ((line: string) => void)[] = [];
  #noise = 0;
  /** Bytes that were read since all before them was taken in. */
  #ahead = 0;
  #rests = false;
  #isOver = false;

  constructor(child: ChildProcessWithoutNullStreams, request: LaunchRequest, release: () => void) {
    this.#child = child;
    this.#request = request;
    this.#lines = new Lines({
      line: (value) => {
        try {
          request.line(value);
        } catch (error) {
          // A driver that fails at a line loses that one; what comes next is still read.
          request.report(error);
        }
      },
      noise: (text) => {
        if (++this.#noise <= reportedNoise)
          request.report(
            new Error(
              `${request.argv[0]} wrote a line of ${text.length} characters that is not JSON; it was left out.`,
            ),
          );
      },
      refused: (reason) => request.report(new Error(`${request.argv[0]}: ${reason}`)),
    });
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    child.stderr.on("data", (chunk: Buffer) => this.#hear(chunk));
    // A broken pipe is told by the end of the program.
    child.stdin.on("error", () => {});
    this.ended = this.#end().finally(release);
  }

  /** Learns who the launcher is, has that recorded, and lets it go. */
  async begin(): Promise<void> {
    const { pid = 0 } = this.#child;
    const [info, boot] = await Promise.all([processInfo(pid), bootId()]).catch((error: unknown) => {
      throw notBegun(this.#request.argv[0] ?? "", error);
    });
    if (!info) throw this.#refusal("it was gone before it began");
    this.group = { group: pid, startedAt: info.startedAt, boot };
    await this.#request.recorded(this.group);
    await this.#send("go\n");
  }

  write(line: Json): Promise<void> {
    return this.#send(`${JSON.stringify(line)}\n`);
  }

  closeInput(): void {
    this.#child.stdin.end();
  }

  async finish(patienceMs: number): Promise<void> {
    this.closeInput();
    const timer = setTimeout(() => void this.kill(), patienceMs);
    await this.ended;
    clearTimeout(timer);
  }

  async kill(): Promise<void> {
    if (this.#isAlive()) {
      // Where nothing carries a mark, what has left the group is known by who began it, as long as that lives.
      if (process.platform !== "linux") await this.#endGroup();
      if (this.#isAlive()) killGroup(this.#child.pid!);
    }
    await this.ended;
  }

  stderr(): string {
    return this.#stderr.toString("utf8");
  }

  onStderr(heard: (line: string) => void): void {
    this.#heard.push(heard);
  }

  #isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  #send(text: string): Promise<void> {
    const { stdin } = this.#child;
    if (!this.#isAlive() || !stdin.writable)
      return Promise.reject(this.#refusal("it listens no more"));
    return new Promise((resolve, reject) => {
      stdin.write(text, (error) => {
        if (error) reject(this.#refusal("it listens no more", error));
        else resolve();
      });
    });
  }

  #refusal(why: string, cause?: unknown): Fault {
    return new Fault("unavailable", `${this.#request.argv[0]} cannot be told anything: ${why}.`, {
      cause,
    });
  }

  #read(chunk: Buffer): void {
    this.#lines.push(chunk);
    this.#ahead += chunk.length;
    if (this.#ahead > readAhead && !this.#isOver && !this.#rests) void this.#rest();
  }

  /** Reads nothing until what was read is taken in. What that takes may itself wait for a line: never for long. */
  async #rest(): Promise<void> {
    const { stdout } = this.#child;
    this.#rests = true;
    stdout.pause();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, longestRestMs);
    const taken = this.#lines.handedOn().then(() => this.#request.taken?.());
    await Promise.race([taken, late.promise]).catch((error: unknown) =>
      this.#request.report(error),
    );
    clearTimeout(timer);
    this.#ahead = 0;
    this.#rests = false;
    stdout.resume();
  }

  async #end(): Promise<ProcessEnding> {
    const child = this.#child;
    const ending = await new Promise<ProcessEnding>((resolve) => {
      child.once("exit", (code, signal) => resolve({ code, signal }));
    });
    // All that is left is what its pipe holds.
    this.#isOver = true;
    child.stdout.resume();
    killGroup(child.pid!);
    await this.#endGroup();
    await closedWithin([child.stdout, child.stderr], lastWordsMs);
    child.stdout.destroy();
    child.stderr.destroy();
    child.stdin.destroy();
    await this.#lines.end();
    return ending;
  }

  async #endGroup(): Promise<void> {
    await endGroup(this.group, this.#request.mark).catch((error: unknown) =>
      this.#request.report(error),
    );
  }

  #hear(chunk: Buffer): void {
    this.#stderr = Buffer.concat([this.#stderr, chunk]).subarray(-keptStderr);
    const [first = "", ...more] = chunk.toString("utf8").split("\n");
    this.#stderrLine = (this.#stderrLine + first).slice(-keptStderr);
    for (const next of more) {
      const line = this.#stderrLine.trim();
      this.#stderrLine = next;
      if (line !== "") for (const heard of this.#heard) heard(line);
    }
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Nobody of the group is left.
  }
}
