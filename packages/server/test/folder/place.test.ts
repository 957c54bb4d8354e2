import { mkdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { agentIdOf } from "../../src/folder/host/agent-id.ts";
import { findAgent } from "../../src/folder/host/find-agent.ts";
import { emptyConfig, TempFolder } from "./temp-folder.ts";

test("[F1] a directory with a config is the agent and the place where it works", () => {
  using folder = new TempFolder().write({ "lichen.config.mjs": emptyConfig });
  expect(findAgent(folder.path)).toEqual({
    dir: folder.path,
    configFile: folder.join("lichen.config.mjs"),
    cwd: folder.path,
  });
});

test("[F1] an agent one level inside is found, and works in the directory pointed at", () => {
  using folder = new TempFolder().write({
    "helper/lichen.config.ts": emptyConfig,
    "node_modules/other/lichen.config.ts": emptyConfig,
    "deep/er/lichen.config.ts": emptyConfig,
  });
  const place = findAgent(folder.path);
  expect(place.dir).toBe(folder.join("helper"));
  expect(place.cwd).toBe(folder.path);
});

test("[F1] among several agents LICHEN_AGENT chooses, else the one called lichen, else the choice is the caller's", () => {
  using folder = new TempFolder().write({
    "one/lichen.config.ts": emptyConfig,
    "two/lichen.config.ts": emptyConfig,
  });
  expect(() => findAgent(folder.path)).toThrow("several agents: one, two");
  expect(findAgent(folder.path, "two").dir).toBe(folder.join("two"));
  expect(() => findAgent(folder.path, "three")).toThrow(
    'LICHEN_AGENT names "three", which is not here. Agents: one, two.',
  );
  folder.write({ "lichen/lichen.config.ts": emptyConfig });
  expect(findAgent(folder.path).dir).toBe(folder.join("lichen"));
});

test("[F1] two configs in one directory, no config at all and a place that is not there are refused in plain words", () => {
  using folder = new TempFolder();
  expect(() => findAgent(folder.path)).toThrow("an agent's directory has a lichen.config.ts");
  expect(() => findAgent(folder.join("nowhere"))).toThrow("is not there");
  folder.write({ "lichen.config.ts": emptyConfig, "lichen.config.js": emptyConfig });
  expect(() => findAgent(folder.path)).toThrow("has lichen.config.ts and lichen.config.js");
});

test("[F2] an agent's id is made once and stays when its folder is moved and renamed", () => {
  using folder = new TempFolder();
  mkdirSync(folder.join("My Notes"));
  const id = agentIdOf(folder.join("My Notes"));
  expect(id).toMatch(/^my-notes-[0-9a-f]{10}$/);
  expect(agentIdOf(folder.join("My Notes"))).toBe(id);
  renameSync(folder.join("My Notes"), folder.join("other"));
  expect(agentIdOf(folder.join("other"))).toBe(id);
});

test("[F2] a broken agent.json is refused and not replaced, because it names the agent's history", () => {
  using folder = new TempFolder().write({ ".lichen/agent.json": '{"id":"a b"}' });
  expect(() => agentIdOf(folder.path)).toThrow("restore it, or delete it");
  expect(readFileSync(folder.join(".lichen/agent.json"), "utf8")).toBe('{"id":"a b"}');
});

test("[F1] a link to an agent's directory leads to the same agent", () => {
  using folder = new TempFolder().write({ "real/lichen.config.ts": emptyConfig });
  symlinkSync(folder.join("real"), folder.join("link"));
  expect(findAgent(folder.join("link")).dir).toBe(folder.join("real"));
});
