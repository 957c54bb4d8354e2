import { type ReceivedRequest, startScriptedProvider, type Step } from "../../src/testing/index.ts";
import { engineContract, type Plan, type Stage } from "../engine.contract.ts";
import { piAcp, type RealAgent, realEngine } from "./real.ts";

const can = {
  ...{ steer: true, approve: true, resume: true },
  ...{ takeover: false, images: true, models: true },
};

const marked = /PLAN(\{.*?\})END/;

function stageOf(agent: RealAgent): Stage {
  return async (folder) => {
    let received = 0;
    let images = 0;
    let gates = 0;
    const script = (request: ReceivedRequest): Step => {
      const plan = planOf(request);
      if (!plan) return "ok";
      received++;
      images = request.messages.flatMap((it) => it.images).length;
      return stepFor(agent, folder, plan, request);
    };
    const provider = await startScriptedProvider({ script, rules: "none" });
    const open = await realEngine(agent, folder, provider.url);
    let engine = open();
    return {
      engine,
      async play(plan) {
        const gate = plan.kind === "hold" ? { gate: `gate-${++gates}` } : {};
        return `PLAN${JSON.stringify({ ...plan, ...gate })}END`;
      },
      held: () => provider.reached(`gate-${gates}`),
      release: async () => provider.open(`gate-${gates}`),
      received: () => received,
      images: () => images,
      async kill() {
        process.kill(engine.standing().pid!, "SIGKILL");
      },
      again: () => (engine = open()),
      close: () => provider.close(),
    };
  };
}

/** The newest plan of a conversation: agents put words of their own around what they are told. */
function planOf({ messages, body }: ReceivedRequest): (Plan & { gate?: string }) | undefined {
  const last = messages.at(-1);
  if (!("tools" in body) || !last) return undefined;
  // Agents ask their models more than they are asked: for a title, for what may come next.
  if (last.results.length === 0 && !marked.test(last.text)) return undefined;
  const texts = messages.flatMap((it) => (it.role === "user" ? [marked.exec(it.text)?.[1]] : []));
  const plan = texts.findLast((it) => it !== undefined);
  return plan === undefined ? undefined : (JSON.parse(plan) as Plan & { gate?: string });
}

function stepFor(
  agent: RealAgent,
  folder: string,
  plan: Plan & { gate?: string },
  { messages }: ReceivedRequest,
): Step {
  const isAfterCall = (messages.at(-1)?.results.length ?? 0) > 0;
  const call = { call: { name: agent.lists.name, input: agent.lists.input(`${folder}/dir`) } };
  switch (plan.kind) {
    case "answer":
      return plan.text;
    case "hold":
      if (isAfterCall) return "done";
      return { parts: [{ text: plan.text }, { gate: plan.gate! }, ...(plan.calls ? [call] : [])] };
    case "fail":
      return { refuse: "invalid", message: "The model is away." };
    case "call":
    case "ask":
      return isAfterCall ? "done" : { parts: [call] };
    case "image":
      return "seen";
  }
}

engineContract("acp, with pi", can, stageOf(piAcp), {
  ...{ process: true, outside: false },
  // pi asks for nothing by itself, and pi-acp ends a turn that failed like any other.
  ...{ asks: false, fails: false },
});
