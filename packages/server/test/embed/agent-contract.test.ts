import { type ScriptedProvider, startScriptedProvider, type Step } from "@lichen/engine/testing";
import { afterAll } from "vitest";
import { createAgent, type InvokableAgent } from "../../src/host/create-agent.ts";
import { agentContract } from "../../src/testing/agent.contract.ts";
import { TempFolder } from "../folder/temp-folder.ts";
import { modelsOf, scriptedModel } from "./provider-models.ts";

const opened: { close(): Promise<void> }[] = [];
const folder = new TempFolder();
let count = 0;
let last: { agent: InvokableAgent; path: string } | undefined;

async function open(step: Step, path?: string): Promise<[InvokableAgent, ScriptedProvider]> {
  const provider = await startScriptedProvider({ otherwise: step });
  const agent = createAgent({
    model: scriptedModel,
    instructions: "Answer.",
    models: modelsOf(provider),
    ...(path === undefined ? {} : { path }),
  });
  opened.push(agent, provider);
  return [agent, provider];
}

agentContract("an agent of parts on a real provider library", {
  completing: async () => {
    const path = folder.join(`store-${++count}`, "agent.db");
    const [agent] = await open("Hello to you.", path);
    last = { agent, path };
    return agent;
  },
  failing: async () => (await open({ refuse: "invalid" }))[0],
  hanging: async () => {
    const [agent, provider] = await open({ parts: [{ text: "Well" }, { hang: true }] });
    return { agent, stopped: provider.request(1).then((request) => request.ended) };
  },
  again: async () => {
    if (!last) throw new Error("No completing agent was made.");
    await last.agent.close();
    return (await open("Hello again.", last.path))[0];
  },
});

afterAll(async () => {
  for (const it of opened) await it.close();
  folder[Symbol.dispose]();
});
