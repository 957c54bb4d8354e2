// `lichen chat` as tests use it: the real command in a real terminal, and how its screen is read.

import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bin, type Home } from "./process.ts";
import { Terminal } from "./terminal.ts";

/** The one of all homes: see `Home`. */
export const compileCache = join(tmpdir(), "lichen-cli-compile");

export interface ChatOptions {
  /** The session; a new one where it is left out. */
  readonly session?: string;
  readonly args?: readonly string[];
  readonly cols?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly above?: string;
}

export async function openChat(
  home: Home,
  dir: string,
  { session, args = [], env, ...rest }: ChatOptions = {},
): Promise<Terminal> {
  const named = session === undefined ? [] : ["--session", session];
  return Terminal.open({
    command: process.execPath,
    args: [bin, "chat", dir, ...named, ...args],
    cwd: home.dir,
    env: {
      HOME: home.dir,
      NODE_COMPILE_CACHE: compileCache,
      ...env,
    },
    ...rest,
  });
}

/** Types a message and sends it. */
export async function say(chat: Terminal, text: string): Promise<void> {
  await chat.type(text);
  await chat.press("Enter");
}

/** The lines of a screen above the editor: the conversation, and what stands below it. */
export function aboveEditor(lines: readonly string[]): readonly string[] {
  const border = lines.findIndex((line) => /^─{5,}/.test(line));
  return border < 0 ? lines : lines.slice(0, border);
}

/** Every line of the conversation: what a screen shows that is tall enough for all of it. */
export async function everyLine(chat: Terminal, cols: number = 80): Promise<readonly string[]> {
  await chat.resize(cols, 400);
  const lines = await chat.until(
    (all) => all.length === 400 && /^─{5,}/.test(all.at(-3) ?? ""),
    "a screen of 400 rows",
  );
  return aboveEditor(lines);
}

/** How many lines contain the text. */
export function timesSeen(lines: readonly string[], text: string): number {
  return lines.filter((line) => line.includes(text)).length;
}

/** Gives the agent folder's models.json, which a scripted provider wrote, other models of that provider. */
export async function setModels(
  dir: string,
  models: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const path = join(dir, "models.json");
  const config = JSON.parse(await readFile(path, "utf8")) as {
    providers: { scripted: { models: unknown } };
  };
  config.providers.scripted.models = models;
  await writeFile(path, JSON.stringify(config));
}
