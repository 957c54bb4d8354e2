// The service of this user that runs the machine: where its file lies, and the program that starts and stops it.

import { execFile } from "node:child_process";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Fault } from "@lichen/wire";
import { commandName } from "../typed.ts";
import { type Line, plistText, serviceLabel, unitName, unitText } from "./unit.ts";

const run = promisify(execFile);
const patienceMs = 30_000;

export interface Service {
  /** The file that says what is run. */
  readonly path: string;
  /** What the manager makes beside it to start the service. */
  readonly links: readonly string[];
  readonly text: (line: Line) => string;
  /** Makes the file count and starts the service, or starts it anew. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Makes it count that the file is gone. */
  forget(): Promise<void>;
  /** How it stands, in the manager's word, such as `active`. */
  state(): Promise<string>;
  /** What else a person has to know, such as that it ends with the last session. */
  advice(): Promise<readonly string[]>;
}

/** Refuses (`unavailable`) with what to do where this computer has no manager of services for a user. */
export function serviceHere(platform: NodeJS.Platform = process.platform): Service {
  if (platform === "darwin") return launchd();
  if (platform === "linux") return systemd();
  throw noManager(`on ${platform}`);
}

/** What the service runs: this very Lichen. `args` stand behind `up`. */
export function lineOf(args: readonly string[]): Line {
  const launcher = fileURLToPath(import.meta.resolve("../../bin/lichen.mjs"));
  return [process.execPath, launcher, "up", ...args];
}

function systemd(): Service {
  const config = process.env["XDG_CONFIG_HOME"];
  const base = config !== undefined && isAbsolute(config) ? config : join(homedir(), ".config");
  const path = resolve(base, "systemd", "user", unitName);
  const tell = (...args: string[]) => ask("systemctl", ["--user", ...args]);
  return {
    path,
    links: [join(dirname(path), "default.target.wants", unitName)],
    text: unitText,
    start: async () => {
      await tell("daemon-reload");
      await tell("enable", unitName);
      await tell("restart", unitName);
    },
    stop: async () => {
      await tell("disable", "--now", unitName);
    },
    forget: async () => {
      await tell("daemon-reload");
    },
    state: async () => (await answerOf("systemctl", ["--user", "is-active", unitName])).trim(),
    advice: async () => {
      const { USER = "" } = process.env;
      const said = await answerOf("loginctl", ["show-user", USER, "--property=Linger"]);
      return /Linger=yes/.test(said)
        ? []
        : [
            "It ends when you log out of this computer. To keep it and start it with the computer: loginctl enable-linger",
          ];
    },
  };
}

function launchd(): Service {
  const path = join(homedir(), "Library", "LaunchAgents", `${serviceLabel}.plist`);
  const log = join(homedir(), "Library", "Logs", "lichen.log");
  const domain = `gui/${process.getuid?.() ?? 0}`;
  const out = () => answerOf("launchctl", ["bootout", `${domain}/${serviceLabel}`]);
  return {
    path,
    links: [],
    text: (line) => plistText(line, log),
    start: async () => {
      await out();
      await ask("launchctl", ["bootstrap", domain, path]);
    },
    stop: async () => {
      await out();
    },
    forget: async () => {},
    state: async () => {
      const said = await answerOf("launchctl", ["print", `${domain}/${serviceLabel}`]);
      return /state = (\w+)/.exec(said)?.[1] ?? "inactive";
    },
    advice: async () => [],
  };
}

/** Writes the file and starts the service; answers whether it says something else than before. What fails leaves all as it was. */
export async function installService(service: Service, text: string): Promise<boolean> {
  const { path } = service;
  const before = await readService(path);
  if (before !== text) await writeService(path, text);
  try {
    await service.start();
  } catch (error) {
    if (before === undefined) await removeService(service);
    else if (before !== text) await writeService(path, before);
    throw error;
  }
  return before !== text;
}

async function writeService(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const fresh = `${path}.new`;
  await writeFile(fresh, text, { mode: 0o644 });
  await rename(fresh, path);
}

/** Undefined where there is none. */
export async function readService(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Takes away all that would start it again, whatever becomes of what runs. */
export async function removeService({ path, links }: Service): Promise<void> {
  for (const each of [path, ...links]) await rm(each, { force: true });
}

async function ask(program: string, args: readonly string[]): Promise<void> {
  try {
    await run(program, args, { timeout: patienceMs });
  } catch (error) {
    if (isMissing(error)) throw noManager(`(${program} was not found)`);
    const said = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : "";
    throw new Fault(
      "unavailable",
      `\`${program} ${args.join(" ")}\` failed: ${said === "" ? "it says nothing about it" : said}. ` +
        "Over ssh or sudo there may be no session of this user that services belong to: log in as this user (or with " +
        "`machinectl shell`), set XDG_RUNTIME_DIR=/run/user/$(id -u), and try again.",
      { retryable: false, cause: error },
    );
  }
}

/** What a program says, also where it ends with an error. */
async function answerOf(program: string, args: readonly string[]): Promise<string> {
  try {
    return (await run(program, args, { timeout: patienceMs })).stdout;
  } catch (error) {
    return error instanceof Error && "stdout" in error ? String(error.stdout) : "";
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function noManager(where: string): Fault {
  return new Fault(
    "unavailable",
    `There is no manager of services for a user here ${where}. Have what this computer starts at login run \`${commandName()} up\`, ` +
      "or keep that running in a terminal (tmux, screen).",
    { retryable: false },
  );
}
