// These tests need a working bubblewrap and fail without one.

import { existsSync, readFileSync } from "node:fs";
import { startScriptedProvider } from "@lichen/engine/testing";
import { expect, test } from "vitest";
import { folderPlaces } from "../../src/folder/host/read-only-places.ts";
import { openHost } from "../../src/host/open-host.ts";
import { collect } from "../../src/invoke/collect.ts";
import { invokeOf } from "../../src/invoke/invoke-of.ts";
import { env, modelsOf, scriptedModel } from "../embed/provider-models.ts";
import { TempFolder, toolFile } from "./temp-folder.ts";

test("[C27] an agent changes nothing of what its host runs of another agent's folder, by no tool, and reads none of its secrets", async () => {
  using state = new TempFolder();
  using own = new TempFolder().write({
    "lichen.config.ts": 'export default { sandbox: "require" };\n',
    "evil.ts": toolFile("execute: () => 'evil'"),
  });
  const tool = toolFile("execute: () => 'its own'");
  using other = new TempFolder().write({
    "lichen.config.ts": "export default {};\n",
    "tools/its.ts": tool,
    ".secrets/.env": "KEY=canary-secret\n",
  });
  const provider = await startScriptedProvider();
  const host = await openHost({
    ...{ dir: own.path, state: state.path, model: scriptedModel, env },
    models: modelsOf(provider),
    beside: {
      readOnly: (cwd) => folderPlaces({ dir: other.path, cwd }),
      secrets: [other.join(".secrets")],
    },
    report: (error) => {
      throw error;
    },
  });
  const evil = readFileSync(own.join("evil.ts"), "utf8");
  const calls = [
    { name: "write", input: { path: other.join("tools/evil.ts"), content: evil } },
    { name: "write", input: { path: other.join("tools/its.ts"), content: evil } },
    { name: "bash", input: { command: `cp evil.ts ${other.join("tools/evil.ts")}` } },
    { name: "bash", input: { command: `cp evil.ts ${other.join("tools/its.ts")}` } },
    { name: "bash", input: { command: `mv ${other.path} ${other.path}2` } },
    { name: "bash", input: { command: `cat ${other.join(".secrets/.env")}` } },
    { name: "read", input: { path: other.join(".secrets/.env") } },
    { name: "bash", input: { command: "echo noted > notes.txt" } },
  ];
  for (const call of calls) provider.push({ parts: [{ call }] });
  provider.push("Tried.");
  await collect(invokeOf(host.agent).invoke({ session: "s" }, { text: "Go." }));
  await host.close();
  await provider.close();
  expect(existsSync(other.join("tools/evil.ts"))).toBe(false);
  expect(readFileSync(other.join("tools/its.ts"), "utf8")).toBe(tool);
  expect(JSON.stringify(provider.requests.map(({ messages }) => messages))).not.toContain(
    "canary-secret",
  );
  expect(readFileSync(own.join("notes.txt"), "utf8")).toBe("noted\n");
});
