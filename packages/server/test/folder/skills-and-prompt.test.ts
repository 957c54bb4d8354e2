import { expect, test } from "vitest";
import { loadDefinition } from "../../src/folder/host/agent-folder.ts";
import { parseSkill } from "../../src/folder/skill.ts";
import { emptyConfig, TempFolder } from "./temp-folder.ts";

const front = (lines: string) => `---\n${lines}\n---\n\nDo it.\n`;

test("[F12] a skill's frontmatter is read whole", () => {
  expect(
    parseSkill(
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
  expect(parseSkill(windows, "a").skill).toMatchObject({ name: "a", description: "B" });
});

test("[F12] a skill that breaks the format is not used and says why; slight faults leave it usable", () => {
  const problems = (source: string, name = "a") => parseSkill(source, name).problems.join("; ");
  expect(problems("# No frontmatter")).toContain("begins with no frontmatter");
  expect(problems(front("name: a\ndescription: [x"))).toContain("no YAML (line 3)");
  expect(problems(front("description: B"))).toContain("name is missing");
  expect(problems(front("name: b\ndescription: B"))).toContain(
    'must be the name of its folder, "a"',
  );
  expect(problems(front("name: A_b\ndescription: B"), "A_b")).toContain(
    "a-z, 0-9 and single hyphens",
  );
  expect(problems(front("name: a--b\ndescription: B"), "a--b")).toContain("single hyphens");
  const long = "a".repeat(65);
  expect(problems(front(`name: ${long}\ndescription: B`), long)).toContain("longer than 64");
  expect(problems(front("name: a"))).toContain("description is missing");
  expect(problems(front(`name: a\ndescription: ${"x".repeat(1_025)}`))).toContain("1,024");
  const slight = parseSkill(
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

test("[F12] YAML that would grow without bound is refused", () => {
  const bomb = Array.from({ length: 12 }, (_, n) =>
    n === 0
      ? "a0: &a0 [x]"
      : `a${n}: &a${n} [${Array(12)
          .fill(`*a${n - 1}`)
          .join(",")}]`,
  ).join("\n");
  expect(parseSkill(front(bomb), "a").skill).toBeUndefined();
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
