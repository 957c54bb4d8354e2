import { symlinkSync, utimesSync } from "node:fs";
import type { Tool, ToolContext } from "@lichen/engine";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/folder/define-tool.ts";
import { AgentFolder, loadDefinition } from "../../src/folder/host/agent-folder.ts";
import { emptyConfig, TempFolder, toolFile } from "./temp-folder.ts";

const coding = ["read", "write", "edit", "bash", "grep", "find", "ls"].map((name) =>
  defineTool({ name, description: name, input: z.object({}), execute: () => name }),
);

const nowhere = new AbortController();

function context(tools: Partial<ToolContext["tools"]> = {}): ToolContext {
  return {
    cwd: "/",
    signal: nowhere.signal,
    session: { agent: "a", session: "s", commandId: "cmd_1" },
    tools: { active: () => [], registered: () => [], activate: async () => [], ...tools },
    output: () => undefined,
    ask: () => Promise.reject(new Error("Nobody can be asked.")),
  };
}

function run(tools: readonly Tool[], name: string, input: unknown = {}): unknown {
  const tool = tools.find((it) => it.name === name);
  if (!tool) throw new Error(`There is no tool ${name}.`);
  return tool.execute(tool.parse(input), context());
}

test("[F4] a file in tools/ is a tool of its file's name, in a folder without node_modules", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "tools/greet.ts": `
      import { defineTool, z } from "lichen";
      import { helper } from "./lib/helper.ts";
      type Name = string;
      export default defineTool({
        name: "ignored", description: "Greets.", label: "read",
        input: z.object({ name: z.string(), loud: z.boolean().default(false) }),
        execute({ name, loud }, { cwd }) { return helper(name as Name, loud) + cwd; },
      });`,
    "tools/lib/helper.ts":
      'import * as z from "zod";\nexport const helper = (name: string, loud: boolean) => z.string().parse(loud ? name.toUpperCase() : name);\n',
    "tools/plain.mjs":
      'import { defineTool, z } from "lichen";\nexport default defineTool({ description: "Plain.", input: z.object({}), execute: () => ({ a: 1 }) });\n',
    "tools/types.d.ts": "export type A = 1;\n",
    "tools/README.md": "Nothing.\n",
  });
  const { definition, diagnostics } = await loadDefinition(folder.path);
  expect(diagnostics).toEqual([]);
  expect(definition.tools.map(({ name }) => name)).toEqual(["greet", "plain"]);
  expect(run(definition.tools, "greet", { name: "ada", loud: true })).toBe("ADA/");
  expect(definition.tools[0]).toMatchObject({
    label: "read",
    parameters: {
      type: "object",
      required: ["name"],
      properties: { name: { type: "string" }, loud: { type: "boolean", default: false } },
    },
  });
  expect(definition.tools[1]).toMatchObject({ label: "write" });
});

test("[F5] a broken tool is reported with its file and what to do, and the others work", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "tools/good.ts": toolFile('execute: () => "good"'),
    "tools/syntax.ts": "export default {\n  a: 1,\n  b: }\n",
    "tools/missing.ts": 'import "./nowhere.ts";\nexport default 1;\n',
    "tools/throws.ts": 'throw new Error("no key in " + import.meta.dirname);\n',
    "tools/bare.ts": "export default { execute() {} };\n",
    "tools/list.ts":
      'import { defineTool, z } from "lichen";\nexport default defineTool({ description: "x", input: z.array(z.string()), execute: () => 1 });\n',
    "tools/bad name.ts": toolFile("execute: () => 1"),
  });
  const { definition, diagnostics } = await loadDefinition(folder.path);
  expect(definition.tools.map(({ name }) => name)).toEqual(["good"]);
  expect(run(definition.tools, "good")).toBe("good");
  const problem = (file: string) => diagnostics.find((it) => it.file === file)?.problem;
  expect(diagnostics).toHaveLength(6);
  expect(problem("tools/syntax.ts")).toContain("line 3");
  expect(problem("tools/missing.ts")).toContain("tools/nowhere.ts");
  expect(problem("tools/throws.ts")).toContain("no key in");
  expect(problem("tools/bare.ts")).toContain("no tool as its default export");
  expect(problem("tools/list.ts")).toContain("must be a z.object");
  expect(problem("tools/bad name.ts")).toContain("cannot be a tool's name");
  for (const diagnostic of diagnostics) {
    expect(diagnostic.severity).toBe("error");
    expect(JSON.stringify(diagnostic)).not.toContain(folder.path);
    expect(diagnostic.fix).not.toBe("");
  }
});

test("[F5] a tool that never finishes loading is given up, and the others work", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "tools/good.ts": toolFile('execute: () => "good"'),
    "tools/waits.ts": "await new Promise(() => {});\nexport default 1;\n",
  });
  const { definition, diagnostics } = await loadDefinition(folder.path, { loadMs: 500 });
  expect(definition.tools.map(({ name }) => name)).toEqual(["good"]);
  expect(diagnostics).toMatchObject([
    { file: "tools/waits.ts", problem: expect.stringContaining("not done loading after 0.5 s") },
  ]);
});

test("[F24] a module that is late is waited for once, counts as soon as it is there, and begins anew once it is touched", async () => {
  const begun: (() => void)[] = [];
  Object.assign(globalThis, { lichenLate: () => new Promise<void>((done) => begun.push(done)) });
  onTestFinished(() => void Reflect.deleteProperty(globalThis, "lichenLate"));
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "tools/slow.ts": `await globalThis.lichenLate();\n${toolFile("execute: () => 1")}`,
  });
  const agent = await AgentFolder.open(folder.path, { loadMs: 1_000 });
  try {
    const names = async () => (await agent.load()).definition.tools.map(({ name }) => name);
    expect(await names()).toEqual([]);
    expect((await agent.load()).diagnostics).toMatchObject([
      { file: "tools/slow.ts", problem: expect.stringContaining("not done loading after 1 s") },
    ]);
    // Read several times, since it is so new; asked once.
    expect(begun).toHaveLength(1);
    utimesSync(folder.join("tools/slow.ts"), new Date(0), new Date(0));
    expect(await names()).toEqual([]);
    expect(begun).toHaveLength(2);
    begun[1]?.();
    await expect.poll(names).toEqual(["slow"]);
    expect((await agent.load()).diagnostics).toEqual([]);
  } finally {
    agent.close();
  }
});

test("[F6] a link that leaves the folder is not loaded", async () => {
  using outside = new TempFolder().write({ "evil.ts": toolFile('execute: () => "evil"') });
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "shared/inside.ts": toolFile('execute: () => "inside"'),
    "tools/own.ts": toolFile('execute: () => "own"'),
    "skills/real/SKILL.md": "---\nname: real\ndescription: Real.\n---\n",
  });
  outside.write({ "skill/SKILL.md": "---\nname: linked\ndescription: Linked.\n---\n" });
  symlinkSync(outside.join("evil.ts"), folder.join("tools/evil.ts"));
  symlinkSync(folder.join("shared/inside.ts"), folder.join("tools/inside.ts"));
  symlinkSync(outside.join("skill"), folder.join("skills/linked"));
  const { definition, diagnostics } = await loadDefinition(folder.path);
  expect(definition.tools.map(({ name }) => name)).toEqual(["inside", "own"]);
  expect(definition.skills.map(({ name }) => name)).toEqual(["real"]);
  expect(diagnostics.map(({ file }) => file).sort()).toEqual([
    "skills/linked/SKILL.md",
    "tools/evil.ts",
  ]);
});

test("[F7] coding tools come first, then the config's, then those of tools/; the first of a name wins and the loser is reported", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": `
      import { defineTool, z } from "lichen";
      const tool = (name) => defineTool({ name, description: "config", input: z.object({}), execute: () => "config" });
      export default { codingTools: ["read"], tools: [tool("read"), tool("bash"), tool("greet")] };`,
    "tools/greet.ts": toolFile('execute: () => "file"'),
  });
  const { definition, diagnostics } = await loadDefinition(folder.path, {
    codingTools: () => coding,
  });
  expect(definition.tools.map(({ name }) => name)).toEqual(["read", "bash", "greet"]);
  expect(run(definition.tools, "read")).toBe("read");
  expect(run(definition.tools, "bash")).toBe("config");
  expect(run(definition.tools, "greet")).toBe("config");
  expect(diagnostics.map(({ severity, file }) => [severity, file])).toEqual([
    ["warning", "lichen.config.ts"],
    ["warning", "tools/greet.ts"],
  ]);
});

test("[F7] all coding tools are on by default, and codingTools: false leaves none", async () => {
  using folder = new TempFolder().write({ "lichen.config.ts": emptyConfig });
  const all = await loadDefinition(folder.path, { codingTools: () => coding });
  expect(all.definition.tools).toHaveLength(7);
  folder.write({ "lichen.config.ts": "export default { codingTools: false };" });
  const none = await loadDefinition(folder.path, { codingTools: () => coding });
  expect(none.definition.tools).toEqual([]);
});

test("[F8] what is recorded of a call is what its function gets, and the function gets it parsed", () => {
  const seen: unknown[] = [];
  const tool = defineTool({
    description: "Books.",
    input: z.object({
      day: z.iso.date().transform((text) => new Date(text)),
      seats: z.int().default(2),
    }),
    confirm: ({ day }) => (day.getUTCDay() === 0 ? "Really on a Sunday?" : undefined),
    execute: (input) => seen.push(input),
  });
  const input = tool.parse({ day: "2026-11-29" });
  expect(input).toEqual({ day: "2026-11-29" });
  expect(tool.parse(input)).toEqual(input);
  void tool.execute(input, context());
  expect(seen).toEqual([{ day: new Date("2026-11-29"), seats: 2 }]);
  if (typeof tool.confirm !== "function") throw new Error("confirm is no function");
  expect(tool.confirm(input)).toBe("Really on a Sunday?");
  expect(tool.confirm({ day: "2026-11-30" })).toBeUndefined();

  const plain = defineTool({
    description: "Counts.",
    input: z.object({ from: z.int().default(1) }),
    execute: ({ from }) => from,
  });
  expect(plain.parse({ extra: true })).toEqual({ from: 1 });
  expect(() => plain.parse({ from: "x" })).toThrow(/^from: /);
});

test("[F9] the owner can make a tool ask before each call; a name that is no tool is reported with the nearest", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": 'export default { approvals: { confirm: ["bash", "grete"] } };',
    "tools/greet.ts": toolFile("execute: () => 1"),
  });
  const { definition, diagnostics } = await loadDefinition(folder.path, {
    codingTools: () => coding,
  });
  expect(definition.tools.find(({ name }) => name === "bash")?.confirm).toBe(true);
  expect(definition.tools.find(({ name }) => name === "ls")?.confirm).toBeUndefined();
  expect(diagnostics).toMatchObject([{ severity: "warning", fix: 'did you mean "greet"?' }]);
});
