// Claude Code as an engine like any other.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { nodePlatform } from "@lichen/runtime/node";
import { createClaudeEngine } from "../../src/claude/host/create.ts";
import { type ReceivedRequest, startScriptedProvider, type Step } from "../../src/testing/index.ts";
import { engineContract, type Plan, type Staged } from "../engine.contract.ts";
import { bash, claude, harnessOptions } from "./rig.ts";

const can = {
  ...{ steer: true, approve: true, resume: true },
  ...{ takeover: true, images: true, models: true },
};

async function stage(folder: string): Promise<Staged> {
  const provider = await startScriptedProvider({ script: stepFor, rules: "none" });
  await mkdir(join(folder, "project"), { recursive: true });
  await writeFile(join(folder, "project/file"), "text");
  const report = (error: unknown): void => {
    throw error;
  };
  const create = () =>
    createClaudeEngine({
      ...harnessOptions(folder, provider.url),
      command: [claude],
      settings: () => ({ autoApprove: false, keepRunning: false }),
      clock: nodePlatform({ report }),
      report,
    });
  let engine = create();
  let gates = 0;
  return {
    engine,
    play: async (plan) =>
      JSON.stringify(plan.kind === "hold" ? { ...plan, gate: `gate-${++gates}` } : plan),
    held: () => provider.reached(`gate-${gates}`),
    release: async () => provider.open(`gate-${gates}`),
    received: () => provider.requests.length,
    images: () => provider.requests.at(-1)?.messages.flatMap((it) => it.images).length ?? 0,
    async kill() {
      process.kill(-(engine.standing().pid ?? 0), "SIGKILL");
    },
    again: () => (engine = create()),
    close: () => provider.close(),
  };
}

const look = (request: ReceivedRequest) => ({
  call: { name: "Read", input: { file_path: `${folderOf(request)}/file` } },
});

/** Claude Code tells the model where it works. */
function folderOf({ body }: ReceivedRequest): string {
  return /working directory: ([^\s"\\]+)/i.exec(JSON.stringify(body))?.[1] ?? "";
}

/** The prompt itself is the plan of what is answered to it; a note goes on with the one before. */
function stepFor(request: ReceivedRequest): Step {
  const texts = request.messages.flatMap(({ text }) => text.split("\n"));
  const line = texts.findLast((text) => text.startsWith('{"kind"')) ?? "{}";
  const plan = JSON.parse(line) as Plan & { gate?: string };
  const hasOutcome = (request.messages.at(-1)?.results.length ?? 0) > 0;
  switch (plan.kind) {
    case "answer":
      return plan.text;
    case "hold":
      if (hasOutcome) return "done";
      return {
        parts: [{ text: plan.text }, { gate: plan.gate! }, ...(plan.calls ? [look(request)] : [])],
      };
    case "fail":
      return { refuse: "invalid", message: "The model is away." };
    case "call":
      return hasOutcome ? "done" : { parts: [look(request)] };
    case "ask": {
      const [result] = request.messages.flatMap(({ results }) => results);
      if (!result) return { parts: [bash("touch asked")] };
      return result.isError ? "left" : "done";
    }
    case "image":
      return "seen";
  }
}

engineContract("claude", can, stage, { process: true, outside: false });
