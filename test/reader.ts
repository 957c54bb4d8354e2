// Somebody who follows a page of the documentation, with a computer of their own.
//
//   ```sh          lines to type; `sh keep` is a terminal of its own that stays open (a host, a server); `sh screen` is
//                  a line that takes over a terminal; `sh elsewhere` is typed on another computer. A word with … in it
//                  is copied from what was printed before
//   ```text        what the lines before it print; … stands for anything
//   ```text typed  what is typed on that terminal, each line with enter; `text keys` are keys, one a line
//   ```text screen what it shows then
//   ```<x> <path>  a file to write, for every other language with a path behind it

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { Terminal } from "../apps/cli/test/terminal.ts";

const repository = fileURLToPath(import.meta.resolve(".."));

export interface Page {
  /** From the repository. */
  readonly path: string;
  readonly steps: readonly Step[];
  /** Whether following it takes a terminal. */
  readonly hasScreen: boolean;
}

/** The README and every guide. */
export async function pages(): Promise<Page[]> {
  const guides = await readdir(join(repository, "docs/guides"));
  const paths = ["README.md", ...guides.map((name) => `docs/guides/${name}`)];
  return Promise.all(
    paths.map(async (path) => {
      const page = await readFile(join(repository, path), "utf8");
      // The port a guide uses may be taken here.
      const steps = stepsOf(page.replaceAll("7411", String(await freePort())));
      return { path, steps, hasScreen: steps.some(({ kind }) => kind === "open") };
    }),
  );
}

/** Does what a page says, in order. */
export async function follow({ path, steps }: Page): Promise<void> {
  await using reader = await Reader.sitDown(path === "README.md" ? repository : undefined);
  expect(steps.filter(({ kind }) => kind === "type")).not.toEqual([]);
  for (const step of steps) await reader.follow(step);
}

type Step =
  | {
      readonly kind: "type" | "elsewhere" | "keep" | "expect" | "open" | "enter" | "press" | "see";
      readonly text: string;
    }
  | { readonly kind: "write"; readonly path: string; readonly text: string };

const kinds: Readonly<Record<string, Exclude<Step["kind"], "write">>> = {
  sh: "type",
  "sh elsewhere": "elsewhere",
  "sh keep": "keep",
  "sh screen": "open",
  text: "expect",
  "text typed": "enter",
  "text keys": "press",
  "text screen": "see",
};

function stepsOf(page: string): Step[] {
  return Array.from(page.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms), (found): Step => {
    const [, language = "", path, text = ""] = found;
    const kind = kinds[path === undefined ? language : `${language} ${path}`];
    if (kind !== undefined) return { kind, text };
    if (path === undefined) throw new Error(`a snippet of ${language} that nothing runs:\n${text}`);
    return { kind: "write", path, text };
  });
}

interface Shell {
  readonly process: ChildProcessByStdio<null, Readable, null>;
  readonly ended: Promise<void>;
}

/** Lines whose work was done to get here: without them this test would not run. */
const done = /^(git clone .*|cd lichen|npm ci|npm test)$/;

/** Somebody who follows a page, with a computer of their own. */
class Reader implements AsyncDisposable {
  readonly #home: string;
  readonly #open: Shell[] = [];
  #terminal: Terminal | undefined;
  #where: string;
  #printed = "";
  /** All that was printed so far, which words are copied from. */
  #seen = "";

  private constructor(home: string, where: string) {
    this.#home = home;
    this.#where = where;
  }

  static async sitDown(where?: string): Promise<Reader> {
    const home = await mkdtemp(join(tmpdir(), "lichen-guide-"));
    // What `npm install <clone>` makes.
    await mkdir(join(home, "node_modules"));
    await symlink(repository, join(home, "node_modules", "lichen"));
    return new Reader(home, where ?? home);
  }

  async follow(step: Step): Promise<void> {
    switch (step.kind) {
      case "write": {
        const path = join(this.#where, step.path);
        await mkdir(dirname(path), { recursive: true });
        return writeFile(path, step.text);
      }
      case "type":
        this.#see(await this.#type(linesOf(step.text).join("\n")));
        return;
      case "elsewhere":
        this.#see(await this.#typeElsewhere(step.text));
        return;
      case "keep":
        this.#see(await this.#keep(linesOf(step.text).join("\n")));
        return;
      case "expect":
        return expect(this.#printed).toMatch(wanted(step.text));
      case "open":
        await this.#terminal?.[Symbol.asyncDispose]();
        this.#terminal = await Terminal.open({
          command: "bash",
          args: ["-c", step.text],
          cwd: this.#where,
          env: { PATH: this.#path(), HOME: this.#home },
        });
        return;
      case "enter":
        for (const line of step.text.trimEnd().split("\n")) {
          await this.#screen().type(line);
          await this.#screen().press("Enter");
        }
        return;
      case "press":
        for (const key of step.text.trim().split("\n")) await this.#press(tmuxKey(key));
        return;
      case "see": {
        const pattern = wanted(step.text);
        await this.#screen().until((lines) => pattern.test(lines.join("\n")), step.text);
      }
    }
  }

  /**
   * A key that follows an escape at once would be another key, so its effect is waited for: that the line which says
   * what escape does is gone. Any other change of the screen may have another reason (the foot's numbers).
   */
  async #press(key: string): Promise<void> {
    const terminal = this.#screen();
    const hint = (await terminal.screen()).find((line) => /\besc\b/.test(line));
    await terminal.press(key);
    if (key !== "Escape") return;
    if (hint === undefined)
      throw new Error("a page presses escape where no line says what it does");
    await terminal.until((lines) => !lines.includes(hint), `an end of "${hint.trim()}"`);
  }

  #screen(): Terminal {
    if (this.#terminal) return this.#terminal;
    throw new Error("a page that types before it opens a terminal with `sh screen`");
  }

  #path(): string {
    return `${repository}/node_modules/.bin:${process.env["PATH"] ?? ""}`;
  }

  #see(printed: string): void {
    this.#printed = printed;
    this.#seen += printed;
  }

  /** A computer of its own, as far as programs can tell: another home. */
  async #typeElsewhere(text: string): Promise<string> {
    const home = join(this.#home, "elsewhere");
    await mkdir(home, { recursive: true });
    const { process: shell, ended } = this.#shell(copied(text, this.#seen), home);
    let printed = "";
    shell.stdout.setEncoding("utf8").on("data", (more: string) => (printed += more));
    await ended;
    expect({ code: shell.exitCode, text, printed }).toMatchObject({ code: 0 });
    return printed;
  }

  async #type(given: string): Promise<string> {
    const script = copied(given, this.#seen);
    const where = join(this.#home, ".where");
    const { process: shell, ended } = this.#shell(`${script}\npwd > "${where}"`);
    let printed = "";
    shell.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text));
    await ended;
    expect({ code: shell.exitCode, script, printed }).toMatchObject({ code: 0 });
    this.#where = (await readFile(where, "utf8")).trim();
    return printed;
  }

  /** Settles when the program says where it listens. */
  async #keep(script: string): Promise<string> {
    // What stays open ends with this process, however that ends.
    const guard = `(while kill -0 ${process.pid}; do sleep 1; done; kill 0) >/dev/null 2>&1 &`;
    const { process: shell, ended } = this.#shell(`${guard}\n${script}`);
    let printed = "";
    const listening = new Promise<void>((resolve) => {
      shell.stdout.setEncoding("utf8").on("data", (text: string) => {
        printed += text;
        if (/http:\/\/\S+\d[^]*\n/.test(printed)) resolve();
      });
    });
    const early = ended.then(() => {
      throw new Error(`"${script}" ended before it listened:\n${printed}`);
    });
    await Promise.race([listening, early]);
    early.catch(() => undefined);
    return printed;
  }

  #shell(script: string, home?: string): Shell {
    const child = spawn("bash", ["-e", "-c", `exec 2>&1\n${script}`], {
      cwd: home ?? this.#where,
      env: { PATH: this.#path(), HOME: home ?? this.#home },
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const ended = new Promise<void>((resolve) => void child.once("close", () => resolve()));
    const opened = { process: child, ended };
    this.#open.push(opened);
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#terminal?.[Symbol.asyncDispose]();
    for (const { process: shell, ended } of this.#open) {
      if (shell.exitCode === null && shell.signalCode === null && shell.pid !== undefined) {
        process.kill(-shell.pid, "SIGTERM");
      }
      await ended;
    }
    // A program that a terminal was taken from may still be on its way out.
    await rm(this.#home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return port;
}

function linesOf(text: string): string[] {
  return text
    .split("\n")
    .flatMap((line) => line.split(" && "))
    .filter((line) => !done.test(line.trim()));
}

/** The script with each word that has … in it as it was printed last. */
function copied(script: string, seen: string): string {
  return script.replaceAll(/[^\s"'`=]*…[^\s"'`]*/g, (word) => {
    const pattern = new RegExp(word.split("…").map(escape).join("[^\\s\"'`]+"), "g");
    const found = seen.match(pattern)?.at(-1);
    if (found === undefined) throw new Error(`a page copies ${word}, which nothing printed`);
    return found;
  });
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** What is to be seen: … stands for anything. */
function wanted(text: string): RegExp {
  return new RegExp(text.trimEnd().split("…").map(escape).join("[^]*?"));
}

/** `ctrl+o`, `alt+enter`, `escape` by tmux's names. */
function tmuxKey(key: string): string {
  const [name = "", ...modifiers] = key.split("+").toReversed();
  const names: Readonly<Record<string, string>> = { "page up": "PageUp", "page down": "PageDown" };
  const base =
    names[name] ?? (name.length > 1 ? name.charAt(0).toUpperCase() + name.slice(1) : name);
  if (key === "shift+tab") return "BTab";
  const short: Readonly<Record<string, string>> = { ctrl: "C-", alt: "M-", shift: "S-" };
  return modifiers.map((modifier) => short[modifier] ?? "").join("") + base;
}
