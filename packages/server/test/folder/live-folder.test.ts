import { rmSync, utimesSync } from "node:fs";
import { expect, test } from "vitest";
import { AgentFolder } from "../../src/folder/host/agent-folder.ts";
import { emptyConfig, TempFolder, toolFile } from "./temp-folder.ts";

/** Dates every file of the folder back, as if it had been left alone for a while. */
function age(folder: TempFolder, ...names: string[]): void {
  const then = new Date(Date.now() - 60_000);
  for (const name of names) utimesSync(folder.join(name), then, then);
}

test("[F14] every load gives the folder as it stands: words, skills, tools, settings", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "persona.md": "You are one.",
    "tools/count.ts": toolFile("execute: () => 1"),
  });
  const agent = await AgentFolder.open(folder.path);
  try {
    const run = async () => {
      const { definition } = await agent.load();
      const tool = definition.tools.find(({ name }) => name === "count");
      return tool?.execute({}, {} as never);
    };
    expect(await run()).toBe(1);
    folder.write({
      "persona.md": "You are two.",
      "tools/count.ts": toolFile("execute: () => 2"),
      "tools/new.ts": toolFile("execute: () => 3"),
      "skills/fill/SKILL.md": "---\nname: fill\ndescription: Fills.\n---\n",
      "lichen.config.ts": 'export default { model: "a/b" };\n',
    });
    const { definition } = await agent.load();
    expect(await run()).toBe(2);
    expect(definition.instructions).toContain("You are two.");
    expect(definition.tools.map(({ name }) => name)).toEqual(["count", "new"]);
    expect(definition.skills).toHaveLength(1);
    expect(definition.config.model).toBe("a/b");
    rmSync(folder.join("tools/count.ts"));
    expect(await run()).toBeUndefined();
  } finally {
    agent.close();
  }
});

test("[F14] an unchanged folder is not read again, and an unchanged tool is not imported again", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "persona.md": "Same.",
    "tools/count.ts": toolFile("execute: () => 1"),
  });
  age(folder, "lichen.config.ts", "persona.md", "tools/count.ts", "tools");
  const agent = await AgentFolder.open(folder.path);
  try {
    const first = await agent.load();
    expect((await agent.load()).definition).toBe(first.definition);
    folder.write({ "persona.md": "Other." });
    const second = await agent.load();
    expect(second.definition).not.toBe(first.definition);
    expect(second.definition.tools[0]?.parameters).toBe(first.definition.tools[0]?.parameters);
  } finally {
    agent.close();
  }
});

test("[F14] two edits within one tick of the clock are both seen", async () => {
  using folder = new TempFolder().write({ "lichen.config.ts": emptyConfig });
  const agent = await AgentFolder.open(folder.path);
  try {
    const now = new Date();
    for (const text of ["One.", "Two."]) {
      folder.write({ "persona.md": text });
      utimesSync(folder.join("persona.md"), now, now);
      expect((await agent.load()).definition.persona).toBe(text);
    }
  } finally {
    agent.close();
  }
});

test("[F14] loads that overlap an edit never hand out what stood before they were asked", async () => {
  using folder = new TempFolder().write({ "lichen.config.ts": emptyConfig, "persona.md": "0" });
  const agent = await AgentFolder.open(folder.path);
  try {
    const loads: Promise<number>[] = [];
    for (let n = 1; n <= 20; n++) {
      folder.write({ "persona.md": String(n) });
      loads.push(
        agent.load().then(({ definition }) => {
          const seen = Number(definition.persona);
          return seen - n;
        }),
      );
    }
    for (const ahead of await Promise.all(loads)) expect(ahead).toBeGreaterThanOrEqual(0);
  } finally {
    agent.close();
  }
});

test("[F15] a config that breaks while the agent runs is reported, and the last one that worked stays in use", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": 'export default { model: "a/b" };\n',
  });
  const agent = await AgentFolder.open(folder.path);
  try {
    folder.write({ "lichen.config.ts": 'export default { modle: "c/d" };\n' });
    const broken = await agent.load();
    expect(broken.definition.config.model).toBe("a/b");
    expect(broken.diagnostics).toMatchObject([
      { severity: "error", file: "lichen.config.ts", problem: expect.stringContaining('"modle"') },
    ]);
    folder.write({ "lichen.config.ts": 'export default { model: "c/d" };\n' });
    const mended = await agent.load();
    expect(mended.definition.config.model).toBe("c/d");
    expect(mended.diagnostics).toEqual([]);
  } finally {
    agent.close();
  }
});

test("[F15] a tool that failed because of a file beside it works once that file is mended and the tool touched", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "tools/a.ts": toolFile(
      "execute: () => word",
      'import { defineTool, z } from "lichen";\nimport { word } from "./lib/word.ts";',
    ),
  });
  const agent = await AgentFolder.open(folder.path);
  try {
    expect((await agent.load()).definition.tools).toEqual([]);
    folder.write({ "tools/lib/word.ts": 'export const word = "hi";\n' });
    utimesSync(folder.join("tools/a.ts"), new Date(), new Date());
    const { definition, diagnostics } = await agent.load();
    expect(diagnostics).toEqual([]);
    expect(definition.tools[0]?.execute({}, {} as never)).toBe("hi");
  } finally {
    agent.close();
  }
});

test("[F16] the host's modules are lent to the agent's folder only, and a zod of its own is left alone", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "node_modules/zod/package.json":
      '{"name":"zod","version":"9.9.9","type":"module","exports":"./index.js"}',
    "node_modules/zod/index.js": 'export const mine = "own zod";\n',
    "node_modules/lichen/package.json": '{"name":"lichen","type":"module","exports":"./index.js"}',
    "node_modules/lichen/index.js": "throw new Error('a second lichen');\n",
    "tools/a.ts":
      'import { mine } from "zod";\nimport { defineTool, z } from "lichen";\nexport default defineTool({ description: mine, input: z.object({}), execute: () => 1 });\n',
  });
  using outside = new TempFolder().write({ "b.mjs": 'export default await import("lichen");\n' });
  const agent = await AgentFolder.open(folder.path);
  try {
    const { definition, diagnostics } = await agent.load();
    expect(diagnostics).toEqual([]);
    expect(definition.tools).toMatchObject([{ description: "own zod" }]);
    await expect(import(/* @vite-ignore */ outside.join("b.mjs"))).rejects.toThrow(
      "Cannot find package 'lichen'",
    );
  } finally {
    agent.close();
  }
});
