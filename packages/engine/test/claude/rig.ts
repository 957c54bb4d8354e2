// A host for Claude Code's tests: the real program, the real runtime on a real SQLite file, and a scripted provider on
// loopback. Nothing of the computer's own Claude Code is seen: it has a home of its own and a made-up key.

import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Agent, openOwner, type Owner, type Session } from "@lichen/runtime";
import { nodePlatform, openSql, type SqlFile } from "@lichen/runtime/node";
import { scriptedEngine } from "@lichen/runtime/testing";
import type {
  Approval,
  Command,
  CommandOf,
  Entry,
  EntryData,
  Json,
  Kind,
  Settlement,
} from "@lichen/wire";
import { createClaudeEngine } from "../../src/claude/host/create.ts";
import type { ClaudeEngine } from "../../src/claude/engine.ts";
import type { HarnessClock, HarnessOptions, HarnessSettings } from "../../src/harness/port.ts";
import {
  type ScriptedProvider,
  type Script,
  startScriptedProvider,
} from "../../src/testing/index.ts";

export const claude = join(
  import.meta.dirname,
  "../../../../test/harnesses/node_modules/.bin/claude",
);
export const hasClaude = existsSync(claude);

export interface RigOptions {
  readonly script?: Script;
  readonly settings?: Partial<HarnessSettings>;
  readonly clock?: HarnessClock;
  readonly command?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Of an earlier rig, whose host was killed. */
  readonly folder?: string;
  readonly provider?: ScriptedProvider;
  /** Commands that run at once in the host. */
  readonly capacity?: number;
}

type Unkeyed = { [T in Command["type"]]: Omit<CommandOf<T>, "requestId"> }[Command["type"]];

export class Rig {
  readonly folder: string;
  readonly provider: ScriptedProvider;
  readonly reported: unknown[] = [];
  settings: HarnessSettings;
  engine!: ClaudeEngine;
  session!: Session;
  #agent!: Agent;
  #owner!: Owner;
  #store!: SqlFile;
  readonly #options: RigOptions;

  static async start(options: RigOptions = {}): Promise<Rig> {
    const folder = options.folder ?? (await mkdtemp(join(tmpdir(), "lichen-claude-")));
    const provider =
      options.provider ?? (await startScriptedProvider({ script: options.script ?? [] }));
    const rig = new Rig(folder, provider, options);
    await mkdir(rig.dir, { recursive: true });
    await rig.#open();
    return rig;
  }

  private constructor(folder: string, provider: ScriptedProvider, options: RigOptions) {
    this.folder = folder;
    this.provider = provider;
    this.#options = options;
    this.settings = { autoApprove: false, keepRunning: false, ...options.settings };
  }

  get dir(): string {
    return join(this.folder, "project");
  }

  async #open(): Promise<void> {
    this.#store = await openSql(join(this.folder, "store.db"));
    const platform = nodePlatform({ report: (error) => this.reported.push(error) });
    this.engine = createClaudeEngine({
      ...harnessOptions(this.folder, this.provider.url, this.#options.env),
      command: this.#options.command ?? [claude],
      settings: () => this.settings,
      clock: this.#options.clock ?? platform,
      report: (error) => this.reported.push(error),
    });
    const { capacity } = this.#options;
    this.#owner = openOwner({ sql: this.#store.sql, platform, ...(capacity ? { capacity } : {}) });
    this.#agent = await this.#owner.attach({ agent: "coder", engine: this.engine });
    this.session = this.#agent.session("s");
  }

  /** From now on no entry of this kind, with such data, can be written; answers what ends that. */
  refuse(kind: Kind, like = ""): () => void {
    const { sql } = this.#store;
    sql.run(
      `create trigger refusal before insert on entry when new.kind = '${kind}' and new.data like '%${like}%'
       begin select raise(abort, 'the disk is full'); end`,
    );
    return () => sql.run("drop trigger refusal");
  }

  /** A command of another agent takes a place in the host; answers what ends it. */
  async takePlace(): Promise<() => Promise<void>> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const engine = scriptedEngine([{ gate: promise }]);
    const session = (await this.#owner.attach({ agent: "other", engine })).session("o");
    const { commandId } = await session.send({ type: "prompt", text: "wait", requestId: "o" });
    return async () => {
      resolve();
      await session.readSettlement(commandId ?? "", { timeoutMs: 30_000 });
    };
  }

  #requests = 0;

  async send(command: Unkeyed): Promise<string> {
    const requestId = `r${process.pid}-${++this.#requests}-${Date.now()}`;
    const receipt = await this.session.send({ ...command, requestId } as Command);
    return receipt.commandId ?? "";
  }

  async settled(commandId: string): Promise<Settlement> {
    // One wait of a reader is bounded; a busy computer takes longer.
    for (let waits = 0; waits < 3; waits++) {
      const settlement = await this.session.readSettlement(commandId, { timeoutMs: 30_000 });
      if (settlement) return settlement;
    }
    const kinds = (await this.entries()).map(({ kind }) => kind).join(" ");
    throw new Error(`${commandId} is not settled: ${kinds}`);
  }

  async prompt(text: string): Promise<Settlement> {
    return this.settled(await this.send({ type: "prompt", text }));
  }

  async entries(): Promise<Entry[]> {
    const all: Entry[] = [];
    for (;;) {
      const before = all[0]?.seq;
      const page = await this.session.read({
        limit: 200,
        ...(before === undefined ? {} : { before }),
      });
      all.unshift(...page.entries);
      if (page.entries.length === 0 || (all[0]?.seq ?? 1) <= 1) return all;
    }
  }

  async data<K extends Kind>(kind: K): Promise<EntryData[K][]> {
    return (await this.entries())
      .filter((entry) => entry.kind === kind)
      .map((entry) => entry.data as EntryData[K]);
  }

  /** Types of the lines in the log, with their subtypes. */
  async lines(): Promise<string[]> {
    return (await this.data("harness.line")).map(({ line }) => typeOf(line));
  }

  /** Settles with the entry that the claim holds of, once there is one. */
  async untilEntry(holds: (entry: Entry) => boolean): Promise<Entry> {
    const seen = async () => (await this.entries()).find(holds);
    for await (const frame of this.session.watch()) {
      if (frame.type === "partial" || frame.type === "state") continue;
      const found = await seen();
      if (found) return found;
    }
    throw new Error("It never came.");
  }

  /** Settles once `text` is shown while it streams. */
  async untilShown(text: string): Promise<void> {
    for await (const frame of this.session.watch()) {
      const partial =
        frame.type === "partial"
          ? frame.data
          : "running" in frame.data
            ? frame.data.running?.partial
            : undefined;
      if (`${partial?.text ?? ""}${partial?.thinking ?? ""}`.includes(text)) return;
    }
  }

  /** The approval that waits, once there is one of this number (from 1). */
  async untilAsked(count = 1): Promise<Approval> {
    for await (const frame of this.session.watch()) {
      if (frame.type === "partial" || frame.type === "state") continue;
      const { approvals } = await this.session.read();
      const found = approvals[count - 1];
      if (found) return found;
    }
    throw new Error("Nobody was asked.");
  }

  async answer(
    approval: Approval,
    answer: Omit<CommandOf<"answer">, "type" | "requestId" | "approvalId">,
  ): Promise<void> {
    await this.send({ type: "answer", approvalId: approval.approvalId, ...answer });
  }

  /** Closes the host as a drain does, and opens its store again. */
  async reopen(): Promise<void> {
    await this.#shut();
    await this.#open();
  }

  async #shut(): Promise<void> {
    await this.#owner.close({ patienceMs: 0 });
    await this.#store.close();
  }

  async close(): Promise<void> {
    await this.#shut();
    await this.provider.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

export function harnessOptions(
  folder: string,
  url: string,
  env: Readonly<Record<string, string>> = {},
): Pick<HarnessOptions, "dir" | "env"> {
  return {
    dir: join(folder, "project"),
    env: {
      PATH: process.env["PATH"] ?? "",
      HOME: join(folder, "home"),
      CLAUDE_CONFIG_DIR: join(folder, "home/.claude"),
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "sk-made-up-for-tests",
      DISABLE_TELEMETRY: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      ...env,
    },
  };
}

/** Writes a file of the project. */
export async function projectFile(rig: Rig, name: string, text: string): Promise<void> {
  await writeFile(join(rig.dir, name), text);
}

function typeOf(line: Json): string {
  if (typeof line !== "object" || line === null || Array.isArray(line)) return "";
  const { type, subtype } = line;
  if (typeof type !== "string") return "";
  return typeof subtype === "string" ? `${type}/${subtype}` : type;
}

export function bash(command: string, more: Record<string, Json> = {}) {
  return { call: { name: "Bash", input: { command, description: "A test", ...more } } };
}
