// Runs one program to its end, and leaves nothing of it behind: on abort, on timeout, and when it ends by itself, all
// that it started is ended too (first asked, then killed). Input is closed, output is handed on as it comes.

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { type ProcessInfo, statOf } from "../../harness/host/processes.ts";

export interface Program {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** All of its environment; nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** How long it may tidy up after it was asked to end. */
  readonly graceMs?: number;
  output(chunk: Uint8Array): void;
}

export interface Ending {
  readonly exitCode: number | null;
  readonly killedBy: string | null;
  readonly why: "ended" | "timeout" | "aborted";
}

const drainMs = 500;
const goneMs = 2_000;
/** Marks the processes of a command, wherever they have gone to. */
const mark = "LICHEN_COMMAND";

export function runProgram(program: Program): Promise<Ending> {
  program.signal.throwIfAborted();
  const [file = "", ...argv] = program.argv;
  const { promise, resolve, reject } = Promise.withResolvers<Ending>();
  const id = randomUUID();
  const isWalled = file.endsWith("/bwrap");
  const child = spawn(file, argv, {
    cwd: program.cwd,
    env: isWalled ? program.environment : { ...program.environment, [mark]: id },
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let why: Ending["why"] = "ended";
  let family: ProcessInfo[] = [];
  let killing: NodeJS.Timeout | undefined;
  let closing: NodeJS.Timeout | undefined;
  const stop = (reason: "timeout" | "aborted") => {
    if (why !== "ended" || child.exitCode !== null || child.signalCode !== null) return;
    why = reason;
    family = familyOf(child);
    ask(child, family);
    killing = setTimeout(() => kill(child, family), program.graceMs ?? 2_000);
  };
  const timeout = setTimeout(() => stop("timeout"), program.timeoutMs);
  const aborted = () => stop("aborted");
  program.signal.addEventListener("abort", aborted, { once: true });
  child.stdout.on("data", (chunk: Buffer) => program.output(chunk));
  child.stderr.on("data", (chunk: Buffer) => program.output(chunk));
  child.on("exit", () => {
    kill(child, []);
    if (!isWalled) killMarked(id);
    // What left its group keeps the pipes open, and nobody waits for that.
    closing = setTimeout(() => {
      child.stdout.destroy();
      child.stderr.destroy();
    }, drainMs);
  });
  const finish = () => {
    clearTimeout(timeout);
    clearTimeout(killing);
    clearTimeout(closing);
    program.signal.removeEventListener("abort", aborted);
  };
  child.on("error", (error) => {
    finish();
    reject(error);
  });
  child.on("close", (exitCode, killedBy) => {
    finish();
    void areGone(family).then(() => resolve({ exitCode, killedBy, why }));
  });
  return promise;
}

/**
 * Asks all but bubblewrap itself to end: it would die at once and take the others with it unasked. The first process
 * inside its sandbox is one that only SIGKILL reaches from outside.
 */
function ask(child: ChildProcess, family: readonly ProcessInfo[]): void {
  const isSandboxed = child.spawnfile.endsWith("/bwrap");
  if (!isSandboxed && child.pid !== undefined) send(-child.pid, "SIGTERM");
  for (const { pid } of family) if (!isSandboxed || pid !== child.pid) send(pid, "SIGTERM");
}

function kill(child: ChildProcess, family: readonly ProcessInfo[]): void {
  if (child.pid !== undefined) send(-child.pid, "SIGKILL");
  for (const member of family)
    if (statOf(member.pid)?.startedAt === member.startedAt) send(member.pid, "SIGKILL");
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone already.
  }
}

/** The processes below it, also those that left its group. Only Linux tells; elsewhere the group has to do. */
function familyOf(child: ChildProcess): ProcessInfo[] {
  if (process.platform !== "linux") return [];
  const all = readdirSync("/proc").flatMap((name) => statOf(Number(name)) ?? []);
  const family = all.filter((member) => member.pid === child.pid);
  for (const { pid } of family) family.push(...all.filter((member) => member.parent === pid));
  return family;
}

/** Kills what left the group and the family before its command ended. It may be starting others, so looks again. */
function killMarked(id: string): void {
  if (process.platform !== "linux") return;
  for (let round = 0; round < 10; round++) {
    const marked = readdirSync("/proc").filter((name) => isMarked(name, id));
    if (marked.length === 0) return;
    for (const name of marked) send(Number(name), "SIGKILL");
  }
}

function isMarked(name: string, id: string): boolean {
  if (!/^\d+$/.test(name)) return false;
  try {
    return readFileSync(`/proc/${name}/environ`, "latin1").includes(`${mark}=${id}`);
  } catch {
    // Another user's, or gone.
    return false;
  }
}

/**
 * Waits until nothing of a killed command runs. (The first process of a sandbox is gone only after all others in it
 * are.)
 */
async function areGone(family: readonly ProcessInfo[]): Promise<void> {
  const end = performance.now() + goneMs;
  while (family.some(isRunning) && performance.now() < end)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

function isRunning({ pid, startedAt }: ProcessInfo): boolean {
  const now = statOf(pid);
  return now?.startedAt === startedAt && !now.isDead;
}
