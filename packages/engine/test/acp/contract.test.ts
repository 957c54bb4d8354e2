import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAcpEngine } from "../../src/host/node.ts";
import { until } from "../../../runtime/test/clock.ts";
import { engineContract, type Plan, type Staged } from "../engine.contract.ts";
import { agentProgram } from "./rig.ts";

const can = {
  ...{ steer: true, approve: true, resume: true },
  ...{ takeover: false, images: true, models: true },
};

async function stage(folder: string): Promise<Staged> {
  const state = join(folder, "state");
  const dir = join(folder, "dir");
  mkdirSync(state);
  mkdirSync(dir);
  const create = () =>
    createAcpEngine({
      dir,
      command: [process.execPath, agentProgram, state, "--load", "--images"],
      env: { PATH: process.env["PATH"] ?? "", HOME: folder },
      settings: () => ({ autoApprove: false, keepRunning: false }),
      clock: { now: () => Date.now(), after: later },
      report: () => {},
    });
  const facts = (key: string): unknown[] =>
    journal(state).flatMap((fact) => (key in fact ? [fact[key]] : []));
  let engine = create();
  let gates = 0;
  let spoken = 0;
  return {
    engine,
    async play(plan) {
      if (plan.kind === "hold") gates++;
      return linesOf(plan, `gate-${gates}`, `speak-${spoken}`);
    },
    held: () => until(() => facts("waits").includes(`gate-${gates}`), "the turn waits"),
    release: async () => writeFileSync(join(state, `gate-${gates}`), ""),
    received: () => facts("prompt").length,
    images: () => Number(facts("images").at(-1)),
    async kill() {
      process.kill(engine.standing().pid!, "SIGKILL");
    },
    async speak(text) {
      writeFileSync(join(state, `speak-${spoken++}`), text);
    },
    again: () => (engine = create()),
    close: async () => {},
  };
}

/** What the agent of the tests does for a plan. */
function linesOf(plan: Plan, gate: string, speak: string): string {
  switch (plan.kind) {
    case "answer":
      return `utter ${speak}\nsay ${plan.text}`;
    case "hold":
      return `say ${plan.text}\nwait ${gate}${plan.calls ? "\ntool read a file\nsay done" : ""}`;
    case "fail":
      return "throw the model is away";
    case "call":
      return "tool read a file\nsay done";
    case "ask":
      return "grant execute tests";
    case "image":
      return "say seen";
  }
}

function journal(state: string): Record<string, unknown>[] {
  try {
    const lines = readFileSync(join(state, "journal.jsonl"), "utf8").split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  } catch {
    // The agent has not begun yet.
    return [];
  }
}

function later(ms: number, wake: () => void): () => void {
  const timer = setTimeout(wake, ms);
  return () => clearTimeout(timer);
}

engineContract("acp", can, stage, { process: true, outside: true });
