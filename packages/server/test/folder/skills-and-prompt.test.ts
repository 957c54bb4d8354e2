import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as yaml from "yaml";
import { loadDefinition } from "../../src/folder/host/agent-folder.ts";
import { parseSkill, plainFrontmatter } from "../../src/folder/skill.ts";
import { emptyConfig, TempFolder } from "./temp-folder.ts";

const front = (lines: string) => `---\n${lines}\n---\n\nDo it.\n`;

test("[F12] a skill's frontmatter is read whole", async () => {
  expect(
    await parseSkill(
      front(
        'name: pdf-forms\ndescription: Fills forms.\nlicense: MIT\ncompatibility: needs qpdf\nmetadata:\n  author: Ada\n  version: "1.0"\nallowed-tools: bash read',
      ),
      "pdf-forms",
    ),
  ).toEqual({
    problems: [],
    skill: {
      name: "pdf-forms",
      description: "Fills forms.",
      license: "MIT",
      compatibility: "needs qpdf",
      metadata: { author: "Ada", version: "1.0" },
      allowedTools: "bash read",
    },
  });
  const windows = "\uFEFF---\r\nname: a\r\ndescription: B\r\n---\r\nText";
  expect((await parseSkill(windows, "a")).skill).toMatchObject({ name: "a", description: "B" });
});

test("[F12] a skill that breaks the format is not used and says why; slight faults leave it usable", async () => {
  const problems = async (source: string, name = "a") =>
    (await parseSkill(source, name)).problems.join("; ");
  expect(await problems("# No frontmatter")).toContain("begins with no frontmatter");
  expect(await problems(front("name: a\ndescription: [x"))).toContain("no YAML (line 3)");
  expect(await problems(front("description: B"))).toContain("name is missing");
  expect(await problems(front("name: b\ndescription: B"))).toContain(
    'must be the name of its folder, "a"',
  );
  expect(await problems(front("name: A_b\ndescription: B"), "A_b")).toContain(
    "a-z, 0-9 and single hyphens",
  );
  expect(await problems(front("name: a--b\ndescription: B"), "a--b")).toContain("single hyphens");
  const long = "a".repeat(65);
  expect(await problems(front(`name: ${long}\ndescription: B`), long)).toContain("longer than 64");
  expect(await problems(front("name: a"))).toContain("description is missing");
  expect(await problems(front(`name: a\ndescription: ${"x".repeat(1_025)}`))).toContain("1,024");
  const slight = await parseSkill(
    front(
      `name: a\ndescription: B\ncompatibility: ${"x".repeat(501)}\nmetadata:\n  n: 1\nmodel: x`,
    ),
    "a",
  );
  expect(slight.skill).toEqual({ name: "a", description: "B", metadata: {} });
  expect(slight.problems).toEqual([
    '"model" is not a key of a skill',
    "compatibility is longer than 500 characters",
    "metadata is not a map of texts",
  ]);
});

test("[F12] YAML that would grow without bound is refused", async () => {
  const bomb = Array.from({ length: 12 }, (_, n) =>
    n === 0
      ? "a0: &a0 [x]"
      : `a${n}: &a${n} [${Array(12)
          .fill(`*a${n - 1}`)
          .join(",")}]`,
  ).join("\n");
  expect((await parseSkill(front(bomb), "a")).skill).toBeUndefined();
});

test("[F12] frontmatter of plain words is what YAML reads, and anything else is left to YAML", () => {
  const words = fc.stringMatching(/^[A-Za-z][\w ,.'()!?;/+:#&*"[\]{}-]{0,30}$/);
  const key = fc.constantFrom("name", "description", "license", "allowed-tools");
  let plain = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(key, words), { minLength: 1, maxLength: 4 }), (lines) => {
      const text = lines.map(([of, value]) => `${of}: ${value}`).join("\n");
      const front = plainFrontmatter(text);
      if (front === undefined) return;
      plain++;
      expect(yaml.parse(text)).toEqual(front);
    }),
    { numRuns: 1_000 },
  );
  expect(plain).toBeGreaterThan(50);
  for (const other of ["name: true", "name: 1", "name: a: b", "a: b\na: c", "name: a # b", "- a"])
    expect([other, plainFrontmatter(other)]).toEqual([other, undefined]);
});

test("[F13] the prompt is persona, project context from the outside in, skills, working directory, and no date", async () => {
  using folder = new TempFolder().write({
    "project/AGENTS.md": "Outer rules.",
    "project/CLAUDE.md": "Not read beside AGENTS.md.",
    "project/work/CLAUDE.md": "Inner rules.",
    "project/work/bot/lichen.config.ts": emptyConfig,
    "project/work/bot/persona.md": "You are Ada.\n",
    "project/work/bot/AGENTS.md": "The bot's own rules.",
    "project/work/bot/skills/fill/SKILL.md": front("name: fill\ndescription: Fills\n  forms."),
    "project/work/bot/skills/broken/SKILL.md": "nothing",
    "project/work/bot/skills/notes.txt": "not a skill",
  });
  const { definition, diagnostics } = await loadDefinition(folder.join("project/work"));
  const prompt = definition.instructions;
  const places = [
    "You are Ada.",
    "The bot's own rules.",
    "Outer rules.",
    "Inner rules.",
    "- fill: Fills forms. (bot/skills/fill/SKILL.md)",
    `Your working directory is ${folder.join("project/work")}`,
  ].map((text) => prompt.indexOf(text));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(prompt).not.toContain("Not read beside");
  expect(prompt).not.toContain(String(new Date().getFullYear()));
  expect(definition.persona).toBe("You are Ada.\n");
  expect(diagnostics).toMatchObject([{ severity: "error", file: "skills/broken/SKILL.md" }]);
});

test("[F13] an agent without a persona has a default one, and its own AGENTS.md stands once", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "AGENTS.md": "Rule one.",
  });
  const { definition } = await loadDefinition(folder.path);
  expect(definition.instructions).toMatch(/^You are a capable, honest assistant\./);
  expect(definition.instructions.split("Rule one.")).toHaveLength(2);
});

test("[F13] skills without a read tool are reported, because the model cannot open them", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": "export default { codingTools: false };",
    "skills/fill/SKILL.md": front("name: fill\ndescription: Fills."),
  });
  const { diagnostics } = await loadDefinition(folder.path);
  expect(diagnostics).toMatchObject([{ problem: expect.stringContaining("no read tool") }]);
});

test("[F13] a very long context file is cut and reported", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "AGENTS.md": "x".repeat(300_000),
  });
  const { definition, diagnostics } = await loadDefinition(folder.path);
  expect(definition.contextFiles[0]?.content.length).toBe(262_144);
  expect(diagnostics).toMatchObject([{ severity: "warning", file: "AGENTS.md" }]);
});
