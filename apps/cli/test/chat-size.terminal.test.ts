import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { aboveEditor, openChat, say } from "./chat.ts";
import { Home } from "./process.ts";
import type { Terminal } from "./terminal.ts";

const words = Array.from({ length: 120 }, (_, at) => `word${at}`);
const table = "| name | what it does |\n| --- | --- |\n| lichen | two that live as one 世界 🪨 |\n";

/** The editor stands between two lines over the whole width, the footer below it, and nothing is left of before. */
async function isWhole(chat: Terminal, cols: number): Promise<void> {
  const border = "─".repeat(cols);
  await chat.until(
    (lines) => lines.filter((line) => line === border).length === 2,
    `an editor over ${cols} columns`,
  );
  // The foot may still learn something; the conversation is complete.
  const drawn = aboveEditor(await chat.until(/^ready/m)).join("\n");
  await chat.press("C-g");
  await chat.until((lines) => aboveEditor(lines).join("\n") === drawn, "the same, drawn anew");
}

/** The words of the answer as they stand on the screen, from the first one that does. */
function wordsOf(lines: readonly string[]): string[] {
  return lines.flatMap((line) => line.match(/\bword\d+\b/g) ?? []);
}

test.each([40, 200])(
  "[U7] on %i columns a conversation is whole: every word in its place, nothing over the edge",
  async (cols) => {
    await using home = await Home.make();
    const dir = await writeAgent(home, { "tools/note.ts": noteTool });
    const text = "a note of a length that no forty columns can take, 世界, and then some";
    await Provider.start(home, dir, {
      steps: [
        { parts: [{ text: table }, { call: { name: "note", input: { text } } }] },
        `${words.join(" ")}\n\nThe end.`,
      ],
    });
    await using chat = await openChat(home, dir, { session: "s", cols, rows: 60 });
    await chat.until("one");
    await say(chat, "a question that is longer than forty columns of a phone held upright");
    const lines = await chat.until("The end.");
    expect(wordsOf(lines)).toEqual(words);
    await isWhole(chat, cols);
  },
);

test("[U7] a screen that is resized while an answer streams, down to 20 columns and 5 rows, stays whole", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const sizes = [
    [40, 30],
    [20, 5],
    [200, 50],
    [21, 40],
    [80, 24],
  ] as const;
  const part = words.length / sizes.length;
  const gates = sizes.flatMap((_, at) => [
    { text: `${words.slice(at * part, (at + 1) * part).join(" ")} ` },
    { gate: `g${at}` },
  ]);
  const provider = await Provider.start(home, dir, {
    steps: [{ parts: [...gates, { text: "\n\nThe end." }] }],
  });
  await using chat = await openChat(home, dir, { session: "s" });
  await chat.until("one");
  await say(chat, "Talk");
  for (const [at, [cols, rows]] of sizes.entries()) {
    await provider.atGate(`g${at}`);
    await chat.until(`word${(at + 1) * part - 1}`);
    await chat.resize(cols, rows);
    await chat.until((lines) => lines.length === rows, `${rows} rows`);
    await chat.until((lines) => lines.includes("─".repeat(cols)), `${cols} columns`);
    await provider.open(`g${at}`);
  }
  const lines = await chat.until("The end.");
  expect(wordsOf(lines)).toEqual(words.slice(-wordsOf(lines).length));
  await isWhole(chat, 80);
  await chat.resize(80, 60);
  await chat.until((tall) => tall.length === 60 && wordsOf(tall).length === words.length);
});
