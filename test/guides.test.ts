// Runs what the README and the guides tell a reader to do, as a reader would: files are written, lines are typed in
// order, and what a guide shows as output has to come.
//
//   ```sh          lines to type; `sh keep` is a terminal of its own that stays open (a host, a server)
//   ```text        what the lines before it print; … stands for anything
//   ```<x> <path>  a file to write, for every other language with a path behind it

import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const repository = fileURLToPath(import.meta.resolve(".."));
const guides = await readdir(join(repository, "docs/guides"));
const pages = ["README.md", ...guides.map((name) => `docs/guides/${name}`)];

test.for(pages)(
  "[K21] every snippet of %s runs and prints what the page says",
  { timeout: 120_000 },
  async (path) => {
    await using reader = await Reader.sitDown(path === "README.md" ? repository : undefined);
    const page = await readFile(join(repository, path), "utf8");
    // The port a guide uses may be taken here.
    const steps = stepsOf(page.replaceAll("7411", String(await freePort())));
    expect(steps.filter(({ kind }) => kind === "type")).not.toEqual([]);
    for (const step of steps) await reader.follow(step);
  },
);

type Step =
  | { readonly kind: "type" | "keep" | "expect"; readonly text: string }
  | { readonly kind: "write"; readonly path: string; readonly text: string };

function stepsOf(page: string): Step[] {
  return Array.from(page.matchAll(/^```(\w+)(?: (\S+))?\n(.*?)^```$/gms), (found): Step => {
    const [, language = "", path, text = ""] = found;
    if (language === "sh") return { kind: path === "keep" ? "keep" : "type", text };
    if (language === "text") return { kind: "expect", text };
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
  #where: string;
  #printed = "";

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
        this.#printed = await this.#type(linesOf(step.text).join("\n"));
        return;
      case "keep":
        this.#printed = await this.#keep(linesOf(step.text).join("\n"));
        return;
      case "expect": {
        const wanted = step.text.trimEnd().split("…").map(escape).join("[^]*?");
        expect(this.#printed).toMatch(new RegExp(wanted));
      }
    }
  }

  async #type(script: string): Promise<string> {
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

  #shell(script: string): Shell {
    const child = spawn(
      "bash",
      ["-e", "-c", `exec 2>&1\nPATH="${repository}/node_modules/.bin:$PATH"\n${script}`],
      {
        cwd: this.#where,
        env: { PATH: process.env["PATH"] ?? "", HOME: this.#home },
        detached: true,
        stdio: ["ignore", "pipe", "ignore"],
      },
    );
    const ended = new Promise<void>((resolve) => void child.once("close", () => resolve()));
    const opened = { process: child, ended };
    this.#open.push(opened);
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { process: shell, ended } of this.#open) {
      if (shell.exitCode === null && shell.signalCode === null && shell.pid !== undefined) {
        process.kill(-shell.pid, "SIGTERM");
      }
      await ended;
    }
    await rm(this.#home, { recursive: true, force: true });
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

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
