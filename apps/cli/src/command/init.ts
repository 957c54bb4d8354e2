// `lichen init`: writes a small working agent folder from the template beside the sources.
//
// Nothing that exists is overwritten, and a failure takes back what this call wrote.

import { mkdir, readdir, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Fault } from "@lichen/wire";
import type { Input } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { commandName, quoted } from "../typed.ts";

const template = fileURLToPath(import.meta.resolve("../../template"));
const configName = /^lichen\.config\.(ts|js|mjs)$/;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const dir = resolve(input.argument("dir") ?? ".");
  await refuseAgent(dir);
  const { written, kept } = await write(dir);
  const shown = relative(process.cwd(), dir) || ".";
  terminal.answer(written.map((path) => `${join(shown, path)}\n`).join(""));
  for (const path of kept) terminal.say(`kept ${join(shown, path)}, which was there already`);
  const there = shown === "." ? "" : ` ${quoted(shown)}`;
  const place = shown === "." ? "this directory" : `"${shown}"`;
  const lichen = commandName();
  terminal.say(
    `\nAn agent is ready in ${place}. Next:\n` +
      `  ${lichen} start${there}\n` +
      `  ${lichen} invoke "Roll 2 dice"${there}      (in a second terminal, or without start)\n` +
      `For a real model put its key into the file "${join(shown, ".secrets", ".env")}", for example ANTHROPIC_API_KEY=…`,
  );
  return 0;
}

async function refuseAgent(dir: string): Promise<void> {
  let names: string[];
  try {
    names = await readdir(dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return;
    const reason =
      code === "ENOTDIR" ? `${await fileAt(dir)} is a file` : `${dir} cannot be read (${code})`;
    throw new Fault("invalid", `${reason}: name a directory to write the agent to.`, {
      cause: error,
    });
  }
  const config = names.find((name) => configName.test(name));
  if (config !== undefined) {
    throw new Fault(
      "conflict",
      `${dir} is an agent folder already (it has ${config}); nothing was written. ` +
        "Serve it with `lichen start`, or name another directory.",
    );
  }
}

async function isThere(path: string): Promise<boolean> {
  if (path === dirname(path)) return true;
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** The file that stands where a directory is needed. */
async function fileAt(dir: string): Promise<string> {
  const found = await stat(dir).catch(() => undefined);
  return found !== undefined || dir === dirname(dir) ? dir : fileAt(dirname(dir));
}

/** Copies the template; answers the paths it wrote and those it left alone. */
async function write(dir: string): Promise<{ written: string[]; kept: string[] }> {
  const written: string[] = [];
  const kept: string[] = [];
  const made: string[] = [];
  try {
    for (const source of await templateFiles()) {
      const path = source === "gitignore" ? ".gitignore" : source;
      const target = join(dir, path);
      await makeDirectories(dirname(target), made);
      try {
        await writeFile(target, await readFile(join(template, source)), { flag: "wx" });
        written.push(path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
        kept.push(path);
      }
    }
  } catch (error) {
    for (const path of written) await rm(join(dir, path), { force: true });
    // A directory that somebody else has used meanwhile is not empty, and stays.
    for (const path of made.toReversed()) await rmdir(path).catch(() => undefined);
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Fault(
      "invalid",
      `The agent cannot be written to ${dir} (${code ?? message}); what was begun is taken back. ` +
        "Check the directory's permissions and free space.",
      { cause: error },
    );
  }
  return { written, kept };
}

/** Files of the template by their paths, the config last: a folder is an agent only when it is complete. */
async function templateFiles(): Promise<string[]> {
  const found = await readdir(template, { recursive: true, withFileTypes: true });
  return found
    .filter((file) => file.isFile())
    .map((file) => relative(template, join(file.parentPath, file.name)))
    .toSorted(
      (a, b) => Number(configName.test(a)) - Number(configName.test(b)) || (a < b ? -1 : 1),
    );
}

async function makeDirectories(dir: string, made: string[]): Promise<void> {
  // One by one: Node's own way through all levels never ends where the system lets nobody make a folder (/proc).
  const missing: string[] = [];
  for (let path = dir; !(await isThere(path)); path = dirname(path)) missing.unshift(path);
  for (const path of missing) {
    await mkdir(path);
    made.push(path);
  }
}
