// A machine over HTTP as a process of its own: the real door, store and driver of Claude Code, whose program is the
// scripted one.
//
//   serve-machine.ts FOLDER     its state is FOLDER/state, its home FOLDER/home

import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openMachine } from "@lichen/machine";
import { listenHost } from "@lichen/server/node";
import { answerParent } from "./child.ts";

const folder = process.argv[2]!;
const bin = join(folder, "bin");
const home = join(folder, "home");
for (const made of [bin, home]) mkdirSync(made, { recursive: true });
const program = join(bin, "claude");
const script = join(import.meta.dirname, "scripted-claude.ts");
writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`);
chmodSync(program, 0o755);

const report = (error: unknown): void => {
  throw error;
};
const machine = await openMachine({
  stateDir: join(folder, "state"),
  home,
  env: { PATH: [bin, "/usr/bin", "/bin"].join(":") },
  report,
});
const host = await listenHost({
  ...{ owner: machine.owner, stateDir: machine.stateDir, platform: machine.platform, port: 0 },
  log: ({ error }) => report(error),
  mounts: [machine.mount],
  close: (closing) => machine.close(closing),
});

/** The longest that the loop was at one thing, in processor time: what else the computer does is not in it. */
let longestTurn = 0;
let before = process.threadCpuUsage();
setInterval(() => {
  const { user, system } = process.threadCpuUsage(before);
  before = process.threadCpuUsage();
  longestTurn = Math.max(longestTurn, user + system);
}, 1);

answerParent({
  longestTurn: () => {
    const micros = longestTurn;
    longestTurn = 0;
    return micros;
  },
  address: () => [Number(new URL(host.url).port), host.token],
  close: () => host.drain({ graceMs: 0 }),
});
