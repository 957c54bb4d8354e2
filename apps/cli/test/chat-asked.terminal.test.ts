import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { scriptedEngine } from "@lichen/runtime/testing";
import { listenHost, openHost } from "@lichen/server/node";
import type { Json } from "@lichen/wire";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { openChat, say } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";
import type { Terminal } from "./terminal.ts";

const asking = noteTool.replace("description:", "confirm: true,\n  description:");

interface Size {
  readonly cols?: number;
  readonly rows?: number;
}

/** A chat in which the agent asks whether it may note this; the keys are with the question. */
async function askedToNote(home: Home, text: string, size: Size = {}): Promise<Terminal> {
  const dir = await writeAgent(home, { "tools/note.ts": asking });
  const calls = { parts: [{ call: { name: "note", input: { text } } }] };
  await Provider.start(home, dir, { steps: [calls, "So be it."] });
  await StartedHost.start(home, dir);
  const chat = await openChat(home, dir, { session: "s", ...size });
  await chat.until("one");
  await say(chat, "Note it");
  await chat.until("Deny with a reason");
  await chat.press("Tab");
  await chat.until("→ 1 Allow");
  return chat;
}

function noted(home: Home): Promise<string> {
  return readFile(home.path("agent", "notes.txt"), "utf8");
}

/** A chat whose agent asks what a harness of others may: suggestions, questions. */
async function askedBy(
  home: Home,
  ask: { kind: "tool" | "question" } & Record<string, Json>,
  size: Size,
  use: (chat: Terminal, answers: unknown[]) => Promise<void>,
): Promise<void> {
  const config = "export default { codingTools: false };\n";
  const dir = await writeAgent(home, { "lichen.config.ts": config });
  const answers: unknown[] = [];
  const engine = scriptedEngine([
    { ask },
    {
      say: (seen) => {
        answers.push(...seen.answers);
        return "Thank you.";
      },
    },
  ]);
  const state = home.path("state");
  const report = (error: unknown) => console.error(error);
  const host = await openHost({ dir, state, report, around: { engine: () => engine } });
  const listening = await listenHost({
    owner: host.owner,
    stateDir: host.stateDir,
    platform: host.platform,
    port: 0,
    log: ({ error }) => report(error),
    close: (options) => host.close(options),
  });
  try {
    await using chat = await openChat(home, dir, {
      session: "s",
      args: ["--state", state],
      ...size,
    });
    await chat.until("enter");
    await say(chat, "Ask me");
    await chat.until("tab answers this");
    await chat.press("Tab");
    await chat.untilGone("tab answers this");
    await use(chat, answers);
  } finally {
    await listening.drain();
  }
}

test("[U28] an input that is kept beside the log is read back whole before it can be allowed", async () => {
  await using home = await Home.make();
  const text = `${Array.from({ length: 9_000 }, (_, at) => `line ${at}`).join("\n")}\nrm -rf it`;
  await using chat = await askedToNote(home, text, { rows: 36 });
  const lines = await chat.until("rm -rf it");
  expect(lines.join("\n")).toMatch(/line 0\n[^]*… \d{4} more lines · page down[^]*rm -rf it/);
  await chat.press("Enter");
  await chat.until("So be it.");
  expect(await noted(home)).toBe(`${text}\n`);
});

test("[U3] an input that is kept beside the log is edited whole, blanks and all", async () => {
  await using home = await Home.make();
  await using chat = await askedToNote(home, `rm -rf x${" ".repeat(100_000)}; evil\u202e!`);
  await chat.until("\\u{0020}×100000; evil\\u{202e}!");
  await chat.press("Down");
  await chat.until("→ 2 Edit");
  await chat.press("Enter");
  await chat.until(/evil\\u202e!"/);
  await chat.press("Up", "End", "BSpace");
  await chat.type(' and more"');
  await chat.until("and more");
  await chat.press("C-s");
  await chat.until("So be it.");
  expect(await noted(home)).toBe(`rm -rf x${" ".repeat(100_000)}; evil\u202e! and more\n`);
});

test("[U3] on a small screen a long input is read to its end by the page keys, and what is left out is counted", async () => {
  await using home = await Home.make();
  const text = Array.from({ length: 60 }, (_, at) => `line ${at}.`).join("\n");
  await using chat = await askedToNote(home, text, { cols: 40, rows: 16 });
  const seen = new Set<string>();
  const look = (lines: readonly string[]) => {
    for (const [line] of lines.join("\n").matchAll(/line \d+\./g)) seen.add(line);
  };
  look(await chat.until(/… \d+ more lines · page down/));
  for (let above = -1; ;) {
    await chat.press("PageDown");
    const before = above;
    const lines = await chat.until((all) => {
      const told = /… (\d+) above, (\d+) below/.exec(all.join("\n"));
      above = Number(told?.[1] ?? before);
      return above > before;
    }, "a page further down");
    look(lines);
    expect(lines.join("\n")).toContain("Deny with a reason");
    if (lines.join("\n").includes(", 0 below")) break;
  }
  expect(seen.size).toBe(60);
  await chat.press("C-Home");
  await chat.until(/… \d+ more lines · page down/);
  expect(existsSync(home.path("agent", "notes.txt"))).toBe(false);
});

test("[U3] what always would mean is read before it is chosen", async () => {
  await using home = await Home.make();
  const suggestions = [
    {
      type: "addRules",
      rules: [{ toolName: "Bash", ruleContent: "ls:*" }],
      behavior: "allow",
      destination: "userSettings",
    },
    { label: "Bash(rm -rf *)" },
    { label: "all of it" },
  ];
  const ask = { kind: "tool", tool: "Bash", input: { command: "ls" }, suggestions } as const;
  await askedBy(home, ask, {}, async (chat, answers) => {
    await chat.press("Down", "Enter");
    const lines = await chat.until("Really, always");
    for (const words of [
      "addRules allow Bash(ls:*)",
      "all your projects",
      "Bash(rm -rf *)",
      "all of it",
      "→ 1 Back",
    ])
      expect(lines.join("\n")).toContain(words);
    await chat.press("Enter");
    await chat.until("Deny with a reason");
    expect(answers).toEqual([]);
    await chat.press("Enter");
    await chat.until("Really, always");
    await chat.press("Down");
    await chat.until("→ 2 Really, always");
    await chat.press("Enter");
    await chat.until("Thank you.");
    expect(answers).toMatchObject([{ outcome: "allowed", always: true }]);
  });
});

test("[U3] a question stands above all that is said of it, which is read by the page keys", async () => {
  await using home = await Home.make();
  const description = `${"Much is said of it. ".repeat(60)}The end of it.`;
  const label = `A label that no row of forty columns can take\nand that goes on ${"on ".repeat(9)}`;
  const questions = [{ question: "Which\u200b way?", options: ["left", { label }] }];
  const ask = { kind: "question", description, questions } as const;
  await askedBy(home, ask, { cols: 40, rows: 20 }, async (chat, answers) => {
    const lines = await chat.until("Do not answer");
    expect(lines.join("\n")).toContain("? Which\\u{200b} way?");
    expect(lines.join("\n")).toMatch(/… \d+ more lines · page down/);
    await chat.press("C-End");
    const end = await chat.until("The end of it.");
    expect(end.join("\n")).toContain("? Which\\u{200b} way?");
    await chat.press("C-Home", "C-Down");
    await chat.until("and that goes on");
    await chat.press("Down");
    await chat.until("→ 2 A label");
    await chat.press("Enter");
    await chat.until("Thank you.");
    expect(answers).toMatchObject([{ answers: { "Which\u200b way?": label } }]);
  });
});
