import { statSync } from "node:fs";
import { startScriptedProvider } from "@lichen/engine/testing";
import { scriptedEngine } from "@lichen/runtime/testing";
import { expect, test } from "vitest";
import { defineTool } from "../../src/folder/define-tool.ts";
import type { Diagnostic } from "../../src/folder/definition.ts";
import {
  createAgentFromDefinition,
  createAgentFromWorkspace,
} from "../../src/host/create-agent.ts";
import { openAgent } from "../../src/host/open-agent.ts";
import { openHost } from "../../src/host/open-host.ts";
import { collect } from "../../src/invoke/collect.ts";
import { invokeOf } from "../../src/invoke/invoke-of.ts";
import { emptyConfig, TempFolder, toolFile } from "../folder/temp-folder.ts";
import { env, modelsJsonOf, modelsOf, scriptedModel } from "./provider-models.ts";
import * as z from "zod";

const report = (error: unknown) => {
  throw error;
};

test("[I15] openAgent keeps its conversations in one file, which one owner holds at a time", async () => {
  using folder = new TempFolder();
  const path = folder.join("state", "agent.db");
  const engine = () => scriptedEngine([{ say: "Hello." }]);
  const first = await openAgent({ path, engine: engine() });
  await collect(invokeOf(first.agent).invoke({ session: "s" }, { text: "Hi." }));
  await expect(openAgent({ path, engine: engine() })).rejects.toMatchObject({
    code: "unavailable",
  });
  await first.close();
  await using second = await openAgent({ path, engine: engine() });
  expect((await second.agent.session("s").info()).turns).toBe(1);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(folder.join("state")).mode & 0o777).toBe(0o700);
});

test("[I15] openAgent's routes answer below the program's own middleware", async () => {
  await using opened = await openAgent({ engine: scriptedEngine([{ say: "Hello." }]) });
  const answer = await opened.routes.request("/sessions/s/commands", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "prompt", requestId: "r", text: "Hi." }),
  });
  expect(answer.status).toBe(202);
  const { commandId } = (await answer.json()) as { commandId: string };
  const settled = await opened.routes.request(
    `/sessions/s/settlement?commandId=${commandId}&timeoutMs=30000`,
  );
  expect(await settled.json()).toMatchObject({ terminal: "completed", answer: "Hello." });
});

test("[I16] a folder's agent runs with its prompt, its tools and its endpoints, read anew before each turn", async () => {
  const provider = await startScriptedProvider({
    script: [{ parts: [{ call: { name: "greet", input: {} } }] }, "Greeted.", "Now I am another."],
  });
  using folder = new TempFolder().write({
    "lichen.config.ts": `export default { model: "${scriptedModel}", codingTools: false };`,
    "models.json": modelsJsonOf(provider),
    "persona.md": "You are one.",
    "tools/greet.ts": toolFile('label: "read", execute: () => "hi from a file"'),
  });
  const { agent, definition, diagnostics } = await createAgentFromDefinition(folder.path, { env });
  try {
    expect(diagnostics).toEqual([]);
    expect(definition.tools.map(({ name }) => name)).toEqual(["greet"]);
    const say = (text: string) => collect(agent.invoke({ session: "s" }, { text }));
    expect((await say("Greet me.")).text).toBe("Greeted.");
    folder.write({ "persona.md": "You are two." });
    expect((await say("Who are you?")).text).toBe("Now I am another.");
    const [first, second, third] = provider.requests;
    expect(first?.system).toContain("You are one.");
    expect(JSON.stringify(second?.messages)).toContain("hi from a file");
    expect(third?.system).toContain("You are two.");
  } finally {
    await agent.close();
    await provider.close();
  }
});

test("[I17] a deferred tool is hidden until the model finds it, and stays on for that conversation", async () => {
  const provider = await startScriptedProvider({
    script: [
      { parts: [{ call: { name: "search_tools", input: { query: "invoice" } } }] },
      { parts: [{ call: { name: "send_invoice", input: { to: "ada" } } }] },
      "Sent.",
      "Still there.",
      "Another conversation.",
    ],
  });
  const agent = await openAgent({
    model: scriptedModel,
    models: modelsOf(provider),
    tools: [
      defineTool({
        name: "send_invoice",
        description: "Sends an invoice.",
        input: z.object({ to: z.string() }),
        deferred: true,
        execute: ({ to }) => `sent to ${to}`,
      }),
    ],
  });
  try {
    const say = (session: string, text: string) =>
      collect(invokeOf(agent.agent).invoke({ session }, { text }));
    expect((await say("a", "Send it.")).text).toBe("Sent.");
    expect((await say("a", "And now?")).text).toBe("Still there.");
    expect((await say("b", "Hello.")).text).toBe("Another conversation.");
    expect(provider.requests.map(({ tools }) => [...tools].sort())).toEqual([
      ["search_tools"],
      ["search_tools", "send_invoice"],
      ["search_tools", "send_invoice"],
      ["search_tools", "send_invoice"],
      ["search_tools"],
    ]);
  } finally {
    await agent.close();
    await provider.close();
  }
});

test("[I18] a host opens its folder's agent with its state outside the agent's reach", async () => {
  using state = new TempFolder();
  using folder = new TempFolder().write({
    "bot/lichen.config.ts": 'export default { codingTools: ["read"], sandbox: "off" };',
    "bot/tools/broken.ts": "export default {",
  });
  const host = await openHost({ dir: folder.path, state: state.join("host"), env, report });
  try {
    expect(host.diagnostics).toMatchObject([{ file: "tools/broken.ts" }]);
    expect(host.place.cwd).toBe(folder.path);
    expect(host.sandbox()?.kind).toBe("none");
    const info = await host.agent.info();
    expect(info).toMatchObject({ name: "bot", engine: "model" });
    expect(info.agent).toMatch(/^bot-[0-9a-f]{10}$/);
    expect(statSync(host.stateDir).mode & 0o777).toBe(0o700);
    await expect(
      openHost({ dir: folder.path, state: state.join("host"), env, report }),
    ).rejects.toMatchObject({ code: "unavailable" });
  } finally {
    await host.close();
  }
});

test("[I18] an agent's own file tools cannot read the state or its folder's secrets", async () => {
  using state = new TempFolder().write({ token: "made-up" });
  const provider = await startScriptedProvider({
    script: [
      {
        parts: [
          { call: { name: "read", input: { path: state.join("token") } } },
          { call: { name: "read", input: { path: ".secrets/.env" } } },
          { call: { name: "read", input: { path: "open.txt" } } },
        ],
      },
      "Done.",
    ],
  });
  using folder = new TempFolder().write({
    "lichen.config.ts": `export default { model: "${scriptedModel}", codingTools: ["read"], sandbox: "off" };`,
    "models.json": modelsJsonOf(provider),
    ".secrets/.env": "KEY=made-up",
    "open.txt": "anyone may read",
  });
  const host = await openHost({ dir: folder.path, state: state.path, env, report });
  try {
    await collect(invokeOf(host.agent).invoke({ session: "s" }, { text: "Read." }));
    const seen = JSON.stringify(provider.requests[1]?.messages);
    expect(seen).toContain("anyone may read");
    expect(seen).not.toContain("made-up");
  } finally {
    await host.close();
    await provider.close();
  }
});

test("[I18] state inside the agent's working directory is refused, and a broken config opens nothing", async () => {
  using state = new TempFolder();
  using folder = new TempFolder().write({ "lichen.config.ts": emptyConfig });
  await expect(
    openHost({ dir: folder.path, state: folder.join("deep", "state"), env, report }),
  ).rejects.toThrow("choose a place outside");
  await expect(openAgent({ dir: folder.path, path: folder.join("a.db"), env })).rejects.toThrow(
    "choose a place outside",
  );
  folder.write({ "lichen.config.ts": "export default { modle: 1 };" });
  await expect(
    openHost({ dir: folder.path, state: state.join("host"), env, report }),
  ).rejects.toMatchObject({ code: "invalid" });
  expect(statSync(state.join("host", "host.db"), { throwIfNoEntry: false })).toBeUndefined();
});

test("[I18] what breaks in a folder while its agent runs is told, and a broken models.json leaves the former in use", async () => {
  const provider = await startScriptedProvider({ otherwise: "Fine." });
  using state = new TempFolder();
  using folder = new TempFolder().write({
    "lichen.config.ts": `export default { model: "${scriptedModel}", codingTools: false };`,
    "models.json": modelsJsonOf(provider),
  });
  const told: (readonly Diagnostic[])[] = [];
  const host = await openHost({
    dir: folder.path,
    state: state.path,
    env,
    report,
    onDiagnostics: (diagnostics) => told.push(diagnostics),
  });
  try {
    folder.write({
      "models.json": '{"providers":{"x":{"nope":1}}}',
      "tools/a.ts": "export default",
    });
    const answer = await collect(invokeOf(host.agent).invoke({ session: "s" }, { text: "Hi." }));
    expect(answer.text).toBe("Fine.");
    expect(told.flat().map(({ file }) => file)).toEqual(["models.json", "tools/a.ts"]);
  } finally {
    await host.close();
    await provider.close();
  }
});

test("[I19] a workspace's agent keeps its state where the host of the same folder keeps it", async () => {
  const provider = await startScriptedProvider({ otherwise: "Fine." });
  using state = new TempFolder();
  using folder = new TempFolder().write({
    "lichen.config.ts": `export default { model: "${scriptedModel}", codingTools: ["ls"], sandbox: "off" };`,
    "models.json": modelsJsonOf(provider),
    "tools/greet.ts": toolFile("execute: () => 1"),
  });
  const made = await createAgentFromWorkspace(folder.path, { state: state.path, env });
  try {
    expect(made).toMatchObject({
      configPath: "lichen.config.ts",
      modelSpec: scriptedModel,
      agentDir: folder.path,
      stateRoot: state.path,
      toolNames: ["ls", "greet"],
    });
    await collect(made.agent.invoke({ session: "s" }, { text: "Hi." }));
  } finally {
    await made.agent.close();
  }
  const host = await openHost({ dir: folder.path, state: state.path, env, report });
  expect((await host.agent.session("s").info()).turns).toBe(1);
  await host.close();
  await provider.close();
});

test("[I20] a folder's agent lists the models of its folder as it stands, and the default that its config names", async () => {
  const provider = await startScriptedProvider({ script: [] });
  using folder = new TempFolder().write({
    "lichen.config.ts": `export default { model: "${scriptedModel}", codingTools: false };`,
    "models.json": modelsJsonOf(provider),
  });
  const opened = await openAgent({ dir: folder.path, env });
  const { agent } = opened;
  try {
    const one = { model: scriptedModel, contextWindow: 100_000, reasoning: [], isReady: true };
    const page = await agent.models({ q: "SCRIPTED/" });
    expect(page).toMatchObject({ models: [one], default: scriptedModel, reasoning: "medium" });
    folder.write({
      "lichen.config.ts": 'export default { model: "scripted/two", thinkingLevel: "high" };',
      "models.json": modelsJsonOf(provider).replace('"one"', '"two"'),
    });
    expect(await agent.models({ q: "scripted/" })).toMatchObject({
      models: [{ ...one, model: "scripted/two" }],
      default: "scripted/two",
      reasoning: "high",
    });
  } finally {
    await opened.close();
    await provider.close();
  }
  await using parts = await openAgent({ env, thinkingLevel: "low" });
  const { models, ...rest } = await parts.agent.models({ limit: 1 });
  expect(models).toMatchObject([{ model: "lichen/demo", isReady: true }]);
  expect(rest).toEqual({ default: "lichen/demo", reasoning: "low", more: true });
});
