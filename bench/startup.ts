// Figure 5, start-up: what starting costs, against an empty Node process, and what a started server holds.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { interleaved } from "./statistics.ts";

const root = join(import.meta.dirname, "..");
const bin = join(root, "apps/cli/bin/lichen.mjs");

export const startupFigure: Figure = {
  number: 5,
  title: "Start-up, and a started server",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const rounds = context.isQuick ? 3 : 15;
  // An empty home: no settings and no credentials of whoever runs this.
  const env = { HOME: context.folder, PATH: "/usr/bin:/bin" };
  const start = ["start", join(root, "examples/hello"), "--port", "0", "--json"];
  const state = ["--state", join(context.folder, "state"), "--model", "demo"];

  const empty = () => toExit(["-e", "0"], env);
  const help = await interleaved(rounds, () => toExit([bin, "--help"], env), empty);
  let residentBytes = 0;
  const listening = await interleaved(
    rounds,
    async () => {
      const started = await toListening([bin, ...start, ...state], env);
      residentBytes = started.residentBytes;
      return started.ms;
    },
    empty,
  );
  return [
    {
      what: "`lichen --help` against `node -e 0`",
      measured: help.ratio,
      bound: "at most",
      target: 1.6,
      unit: "x",
      detail: { helpMs: help.first, emptyMs: help.second },
    },
    {
      what: "`lichen start` until it listens, against `node -e 0`",
      measured: listening.ratio,
      bound: "at most",
      target: 6,
      unit: "x",
      detail: { listeningMs: listening.first, emptyMs: listening.second },
    },
    {
      what: "resident memory of a started server",
      measured: residentBytes / 1e6,
      bound: "at most",
      target: 120,
      unit: "MB",
      detail: { residentBytes },
    },
  ];
}

async function toExit(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`node ${args.join(" ")} ended with ${code}.`);
  return performance.now() - began;
}

/** Until the first line on stdout, which says where it listens. */
async function toListening(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ ms: number; residentBytes: number }> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  const line = once(createInterface({ input: child.stdout }), "line");
  const ended = exited.then(([code]) => {
    throw new Error(`lichen start ended with ${code} before it listened: ${said}`);
  });
  try {
    await Promise.race([line, ended]);
    const ms = performance.now() - began;
    return { ms, residentBytes: residentOf(child.pid!) };
  } finally {
    ended.catch(() => {});
    child.kill("SIGTERM");
    await exited;
  }
}

/** As Linux tells it; elsewhere unknown. */
function residentOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN) * 1_024;
}
