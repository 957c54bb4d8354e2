// Real agents of the protocol, pointed at a scripted provider on loopback: pi through `pi-acp`, and Qwen Code. Nothing of
// the computer's own settings is seen: each has a home of its own and a made-up key.

import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { nodePlatform } from "@lichen/runtime/node";
import type { JsonObject } from "@lichen/wire";
import { type AcpEngine, createAcpEngine } from "../../src/host/node.ts";
import {
  type ScriptedProvider,
  type Script,
  startScriptedProvider,
} from "../../src/testing/index.ts";
import { Rig, type RigOptions } from "./rig.ts";

const root = join(import.meta.dirname, "../../../..");
const harnesses = join(root, "test/harnesses");
const path = [
  join(root, "node_modules/.bin"),
  join(harnesses, "node_modules/.bin"),
  process.env["PATH"] ?? "",
].join(delimiter);

/** How a real agent is started, and pointed at a provider. */
export interface RealAgent {
  readonly command: readonly string[];
  furnish(folder: string, url: string): Promise<Readonly<Record<string, string>>>;
  /** The tool by which its model writes a file. */
  readonly writes: { readonly name: string; input(file: string, content: string): JsonObject };
  /** The tool by which it lists a folder. */
  readonly lists: { readonly name: string; input(folder: string): JsonObject };
}

export const piAcp: RealAgent = {
  command: [process.execPath, join(harnesses, "node_modules/pi-acp/dist/index.js")],
  async furnish(folder, url) {
    const agent = join(folder, "agent");
    await mkdir(join(agent, "extensions"), { recursive: true });
    const model = { input: ["text", "image"], contextWindow: 100_000, maxTokens: 8_000 };
    const cost = { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 1.5 };
    const models = ["scripted-1", "scripted-2"].map((id) => ({
      ...{ id, reasoning: true, cost },
      ...model,
    }));
    const scripted = { baseUrl: url, api: "anthropic-messages", apiKey: "made-up-key", models };
    await writeFile(join(agent, "models.json"), JSON.stringify({ providers: { scripted } }));
    await writeFile(
      join(agent, "settings.json"),
      JSON.stringify({
        ...{ defaultProvider: "scripted", defaultModel: "scripted-1", quietStartup: true },
        retry: { enabled: false },
      }),
    );
    await writeFile(join(agent, "extensions/asks.ts"), asks);
    return { PATH: path, PI_CODING_AGENT_DIR: agent, PI_OFFLINE: "1" };
  },
  writes: { name: "write", input: (file, content) => ({ path: file, content }) },
  lists: { name: "bash", input: () => ({ command: "ls" }) },
};

/** pi asks for nothing by itself: an extension does, for files that are called so. */
const asks = `export default function (pi) {
  pi.on("tool_call", async (event, ctx) => {
    if (event.toolName !== "write" || !event.input.path.includes("asked")) return;
    const isAllowed = await ctx.ui.confirm("Write it?", event.input.path);
    if (!isAllowed) return { block: true, reason: "A person said no." };
  });
}
`;

export const qwen: RealAgent = {
  command: [
    process.execPath,
    join(harnesses, "qwen/node_modules/@qwen-code/qwen-code/cli-entry.js"),
    ...["--acp", "--approval-mode", "default"],
  ],
  furnish: async (_, url) => ({
    PATH: path,
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: "made-up-key",
    OPENAI_MODEL: "scripted-1",
  }),
  writes: {
    name: "write_file",
    input: (file, content) => ({ file_path: file, content }),
  },
  lists: { name: "list_directory", input: (folder) => ({ path: folder }) },
};

export const realAgents = { piAcp, qwen };

export type RealName = keyof typeof realAgents;

/** Makes engines for a real agent whose home and directory are in this folder. */
export async function realEngine(
  agent: RealAgent,
  folder: string,
  url: string,
): Promise<() => AcpEngine> {
  const dir = join(folder, "dir");
  await mkdir(dir);
  const env = { HOME: folder, ...(await agent.furnish(folder, url)) };
  const platform = nodePlatform({ report: () => {} });
  const after = (ms: number, wake: () => void) => platform.after(ms, wake);
  return () =>
    createAcpEngine({
      ...{ dir, env, command: agent.command, clock: { now: () => Date.now(), after } },
      settings: () => ({ autoApprove: false, keepRunning: false }),
      report: () => {},
    });
}

/** A rig with a real agent. */
export async function realRig(
  agent: RealAgent,
  script: Script,
  options: RigOptions = {},
): Promise<{ rig: Rig; provider: ScriptedProvider }> {
  const provider = await startScriptedProvider({ script, rules: "none" });
  const rig = await Rig.start({
    command: agent.command,
    furnish: (folder) => agent.furnish(folder, provider.url),
    ...options,
  });
  return { rig, provider };
}
