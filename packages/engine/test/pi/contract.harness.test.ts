// pi as an engine like any other.

import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ReceivedRequest, startScriptedProvider, type Step } from "../../src/testing/index.ts";
import { engineContract, type Plan, type Staged } from "../engine.contract.ts";
import { engineIn, furnish } from "./rig.ts";

const can = {
  ...{ steer: true, approve: false, resume: true },
  ...{ takeover: true, images: true, models: true },
};

/** Speaks when a file of its folder is there. */
const speaker = `import { existsSync, readFileSync, unlinkSync } from "node:fs";
export default (pi) => pi.on("session_start", () => {
  setInterval(() => {
    if (!existsSync("speak")) return;
    const content = readFileSync("speak", "utf8");
    unlinkSync("speak");
    pi.sendMessage({ customType: "speaker", content, display: true }, { triggerTurn: true });
  }, 50).unref();
});`;

async function stage(folder: string): Promise<Staged> {
  const provider = await startScriptedProvider({ script: stepFor, rules: "none" });
  await furnish(folder, provider.url, { extension: speaker });
  await writeFile(join(folder, "work", "file"), "text");
  const create = () =>
    engineIn(folder, {
      report: (error) => {
        throw error;
      },
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
      process.kill(engine.standing().pid ?? 0, "SIGKILL");
    },
    async speak(text) {
      const speech = join(folder, "speech");
      await writeFile(speech, JSON.stringify({ kind: "answer", text }));
      await rename(speech, join(folder, "work", "speak"));
    },
    again: () => (engine = create()),
    close: () => provider.close(),
  };
}

const look = { call: { name: "read", input: { path: "file" } } };

/** The prompt itself is the plan of what is answered to it; a note goes on with the one before. */
function stepFor(request: ReceivedRequest): Step {
  const isPlan = ({ role, text }: { role: string; text: string }) =>
    role === "user" && text.startsWith("{");
  const { text } = request.messages.findLast(isPlan)!;
  // What was noted on an image stands below.
  const plan = JSON.parse(text.split("\n", 1)[0] ?? "") as Plan & { gate?: string };
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
      return "left";
    case "image":
      return "seen";
  }
}

engineContract("pi", can, stage, { process: true, outside: true });
