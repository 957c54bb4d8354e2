import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { aboveEditor, openChat, say, setModels } from "./chat.ts";
import { Home } from "./process.ts";

test("[U1] an answer appears as it is written, its thinking before it, and the foot says what was used", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, {
    steps: [
      {
        parts: [
          { thinking: "First I weigh it.\nThen I decide." },
          { gate: "thought" },
          { text: "The answer is" },
          { gate: "half" },
          { text: " **forty-two**." },
        ],
        usage: { input: 1_200, output: 340 },
      },
    ],
  });
  await setModels(dir, [{ id: "one", reasoning: true }]);
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("scripted/one");
  await say(chat, "What is it?");
  await chat.until("▌ What is it?");
  await provider.atGate("thought");
  await chat.until("Then I decide.");
  await provider.open("thought");
  await chat.until("The answer is");
  await provider.atGate("half");
  await chat.until(/working/);
  await provider.open("half");
  await chat.until("The answer is forty-two.");
  const lines = await chat.until(/↑1\.2 k ↓340/);
  expect(aboveEditor(lines).join("\n")).not.toContain("**");
  await chat.until(/ready/);
  const styled = (await chat.styled()).find((line) => line.includes("forty-two"));
  expect(styled).toContain("\u001b[1mforty-two");
});

test("[U1] a tool call shows how it stands; what it put out is folded until it is unfolded", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "tools/count.ts": `
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Counts.",
  label: "read",
  input: z.object({ to: z.number() }),
  execute: ({ to }) => Array.from({ length: to }, (_, at) => "number " + (at + 1)).join("\\n"),
});
`,
  });
  await Provider.start(home, dir, {
    steps: [
      { parts: [{ text: "I count." }, { call: { name: "count", input: { to: 40 } } }] },
      "Counted.",
    ],
  });
  await using chat = await openChat(home, dir, { session: "s", rows: 60 });
  await chat.until("scripted/one");
  await say(chat, "Count to 40");
  const folded = (await chat.until("Counted.")).join("\n");
  expect(folded).toMatch(/✓ count/);
  expect(folded).toContain("number 1");
  expect(folded).toMatch(/28 lines, ctrl\+o/);
  expect(folded).not.toContain("number 20");
  await chat.press("C-o");
  await chat.until("number 20");
  await chat.press("C-o");
  await chat.untilGone("number 20");
});

test("[U2] an edit shows as a diff: what went, what came, and where", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "lichen.config.ts": `import { defineConfig } from "lichen";\nexport default defineConfig({});\n`,
  });
  await writeFile(home.path("agent", "plan.md"), "# Plan\n\nMonday: rest\nTuesday: work\n");
  const edits = [{ oldText: "Monday: rest", newText: "Monday: run" }];
  await Provider.start(home, dir, {
    steps: [{ parts: [{ call: { name: "edit", input: { path: "plan.md", edits } } }] }, "Changed."],
  });
  await using chat = await openChat(home, dir, { session: "s", rows: 40 });
  await chat.until("scripted/one");
  await say(chat, "Make me run");
  const lines = (await chat.until("Changed.")).join("\n");
  expect(lines).toMatch(/3 - Monday: rest/);
  expect(lines).toMatch(/3 \+ Monday: run/);
  expect(lines).toMatch(/4 {3}Tuesday: work/);
});
