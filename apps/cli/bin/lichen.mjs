#!/usr/bin/env node
// The launcher: finds a Node that can run Lichen, turns the compile cache on, and hands over to src/main.ts.
//
// It is plain JavaScript that an old Node can still read, because it is what tells people that theirs is too old.
// A clone carries its own Node (a dev dependency); with an older one as `node`, the launcher starts itself again there.

import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import module from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const needed = [24, 12];
const [major, minor] = process.versions.node.split(".").map(Number);

if (major > needed[0] || (major === needed[0] && minor >= needed[1])) await run();
else startAgain();

async function run() {
  try {
    // Hosts keep both places from their agents: what lies there is run as it is.
    const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
    module.enableCompileCache(process.env.NODE_COMPILE_CACHE || join(cache, "lichen", "compile"));
  } catch {
    // A home that cannot be found costs start-up time, nothing else.
  }
  // A dependency asks for these packages and runs what it finds in any node_modules above the installation.
  process.env.WS_NO_BUFFER_UTIL = "1";
  process.env.WS_NO_UTF_8_VALIDATE = "1";
  const { main } = await import("../src/main.ts");
  await main(process.argv.slice(2));
}

function startAgain() {
  const own = fileURLToPath(new URL("../../../node_modules/.bin/node", import.meta.url));
  if (!existsSync(own) || realpathSync(own) === realpathSync(process.execPath)) {
    process.stderr.write(
      `lichen: needs Node ${needed.join(".")} or newer; this is Node ${process.versions.node} (${process.execPath}).\n` +
        "Get it from https://nodejs.org or with a version manager (`nvm install 24`, `fnm install 24`, `mise use node@24`);\n" +
        "inside a clone of Lichen, `npm ci` installs the right one beside it.\n",
    );
    process.exitCode = 1;
    return;
  }
  // The channel tells the child when this process is killed, which nothing else would.
  const child = spawn(own, process.argv.slice(1), {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
  });
  // A terminal's Ctrl-C reaches the child by itself; passing it on as well would count twice.
  const hasTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  process.on("SIGINT", () => void (hasTerminal || child.kill("SIGINT")));
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  process.on("SIGHUP", () => child.kill("SIGHUP"));
  child.on("error", (error) => {
    process.stderr.write(`lichen: ${own} does not start: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
