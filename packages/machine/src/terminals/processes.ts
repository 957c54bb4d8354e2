// The processes of this computer, as Linux tells them under /proc: those of coding agents that a person runs by hand.
// Elsewhere there are none to be found.

import { readdir, readFile, readlink, stat } from "node:fs/promises";
import { basename } from "node:path";

export interface HandRun {
  readonly pid: number;
  readonly harness: "claude" | "pi";
  readonly args: readonly string[];
  /** Where it works. */
  readonly dir: string;
  /** When it began, in ticks since the computer did: with the number, which process it is. */
  readonly start: string;
  /** It, and the processes that began it, nearest first. */
  readonly line: readonly number[];
}

/** Words by which a harness is run by a program. */
const driven: ReadonlySet<string> = new Set(["-p", "--print", "stream-json", "rpc"]);
const drivenPi = /^(--mode(=(rpc|json))?|--print=.*)$/;
const interpreters = /^(node|nodejs|bun)$/;
const longestLine = 64;

export async function handRuns(): Promise<HandRun[]> {
  const uid = process.getuid?.();
  const names = await readdir("/proc").catch(() => []);
  const pids = names.filter((name) => /^\d+$/.test(name)).map(Number);
  const runs = await Promise.all(pids.map((pid) => handRun(pid, uid)));
  return runs.flatMap((run) => run ?? []).sort((a, b) => a.pid - b.pid);
}

/** When the process began; undefined where it is gone. */
export async function startOf(pid: number): Promise<string | undefined> {
  return (await statOf(pid))?.start;
}

async function handRun(pid: number, uid: number | undefined): Promise<HandRun | undefined> {
  const owner = await stat(`/proc/${pid}`).catch(() => undefined);
  if (!owner || owner.uid !== uid || pid === process.pid) return undefined;
  const before = await statOf(pid);
  const harness = harnessOf(await wordsOf(pid, "cmdline"));
  if (!before || before.state === "Z" || !harness) return undefined;
  // What this machine, or another one, drives: its processes are told their session.
  const env = await wordsOf(pid, "environ");
  if (env.some((it) => it.startsWith("LICHEN_SESSION="))) return undefined;
  const dir = await readlink(`/proc/${pid}/cwd`).catch(() => undefined);
  const line = await lineOf(pid);
  const after = await startOf(pid);
  if (dir === undefined || after !== before.start) return undefined;
  return { pid, ...harness, dir, start: before.start, line };
}

function harnessOf(
  words: readonly string[],
): { readonly harness: "claude" | "pi"; readonly args: readonly string[] } | undefined {
  const at = interpreters.test(basename(words[0] ?? "")) ? 1 : 0;
  const args = words.slice(at);
  const name = basename(args[0] ?? "");
  if (name !== "claude" && name !== "pi") return undefined;
  if (args.some((it) => driven.has(it))) return undefined;
  if (name === "pi" && args.some((it) => drivenPi.test(it))) return undefined;
  return { harness: name, args };
}

async function lineOf(pid: number): Promise<number[]> {
  const line: number[] = [];
  for (let at = pid; at > 1 && line.length < longestLine;) {
    line.push(at);
    at = (await statOf(at))?.parent ?? 0;
  }
  return line;
}

async function wordsOf(pid: number, what: "cmdline" | "environ"): Promise<string[]> {
  const text = await readFile(`/proc/${pid}/${what}`, "utf8").catch(() => "");
  // A program that writes its title over its words, as pi does, leaves nothing but ends of words behind it.
  return text.replace(/\0+$/, "").split("\0");
}

async function statOf(
  pid: number,
): Promise<
  { readonly state: string; readonly parent: number; readonly start: string } | undefined
> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  // The program's name stands in brackets and may hold anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state = "", parent = "0"] = fields;
  return { state, parent: Number(parent), start: fields[19] ?? "" };
}
