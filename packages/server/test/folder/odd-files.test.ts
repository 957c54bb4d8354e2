import { execFileSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { expect, test } from "vitest";
import { AgentFolder, loadDefinition } from "../../src/folder/host/agent-folder.ts";
import { agentIdOf } from "../../src/folder/host/agent-id.ts";
import { emptyConfig, TempFolder, toolFile } from "./temp-folder.ts";

const secret = "canary-5f1c9a";
const skill = "---\nname: fill\ndescription: Fills.\n---\n";
const gibibyte = 1_024 ** 3;

function pipe(path: string): void {
  execFileSync("mkfifo", [path]);
}

test("[F17] a link out of the folder makes the host read nothing: persona, context, skill, tool; each is reported", async () => {
  using state = new TempFolder().write({ token: secret });
  using folder = new TempFolder().write({ "lichen.config.ts": emptyConfig });
  for (const name of ["skills/fill", "tools"]) mkdirSync(folder.join(name), { recursive: true });
  const names = ["persona.md", "AGENTS.md", "CLAUDE.md", "skills/fill/SKILL.md", "tools/a.ts"];
  for (const name of names) symlinkSync(state.join("token"), folder.join(name));
  const loaded = await loadDefinition(folder.path);
  expect(JSON.stringify(loaded)).not.toContain(secret);
  expect(loaded.definition.contextFiles).toEqual([]);
  expect(loaded.diagnostics.map(({ file }) => file).sort()).toEqual(names.toSorted());
  for (const { problem } of loaded.diagnostics) {
    expect(problem).toContain("is a link that leaves the agent's folder");
    expect(problem).not.toContain(state.path);
  }
});

test("[F17] a models.json that is a link out of the folder is refused, and the last one that worked stays in use", async () => {
  using state = new TempFolder().write({ token: `{"providers":{"${secret}":{}}}` });
  using folder = new TempFolder().write({ "lichen.config.ts": emptyConfig, "models.json": "{}" });
  const agent = await AgentFolder.open(folder.path);
  try {
    rmSync(folder.join("models.json"));
    symlinkSync(state.join("token"), folder.join("models.json"));
    const loaded = await agent.load();
    expect(loaded.modelsJson).toBe("{}");
    expect(loaded.diagnostics).toMatchObject([{ severity: "error", file: "models.json" }]);
    expect(JSON.stringify(loaded)).not.toContain(secret);
  } finally {
    agent.close();
  }
  await expect(loadDefinition(folder.path)).rejects.toMatchObject({ code: "invalid" });
});

test("[F17] what the host protects is read under no other name: a hard link, a link to the folder's own .secrets", async () => {
  using state = new TempFolder().write({ "deep/token": secret });
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    ".secrets/.env": `KEY=${secret}`,
  });
  linkSync(state.join("deep/token"), folder.join("AGENTS.md"));
  symlinkSync(".secrets/.env", folder.join("CLAUDE.md"));
  linkSync(folder.join(".secrets/.env"), folder.join("persona.md"));
  const agent = await AgentFolder.open(folder.path, { protectedPaths: [state.path] });
  agent.close();
  const loaded = await agent.load();
  expect(JSON.stringify(loaded)).not.toContain(secret);
  expect(loaded.diagnostics.map(({ file }) => file)).toEqual([
    "persona.md",
    "AGENTS.md",
    "CLAUDE.md",
  ]);
});

test("[F17] links inside the folder, inside the project's folder, and hard links to what is nobody's secret are read", async () => {
  using work = new TempFolder().write({
    "AGENTS.md": "Outer rules.",
    "docs/rules.md": "Inner rules.",
    "inner/bot/lichen.config.ts": emptyConfig,
    "inner/bot/words/me.md": "You are Ada.",
    "inner/bot/CLAUDE.md": "Own rules.",
  });
  symlinkSync("CLAUDE.md", work.join("inner/bot/AGENTS.md"));
  symlinkSync("words/me.md", work.join("inner/bot/persona.md"));
  rmSync(work.join("AGENTS.md"));
  symlinkSync("docs/rules.md", work.join("AGENTS.md"));
  linkSync(work.join("docs/rules.md"), work.join("inner/AGENTS.md"));
  const { definition, diagnostics } = await loadDefinition(work.join("inner"));
  expect(diagnostics).toEqual([]);
  expect(definition.persona).toBe("You are Ada.");
  expect(definition.contextFiles.map(({ content }) => content)).toEqual([
    "Own rules.",
    "Inner rules.",
    "Inner rules.",
  ]);
});

test("[F18] a pipe in the place of any file holds nobody up; each is reported and the rest works", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "tools/good.ts": toolFile("execute: () => 'good'"),
    "tools/imports.ts": toolFile(
      "execute: () => w",
      'import { w } from "./lib/w.ts"; import { defineTool, z } from "lichen";',
    ),
    "skills/good/SKILL.md": "---\nname: good\ndescription: Good.\n---\n",
  });
  for (const name of ["skills/fill", "tools/lib"])
    mkdirSync(folder.join(name), { recursive: true });
  for (const name of [
    "persona.md",
    "AGENTS.md",
    "skills/fill/SKILL.md",
    "tools/a.ts",
    "tools/lib/w.ts",
  ])
    pipe(folder.join(name));
  const { definition, diagnostics } = await loadDefinition(folder.path);
  expect(definition.tools.map(({ name }) => name)).toEqual(["good"]);
  expect(definition.skills.map(({ name }) => name)).toEqual(["good"]);
  expect(diagnostics.map(({ file }) => file)).toEqual([
    "persona.md",
    "AGENTS.md",
    "skills/fill/SKILL.md",
    "tools/a.ts",
    "tools/imports.ts",
  ]);
  for (const { problem } of diagnostics) expect(problem).toContain("not a regular file");
  pipe(folder.join("models.json"));
  await expect(loadDefinition(folder.path)).rejects.toMatchObject({
    message: expect.stringMatching(/^models\.json: .*not a regular file/),
  });
});

test("[F18] a pipe that Node itself would read on its way to a module, or that stands for the agent's id, is refused", async () => {
  using work = new TempFolder().write({
    "bot/lichen.config.ts": emptyConfig,
    "bot/tools/a.ts": toolFile("execute: () => 1"),
    "bot/tools/b.ts": 'import "dep";\n',
    "node_modules/dep/index.js": "",
    "node_modules/zod/index.js": "",
  });
  pipe(work.join("node_modules/dep/package.json"));
  pipe(work.join("node_modules/zod/package.json"));
  const first = await loadDefinition(work.path);
  expect(first.definition.tools.map(({ name }) => name)).toEqual(["a"]);
  expect(first.diagnostics).toMatchObject([
    { file: "tools/b.ts", problem: expect.stringContaining("package.json is not a regular file") },
  ]);
  pipe(work.join("package.json"));
  await expect(loadDefinition(work.path)).rejects.toMatchObject({
    message: expect.stringContaining("package.json is not a regular file"),
  });
  mkdirSync(work.join("bot/.lichen"));
  pipe(work.join("bot/.lichen/agent.json"));
  expect(() => agentIdOf(work.join("bot"))).toThrow("holds no id");
});

test("[F18] a folder, a device and a link that leads nowhere are no files either", async () => {
  using folder = new TempFolder().write({ "lichen.config.ts": emptyConfig });
  mkdirSync(folder.join("persona.md"));
  symlinkSync("/dev/zero", folder.join("AGENTS.md"));
  symlinkSync("nowhere", folder.join("CLAUDE.md"));
  const { diagnostics } = await loadDefinition(folder.path);
  expect(diagnostics).toMatchObject([
    { file: "persona.md", problem: expect.stringContaining("is a folder") },
    { file: "AGENTS.md", problem: "is not a regular file" },
    { file: "CLAUDE.md", problem: "does not exist" },
  ]);
});

test("[F18] of a huge file the host reads no more than its bound, and says so; a module or models.json is refused", async () => {
  using folder = new TempFolder().write({ "lichen.config.ts": emptyConfig, "AGENTS.md": "é" });
  const huge = { "persona.md": "You are Ada.", "skills/fill/SKILL.md": skill, "tools/a.ts": "" };
  folder.write(huge);
  for (const name of Object.keys(huge)) truncateSync(folder.join(name), 3 * gibibyte);
  writeFileSync(folder.join("AGENTS.md"), `x${"é".repeat(200_000)}`);
  const { definition, diagnostics } = await loadDefinition(folder.path);
  expect(definition.persona).toMatch(/^You are Ada\./);
  expect(definition.persona?.length).toBe(262_144);
  expect(definition.contextFiles[0]?.content).toBe(`x${"é".repeat(131_071)}`);
  expect(definition.skills).toMatchObject([{ name: "fill" }]);
  expect(diagnostics).toMatchObject([
    { file: "persona.md", problem: expect.stringContaining("larger than 256 KiB") },
    { file: "AGENTS.md", problem: expect.stringContaining("larger than 256 KiB") },
    { file: "skills/fill/SKILL.md", problem: expect.stringContaining("larger than 256 KiB") },
    { file: "tools/a.ts", problem: expect.stringContaining("larger than 4 MiB") },
  ]);
  writeFileSync(folder.join("models.json"), "{}");
  truncateSync(folder.join("models.json"), 3 * gibibyte);
  await expect(loadDefinition(folder.path)).rejects.toMatchObject({
    message: "models.json: it is larger than 1 MiB.",
  });
});

test("[F19] what lies in a directory where every user puts files is nobody's project context", async () => {
  using everybodys = new TempFolder().write({
    "AGENTS.md": "A stranger's rules.",
    "mine/AGENTS.md": "My rules.",
    "mine/bot/lichen.config.ts": emptyConfig,
  });
  chmodSync(everybodys.path, 0o1777);
  const { definition, diagnostics } = await loadDefinition(everybodys.join("mine"));
  expect(definition.instructions).toContain("My rules.");
  expect(definition.instructions).not.toContain("stranger");
  expect(diagnostics).toMatchObject([
    { file: "../../AGENTS.md", problem: expect.stringContaining("every user puts files") },
  ]);
});

test("[F19] above the working directory, what another user has written is not read", async () => {
  using work = new TempFolder().write({
    "AGENTS.md": "A stranger's rules.",
    "mine/AGENTS.md": "The project's rules.",
    "mine/bot/lichen.config.ts": emptyConfig,
    "mine/bot/AGENTS.md": "Own rules.",
  });
  const { getuid } = process;
  if (!getuid) throw new Error("These tests need users.");
  const own = getuid();
  // All these files are now somebody else's.
  process.getuid = () => own + 1;
  try {
    const { definition, diagnostics } = await loadDefinition(work.join("mine"));
    expect(definition.contextFiles.map(({ content }) => content)).toEqual([
      "Own rules.",
      "The project's rules.",
    ]);
    expect(diagnostics).toMatchObject([
      { file: "../../AGENTS.md", problem: expect.stringContaining("another user") },
    ]);
  } finally {
    process.getuid = getuid;
  }
});

test("[F20] an agent that wants no project context gets its own AGENTS.md alone; the examples are such agents", async () => {
  using work = new TempFolder().write({
    "AGENTS.md": "The project's rules.",
    "bot/lichen.config.ts": "export default { projectContext: false };\n",
    "bot/AGENTS.md": "Own rules.",
  });
  for (const cwd of [work.path, work.join("bot")]) {
    const { definition } = await loadDefinition(cwd);
    expect(definition.contextFiles.map(({ content }) => content)).toEqual(["Own rules."]);
  }
  for (const name of ["hello", "notes"]) {
    const path = new URL(`../../../../examples/${name}`, import.meta.url).pathname;
    expect((await loadDefinition(path)).definition.contextFiles).toEqual([]);
  }
});
