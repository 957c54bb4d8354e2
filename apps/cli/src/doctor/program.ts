// The programs that Lichen runs under and beside: Node, bubblewrap, git; and the terminal it writes to.

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { release } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { openSandbox } from "@lichen/engine/node";
import { type Check, fail, note, ok } from "./check.ts";

const run = promisify(execFile);
const patienceMs = 10_000;

export async function checkNode(): Promise<Check[]> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const isNew = major > 24 || (major === 24 && minor >= 12);
  const own = fileURLToPath(import.meta.resolve("../../../../node_modules/.bin/node"));
  const version = existsSync(own) ? await outcomeOf(own, ["--version"]) : undefined;
  const text = `Node ${process.versions.node} (${process.execPath}) on ${process.platform} ${release()}`;
  return [
    isNew
      ? ok("node", text)
      : fail("node", text, "Lichen needs Node 24.12 or newer (`nvm install 24`)"),
    version === undefined
      ? note(
          "own node",
          "this copy of Lichen has no Node of its own",
          "`npm ci` in it installs one",
        )
      : version.isDone
        ? ok("own node", `Node ${version.said.replace(/^v/, "")} comes with this copy of Lichen`)
        : fail("own node", `${own} does not start (${version.said})`, "`npm ci` installs it anew"),
  ];
}

/** Whether a wall can stand around what an agent's tools start; found by running one. */
export async function checkSandbox(): Promise<Check> {
  const sandbox = await openSandbox({ mode: "auto", mask: [], cwd: process.cwd() });
  if (sandbox.kind === "bubblewrap")
    return ok("sandbox", "bubblewrap works: agents' commands run behind a wall");
  return note(
    "sandbox",
    `no wall can stand around agents' commands: ${sandbox.reason ?? "bubblewrap does not work"} ` +
      "Their file tools still refuse the state and its secrets, which hinders a program of the same user and does not stop it",
  );
}

export async function checkGit(): Promise<Check> {
  const git = await outcomeOf("git", ["--version"]);
  return git.isDone
    ? ok("git", git.said)
    : note("git", "git was not found", "install it where an agent is to work on code");
}

/** Undefined where nobody watches. */
export function checkScreen(): Check | undefined {
  const screen = [process.stdout, process.stderr].find((stream) => stream.isTTY);
  if (screen === undefined) return undefined;
  const { TERM = "", LC_ALL, LC_CTYPE, LANG } = process.env;
  const locale = LC_ALL || LC_CTYPE || LANG || "";
  const isUnicode = /utf-?8/i.test(locale) || process.platform === "darwin";
  const colors = screen.hasColors() ? `${2 ** screen.getColorDepth()} colours` : "no colours";
  const size = screen.columns > 0 ? `${screen.columns} × ${screen.rows}` : "of unknown size";
  const text = `${size}, ${colors}, ${isUnicode ? "Unicode" : "no Unicode"} (${TERM || "no TERM"})`;
  if (TERM === "" || TERM === "dumb")
    return note("terminal", text, "set TERM to what your terminal is, such as xterm-256color");
  if (!isUnicode) return note("terminal", text, "set LANG to a locale of UTF-8, such as C.UTF-8");
  if (screen.columns > 0 && screen.columns < 60)
    return note("terminal", text, "make it wider: 60 columns or more");
  return ok("terminal", text);
}

async function outcomeOf(
  program: string,
  args: readonly string[],
): Promise<{ isDone: boolean; said: string }> {
  try {
    const { stdout } = await run(program, args, { timeout: patienceMs, killSignal: "SIGKILL" });
    return { isDone: true, said: stdout.trim() };
  } catch (error) {
    return { isDone: false, said: error instanceof Error ? error.message : String(error) };
  }
}
