// A host for tests of pi: the real runtime on a real SQLite file, the real pi in its RPC mode, and a scripted provider.

import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type Agent, openOwner, type Owner, type Session } from "@lichen/runtime";
import { nodePlatform, openSql, type SqlFile } from "@lichen/runtime/node";
import type {
  Command,
  CommandOf,
  Entry,
  EntryData,
  JsonObject,
  Kind,
  Partial,
  Settlement,
} from "@lichen/wire";
import type { HarnessEngine, HarnessSettings } from "../../src/index.ts";
import { createPiEngine } from "../../src/pi/host/create.ts";
import {
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
} from "../../src/testing/index.ts";

const root = join(import.meta.dirname, "../../../..");

/** The real one. */
export const pi = join(root, "test/harnesses/node_modules/.bin/pi");

export interface RigOptions {
  readonly script?: Script;
  /** Source of an extension that pi loads. */
  readonly extension?: string;
  /** More files below pi's own folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** More of pi's settings. */
  readonly settings?: JsonObject;
  readonly args?: readonly string[];
  readonly harness?: () => HarnessSettings;
  /** Works in the folder before the rig's host begins. */
  readonly inherits?: (folder: string, url: string) => Promise<void>;
  /** Instead of the real pi. */
  readonly command?: readonly string[];
}

export interface Rig {
  readonly folder: string;
  readonly dir: string;
  readonly provider: ScriptedProvider;
  readonly reported: unknown[];
  readonly engine: HarnessEngine;
  session: Session;
  /** From now on no entry of this kind, with such data, can be written; answers what ends that. */
  refuse(kind: Kind, like?: string): () => void;
  send(command: Unkeyed): Promise<string>;
  settled(commandId: string): Promise<Settlement>;
  prompt(text: string): Promise<Settlement>;
  entries(): Promise<Entry[]>;
  data<K extends Kind>(kind: K): Promise<EntryData[K][]>;
  /** Lines of pi in the log. */
  lines(): Promise<JsonObject[]>;
  /** Settles once an entry of the session, old or new, is such a one. */
  until(is: (entry: Entry) => boolean): Promise<Entry>;
  /** Another host on the same store; `more` holds from then on. */
  reopen(meanwhile?: () => Promise<void>, more?: RigOptions): Promise<void>;
  close(): Promise<void>;
}

type Unkeyed = { [T in Command["type"]]: Omit<CommandOf<T>, "requestId"> }[Command["type"]];

const cost = { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 1.5 };

/** Makes the folders that pi runs in. */
export async function furnish(folder: string, url: string, options: RigOptions): Promise<void> {
  const agent = join(folder, "agent");
  await mkdir(join(folder, "work"), { recursive: true });
  const model = { input: ["text", "image"], cost, contextWindow: 100_000, maxTokens: 8_000 };
  const models = [
    { id: "scripted-1", reasoning: true, ...model },
    { id: "scripted-2", reasoning: true, ...model },
  ];
  const provider = { baseUrl: url, api: "anthropic-messages", apiKey: "made-up-key", models };
  const settings = {
    defaultProvider: "scripted",
    defaultModel: "scripted-1",
    retry: { baseDelayMs: 10 },
    ...options.settings,
  };
  const files = {
    "models.json": JSON.stringify({ providers: { scripted: provider } }),
    "settings.json": JSON.stringify(settings),
    ...(options.extension === undefined ? {} : { "extensions/test.ts": options.extension }),
    ...options.files,
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(agent, name);
    await mkdir(join(path, ".."), { recursive: true });
    await writeFile(path, text);
  }
}

export function engineIn(
  folder: string,
  options: RigOptions & { readonly report: (error: unknown) => void },
): HarnessEngine {
  const platform = nodePlatform({ report: options.report });
  return createPiEngine({
    dir: join(folder, "work"),
    command: options.command ?? [pi],
    env: {
      PATH: [join(root, "node_modules/.bin"), process.env["PATH"] ?? ""].join(delimiter),
      HOME: folder,
      PI_CODING_AGENT_DIR: join(folder, "agent"),
      PI_OFFLINE: "1",
    },
    settings: options.harness ?? (() => ({ autoApprove: false, keepRunning: false })),
    clock: { now: () => Date.now(), after: (ms, wake) => platform.after(ms, wake) },
    report: options.report,
    args: options.args ?? [],
  });
}

export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "lichen-pi-")));
  const provider = await startScriptedProvider({ script: options.script ?? [], rules: "none" });
  await furnish(folder, provider.url, options);
  await options.inherits?.(folder, provider.url);
  const reported: unknown[] = [];
  let requests = 0;
  let store: SqlFile;
  let owner: Owner;
  let agent: Agent;
  const rig = {
    folder,
    dir: join(folder, "work"),
    provider,
    reported,
    engine: undefined as never as HarnessEngine,
    session: undefined as never as Session,
    refuse(kind: Kind, like = "") {
      const name = `refusal_${kind.replaceAll(".", "_")}`;
      store.sql.run(
        `create trigger ${name} before insert on entry when new.kind = '${kind}' and new.data like '%${like}%'
         begin select raise(abort, 'the disk is full'); end`,
      );
      return () => store.sql.run(`drop trigger ${name}`);
    },
    async send(command: Unkeyed) {
      const requestId = `r${++requests}`;
      const receipt = await rig.session.send({ ...command, requestId } as Command);
      return receipt.commandId ?? "";
    },
    async settled(commandId: string) {
      const settlement = await rig.session.readSettlement(commandId, { timeoutMs: 30_000 });
      if (!settlement) throw new Error(`${commandId} is not settled.`);
      return settlement;
    },
    prompt: async (text: string) => rig.settled(await rig.send({ type: "prompt", text })),
    entries: async () => (await rig.session.read({ limit: 200 })).entries,
    async data<K extends Kind>(kind: K) {
      return (await rig.entries())
        .filter((entry) => entry.kind === kind)
        .map((entry) => entry.data as EntryData[K]);
    },
    lines: async () => (await rig.data("harness.line")).map(({ line }) => line as JsonObject),
    async until(is: (entry: Entry) => boolean) {
      for await (const frame of rig.session.watch()) {
        if (frame.type === "partial" || frame.type === "state") continue;
        const found = (await rig.entries()).find(is);
        if (found) return found;
      }
      throw new Error("The watch ended.");
    },
    async reopen(meanwhile?: () => Promise<void>, more: RigOptions = {}) {
      await shut();
      await meanwhile?.();
      await open(more);
    },
    async close() {
      await shut();
      await provider.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  const open = async (more: RigOptions = {}): Promise<void> => {
    store = await openSql(join(folder, "store.db"));
    const report = (error: unknown): void => void reported.push(error);
    owner = openOwner({ sql: store.sql, platform: nodePlatform({ report }) });
    rig.engine = engineIn(folder, { ...options, ...more, report });
    agent = await owner.attach({ agent: "tester", engine: rig.engine });
    await agent.create({ requestId: "session", session: "s" });
    rig.session = agent.session("s");
  };
  const shut = async (): Promise<void> => {
    await owner.close({ patienceMs: 0 });
    await store.close();
  };
  await open();
  return rig;
}

/** The first approval that waits for a person. */
export async function untilAsked(rig: Rig) {
  for await (const frame of rig.session.watch()) {
    if (frame.type === "partial" || frame.type === "state") continue;
    const { approvals } = await rig.session.read();
    if (approvals[0]) return approvals[0];
  }
  throw new Error("Nobody was asked.");
}

/** Settles once what streams is such a thing. */
export async function untilShown(rig: Rig, is: (partial: Partial) => boolean): Promise<void> {
  for await (const frame of rig.session.watch()) {
    const partial =
      frame.type === "partial"
        ? frame.data
        : "running" in frame.data
          ? frame.data.running?.partial
          : undefined;
    if (partial && is(partial)) return;
  }
  throw new Error("It was never shown.");
}
