// Figure 8, the terminal screen: how long somebody who types `lichen chat` waits for a screen that takes keys, and for
// the conversation on it, short or long, of a host that runs.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@lichen/client";
import type { BenchContext, Figure, Reading } from "./figure.ts";
import { interleaved } from "./statistics.ts";

const root = join(import.meta.dirname, "..");
const bin = join(root, "apps/cli/bin/lichen.mjs");
const agent = join(root, "examples/hello");

export const chatFigure: Figure = {
  number: 8,
  title: "The terminal screen's first paint",
  measure,
};

async function measure(context: BenchContext): Promise<readonly Reading[]> {
  const rounds = context.isQuick ? 3 : 15;
  const env = {
    HOME: context.folder,
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    TERM: "xterm-256color",
    LICHEN_MODEL: "demo",
  };
  const state = join(context.folder, "state");
  const lines = context.isQuick ? 500 : 10_000;
  const host = await startHost(context, state, env);
  context.note(`${lines} entries into a session`);
  await fill(host, lines);

  const chat = ["chat", agent, "--state", state];
  const empty = () => until(["-e", "console.log('up')"], env, "up");
  const painted = await interleaved(rounds, () => until([bin, ...chat], env, "────"), empty);
  const open = (session: string, shows: string) => () =>
    until([bin, ...chat, "--session", session], env, shows);
  const opened = await interleaved(rounds, open("long", `line ${lines}`), open("short", "line 1"));
  return [
    {
      what: "the first paint of `lichen chat`, against a first line of bare Node",
      measured: painted.ratio,
      bound: "at most",
      target: 5,
      unit: "x",
      detail: { paintMs: painted.first, bareMs: painted.second },
    },
    {
      what: `the newest line of ${lines} on the screen, against the only line of a session`,
      measured: opened.ratio,
      bound: "at most",
      target: 1.25,
      unit: "x",
      detail: { longMs: opened.first, shortMs: opened.second },
    },
  ];
}

interface Listening {
  readonly url: string;
  readonly token: string;
}

async function startHost(
  context: BenchContext,
  state: string,
  env: NodeJS.ProcessEnv,
): Promise<Listening> {
  const args = [bin, "start", agent, "--port", "0", "--json", "--state", state];
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "ignore"] });
  const exited = once(child, "exit");
  context.ends.push(async () => {
    child.kill("SIGTERM");
    await exited;
  });
  child.stdout.setEncoding("utf8");
  let said = "";
  for await (const text of child.stdout) {
    said += text;
    if (said.includes("\n")) return JSON.parse(said.slice(0, said.indexOf("\n"))) as Listening;
  }
  throw new Error("lichen start ended before it listened.");
}

/** One session of this many lines, and one of a single line. */
async function fill(host: Listening, lines: number): Promise<void> {
  const client = createClient(host);
  const [info] = await client.agents();
  if (info === undefined) throw new Error("The host has no agent.");
  const say = (session: string, at: number) =>
    client
      .agent(info.agent)
      .session(session)
      .send({ type: "line", requestId: `line-${at}`, text: `line ${at}` });
  await say("short", 1);
  for (let at = 1; at <= lines; at++) await say("long", at);
}

/** Milliseconds from the start of a program in a terminal until it has written this. */
async function until(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  text: string,
): Promise<number> {
  const home = env["HOME"] ?? "";
  const line = [process.execPath, ...args].map((word) => `'${word}'`).join(" ");
  const began = performance.now();
  // `script` gives a program a terminal of its own.
  const child = spawn("script", ["-qfec", `stty cols 80 rows 24; exec ${line}`, "/dev/null"], {
    env,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  child.stdout.setEncoding("utf8");
  let written = "";
  let ms: number | undefined;
  for await (const chunk of child.stdout) {
    written += chunk;
    if (ms !== undefined || !written.includes(text)) continue;
    ms = performance.now() - began;
    // ctrl+d leaves.
    child.stdin.end("\u0004");
  }
  await exited;
  // What was read is no part of the next measurement.
  rmSync(join(home, ".local/share/lichen/chat"), { recursive: true, force: true });
  if (ms === undefined) throw new Error(`The screen never showed "${text}":\n${written}`);
  return ms;
}
