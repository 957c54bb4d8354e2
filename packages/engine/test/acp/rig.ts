// A host for tests of the ACP engine: the real runtime on a real SQLite file, and the agent of these tests in a process
// of its own.

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, type Engine, openOwner, type Owner, type Session } from "@lichen/runtime";
import { nodePlatform, openSql, type SqlFile } from "@lichen/runtime/node";
import type {
  Approval,
  Command,
  CommandOf,
  Entry,
  EntryData,
  Kind,
  Settlement,
} from "@lichen/wire";
import { type AcpEngine, createAcpEngine } from "../../src/host/node.ts";
import type { HarnessClock, HarnessOptions, HarnessSettings } from "../../src/harness/port.ts";
import { until } from "../../../runtime/test/clock.ts";

export interface RigOptions {
  /** Flags of the agent; another command of its own in place of the agent. */
  readonly flags?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Furnishes the folder; answers what the agent's environment has besides. */
  readonly furnish?: (folder: string) => Promise<Readonly<Record<string, string>>>;
  readonly settings?: Partial<HarnessSettings>;
  readonly clock?: HarnessClock;
  readonly wall?: HarnessOptions["wall"];
  /** The engine as the owner gets it. */
  readonly wrap?: (engine: AcpEngine) => Engine;
}

type Unkeyed = { [T in Command["type"]]: Omit<CommandOf<T>, "requestId"> }[Command["type"]];

export const agentProgram = join(import.meta.dirname, "agent.ts");

export class Rig {
  readonly folder: string;
  /** The agent's working directory. */
  readonly dir: string;
  /** Where the agent keeps what it was asked. */
  readonly state: string;
  readonly reported: unknown[] = [];
  flags: readonly string[];
  settings: HarnessSettings;
  engine!: AcpEngine;
  session!: Session;
  readonly #options: RigOptions;
  #store!: SqlFile;
  #owner!: Owner;
  #agent!: Agent;
  #env: Readonly<Record<string, string>> = {};
  #requests = 0;

  static async start(options: RigOptions = {}): Promise<Rig> {
    const folder = await mkdtemp(join(tmpdir(), "lichen-acp-"));
    const rig = new Rig(folder, options);
    await mkdir(rig.dir);
    await mkdir(rig.state);
    rig.#env = (await options.furnish?.(folder)) ?? {};
    await rig.open();
    return rig;
  }

  /** The host of a folder that another rig made. */
  static async at(folder: string, options: RigOptions = {}): Promise<Rig> {
    const rig = new Rig(folder, options);
    await rig.open();
    return rig;
  }

  private constructor(folder: string, options: RigOptions) {
    this.folder = folder;
    this.dir = join(folder, "dir");
    this.state = join(folder, "state");
    this.flags = options.flags ?? ["--load"];
    this.settings = { autoApprove: false, keepRunning: false, ...options.settings };
    this.#options = options;
  }

  async open(): Promise<void> {
    const { command, env, clock, wall, wrap = (engine) => engine } = this.#options;
    const platform = nodePlatform({ report: (error) => this.reported.push(error) });
    this.#store = await openSql(join(this.folder, "store.db"));
    this.engine = createAcpEngine({
      dir: this.dir,
      command: command ?? [process.execPath, agentProgram, this.state, ...this.flags],
      env: { PATH: process.env["PATH"] ?? "", HOME: this.folder, ...env, ...this.#env },
      settings: () => this.settings,
      clock: clock ?? { now: () => Date.now(), after: (ms, wake) => platform.after(ms, wake) },
      ...(wall ? { wall } : {}),
      report: (error) => this.reported.push(error),
    });
    this.#owner = openOwner({ sql: this.#store.sql, platform });
    this.#agent = await this.#owner.attach({ agent: "coder", engine: wrap(this.engine) });
    this.session = this.#agent.session("s");
  }

  /** From now on no entry of this kind can be written. */
  refuseWrites(kind: Kind): void {
    this.#store.sql.run(
      `create trigger refuse before insert on entry when new.kind = '${kind}' begin select raise(abort, 'no room'); end`,
    );
  }

  /** Stops the host as a drain does, leaving its runs. */
  async shut(): Promise<void> {
    await this.#owner.close({ patienceMs: 0 });
    await this.#store.close();
  }

  async reopen(): Promise<void> {
    await this.shut();
    await this.open();
  }

  async close(): Promise<void> {
    await this.shut();
    await rm(this.folder, { recursive: true, force: true });
  }

  async send(command: Unkeyed): Promise<string> {
    const requestId = `r${process.pid}-${++this.#requests}`;
    const receipt = await this.session.send({ ...command, requestId } as Command);
    return receipt.commandId ?? "";
  }

  /** Decides what is asked; answers how the answer was received. */
  async answer(
    approvalId: string,
    given: Omit<CommandOf<"answer">, "type" | "requestId" | "approvalId">,
  ): Promise<string> {
    const requestId = `r${process.pid}-${++this.#requests}`;
    const { status } = await this.session.send({ type: "answer", requestId, approvalId, ...given });
    return status;
  }

  begin(...lines: string[]): Promise<string> {
    return this.send({ type: "prompt", text: lines.join("\n") });
  }

  async settled(commandId: string): Promise<Settlement> {
    const wait = () => this.session.readSettlement(commandId, { timeoutMs: 30_000 });
    // Twice: real agents are slow to start on a busy machine.
    const settlement = (await wait()) ?? (await wait());
    if (!settlement) throw new Error(`${commandId} is not settled.`);
    return settlement;
  }

  async prompt(...lines: string[]): Promise<Settlement> {
    return this.settled(await this.begin(...lines));
  }

  async entries(): Promise<Entry[]> {
    return (await this.session.read({ limit: 200 })).entries;
  }

  async data<K extends Kind>(kind: K): Promise<EntryData[K][]> {
    return (await this.entries())
      .filter((entry) => entry.kind === kind)
      .map((entry) => entry.data as EntryData[K]);
  }

  /** The updates that stand in the log, by their kind. */
  async updates(): Promise<string[]> {
    return (await this.data("harness.line")).flatMap(({ line }) => {
      const params = member(line, "params");
      const update = member(params, "update");
      const kind = member(update, "sessionUpdate");
      return typeof kind === "string" ? [kind] : [];
    });
  }

  /** The first approval that waits for a person. */
  async asked(): Promise<Approval> {
    for await (const frame of this.session.watch()) {
      if (frame.type === "partial" || frame.type === "state") continue;
      const [approval] = (await this.session.read()).approvals;
      if (approval) return approval;
    }
    throw new Error("Nobody was asked.");
  }

  /** What the agent was asked and did, oldest first. */
  journal(): Record<string, unknown>[] {
    const file = join(this.state, "journal.jsonl");
    if (!existsSync(file)) return [];
    return readFileSync(file, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Settles once the agent wrote this into its journal, so many times. */
  async noted(key: string, times = 1): Promise<Record<string, unknown>> {
    const notes = () => this.journal().filter((fact) => key in fact);
    await until(() => notes().length >= times, `the agent notes ${key}`);
    return notes().at(-1)!;
  }

  /** The agent loses all it knows of its conversations. */
  forget(): void {
    for (const file of readdirSync(this.state))
      if (file.startsWith("s-")) rmSync(join(this.state, file));
  }

  /** Lets a move that waits go on. */
  release(name: string): void {
    writeFileSync(join(this.state, name), "");
  }
}

/** Settles once `text` was seen by a reader of the session. */
export async function untilShown(rig: Rig, text: string): Promise<void> {
  for await (const frame of rig.session.watch()) {
    const partial =
      frame.type === "partial"
        ? frame.data
        : "running" in frame.data
          ? frame.data.running?.partial
          : undefined;
    if (partial?.text?.includes(text)) return;
  }
  throw new Error(`"${text}" was never shown.`);
}

function member(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && name in value
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
