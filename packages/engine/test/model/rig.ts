// A host for the model engine's tests: the real runtime on a real SQLite file, the real provider libraries, and a
// scripted provider on loopback.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Agent,
  type AgentOptions,
  openOwner,
  type Owner,
  type Session,
} from "@lichen/runtime";
import { nodePlatform, openSql, type SqlFile } from "@lichen/runtime/node";
import type {
  Command,
  CommandOf,
  Entry,
  EntryData,
  JsonObject,
  Kind,
  Settlement,
} from "@lichen/wire";
import {
  type After,
  createModelEngine,
  createModels,
  type Definition,
  type ModelEngineOptions,
  type Tool,
} from "../../src/index.ts";
import {
  type ScriptedProvider,
  startScriptedProvider,
  type Step,
  type Wire,
} from "../../src/testing/index.ts";

export const wires = ["anthropic", "completions", "responses"] as const satisfies readonly Wire[];

const apis = {
  anthropic: "anthropic-messages",
  completions: "openai-completions",
  responses: "openai-responses",
} as const satisfies Record<Wire, string>;

export const key = "sk-made-up-for-tests";

export interface RigOptions {
  readonly wire?: Wire;
  readonly script?: readonly Step[];
  readonly tools?: readonly Tool[];
  /** Asked for at each run. */
  readonly define?: () => Partial<Definition>;
  readonly access?: AgentOptions["access"];
  readonly system?: string;
  readonly reasoning?: Definition["reasoning"];
  readonly model?: JsonObject;
  /** Instead of the scripted model. */
  readonly spec?: string;
  readonly engine?: Partial<ModelEngineOptions>;
  readonly keeps?: "alternating";
  readonly approvalTtlMs?: number;
  /** Works on the store before the rig opens it. */
  readonly inherits?: (store: string, url: string) => Promise<void>;
}

export interface Rig {
  readonly provider: ScriptedProvider;
  /** Delays that were asked for, in order; they pass at once. */
  readonly delays: number[];
  readonly reported: unknown[];
  session: Session;
  send(command: Unkeyed): Promise<string>;
  settled(commandId: string): Promise<Settlement>;
  prompt(text: string): Promise<Settlement>;
  entries(): Promise<Entry[]>;
  data<K extends Kind>(kind: K): Promise<EntryData[K][]>;
  /** Stops the host as a drain does, leaving its runs, and opens the store again, with `meanwhile` done to it. */
  reopen(meanwhile?: (sql: SqlFile["sql"]) => void): Promise<void>;
  close(): Promise<void>;
}

type Unkeyed = { [T in Command["type"]]: Omit<CommandOf<T>, "requestId"> }[Command["type"]];

export async function startRig(options: RigOptions = {}): Promise<Rig> {
  const wire = options.wire ?? "anthropic";
  const folder = await mkdtemp(join(tmpdir(), "lichen-model-"));
  const provider = await startScriptedProvider({
    script: options.script ?? [],
    ...(options.keeps ? { rules: options.keeps } : {}),
  });
  const delays: number[] = [];
  const reported: unknown[] = [];
  const after: After = (ms, wake) => {
    // The idle guard is never due here; a backoff is due at once.
    if (ms >= 300_000) return () => {};
    delays.push(ms);
    const timer = setImmediate(wake);
    return () => clearImmediate(timer);
  };
  const models = createModels({
    modelsJson: modelsJson(wire, provider.url, options.model),
    env: (name) => (name === "SCRIPTED_KEY" ? key : undefined),
  });
  const engine = createModelEngine({
    models,
    after,
    definition: async () => ({
      system: options.system ?? "You are a test.",
      tools: options.tools ?? [],
      cwd: folder,
      model: options.spec ?? "scripted/scripted-1",
      ...(options.reasoning ? { reasoning: options.reasoning } : {}),
      ...options.define?.(),
    }),
    ...options.engine,
  });
  let requests = 0;
  let store: SqlFile;
  let owner: Owner;
  let agent: Agent;
  const rig: Rig = {
    provider,
    delays,
    reported,
    session: undefined as never,
    async send(command) {
      const receipt = await rig.session.send({
        ...command,
        requestId: `r${++requests}`,
      } as Command);
      return receipt.commandId ?? "";
    },
    async settled(commandId) {
      const settlement = await rig.session.readSettlement(commandId, { timeoutMs: 20_000 });
      if (!settlement) throw new Error(`${commandId} is not settled.`);
      return settlement;
    },
    prompt: async (text) => rig.settled(await rig.send({ type: "prompt", text })),
    entries: async () => (await rig.session.read({ limit: 200 })).entries,
    async data<K extends Kind>(kind: K) {
      return (await rig.entries())
        .filter((entry) => entry.kind === kind)
        .map((entry) => entry.data as EntryData[K]);
    },
    async reopen(meanwhile) {
      await shut();
      await open(meanwhile);
    },
    async close() {
      await shut();
      await provider.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  const open = async (first?: (sql: SqlFile["sql"]) => void) => {
    store = await openSql(join(folder, "store.db"));
    first?.(store.sql);
    const platform = nodePlatform({ report: (error) => reported.push(error) });
    const { approvalTtlMs } = options;
    const ttl = approvalTtlMs === undefined ? {} : { approvalTtlMs };
    owner = openOwner({ sql: store.sql, platform, ...ttl });
    agent = await owner.attach({
      ...{ agent: "tester", engine },
      ...(options.access ? { access: options.access } : {}),
    });
    rig.session = agent.session("s");
  };
  const shut = async () => {
    await owner.close({ patienceMs: 0 });
    await store.close();
  };
  await options.inherits?.(join(folder, "store.db"), provider.url);
  await open();
  return rig;
}

export function modelsJson(wire: Wire, url: string, model: JsonObject = {}): string {
  return JSON.stringify({
    providers: {
      scripted: {
        baseUrl: wire === "anthropic" ? url : `${url}/v1`,
        api: apis[wire],
        apiKey: "$SCRIPTED_KEY",
        models: [
          {
            id: "scripted-1",
            reasoning: true,
            input: ["text", "image"],
            cost: { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 1.5 },
            contextWindow: 100_000,
            maxTokens: 8_000,
            ...model,
          },
        ],
      },
    },
  });
}

export function tool(given: Partial<Tool> & Pick<Tool, "name" | "execute">): Tool {
  return {
    description: `The ${given.name} tool.`,
    parameters: { type: "object", properties: {}, additionalProperties: true },
    label: "write",
    parse: (input) => input as JsonObject,
    ...given,
  };
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

/** The first approval that waits for a person. */
export async function untilAsked(rig: Rig) {
  for await (const frame of rig.session.watch()) {
    if (frame.type === "partial" || frame.type === "state") continue;
    const { approvals } = await rig.session.read();
    if (approvals[0]) return approvals[0];
  }
  throw new Error("Nobody was asked.");
}
