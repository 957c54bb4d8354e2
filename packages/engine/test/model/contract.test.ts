import { createModelEngine, createModels } from "../../src/index.ts";
import { type ReceivedRequest, startScriptedProvider, type Step } from "../../src/testing/index.ts";
import { engineContract, type Plan, type Staged } from "../engine.contract.ts";
import { key, modelsJson, tool } from "./rig.ts";

const can = {
  ...{ steer: true, approve: true, resume: true },
  ...{ takeover: false, images: true, models: true, eager: true },
};

async function stage(folder: string): Promise<Staged> {
  const provider = await startScriptedProvider({ script: stepFor });
  const models = createModels({
    modelsJson: modelsJson("anthropic", provider.url),
    env: () => key,
  });
  const create = () =>
    createModelEngine({
      models,
      after: () => () => {},
      definition: async () => ({
        system: "You are a test.",
        tools: [
          tool({ name: "look", label: "read", execute: () => "seen" }),
          tool({ name: "pay", confirm: () => "Pays", execute: () => "paid" }),
        ],
        cwd: folder,
        model: "scripted/scripted-1",
      }),
    });
  let gates = 0;
  return {
    engine: create(),
    play: async (plan) =>
      JSON.stringify(plan.kind === "hold" ? { ...plan, gate: `gate-${++gates}` } : plan),
    held: () => provider.reached(`gate-${gates}`),
    release: async () => provider.open(`gate-${gates}`),
    received: () => provider.requests.length,
    images: () => provider.requests.at(-1)?.messages.flatMap((it) => it.images).length ?? 0,
    again: create,
    close: () => provider.close(),
  };
}

const look = { call: { name: "look", input: {} } };

/** The prompt itself is the plan of what is answered to it. */
function stepFor(request: ReceivedRequest): Step {
  const { text } = request.messages.findLast((it) => it.role === "user" && it.text !== "")!;
  const plan = JSON.parse(text) as Plan & { gate?: string };
  const outcome = request.messages.at(-1)?.results[0]?.text;
  switch (plan.kind) {
    case "answer":
      return plan.text;
    case "hold":
      if (outcome !== undefined) return "done";
      return { parts: [{ text: plan.text }, { gate: plan.gate! }, ...(plan.calls ? [look] : [])] };
    case "fail":
      return { refuse: "invalid", message: "The model is away." };
    case "call":
      return outcome === undefined ? { parts: [look] } : "done";
    case "ask":
      if (outcome === undefined) return { parts: [{ call: { name: "pay", input: {} } }] };
      return outcome === "paid" ? "done" : "left";
    case "image":
      return "seen";
  }
}

engineContract("model", can, stage, { process: false, outside: false });
