import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { scriptedEngine } from "@lichen/runtime/testing";
import { listenHost, openHost } from "@lichen/server/node";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { openChat, say } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";
import type { Terminal } from "./terminal.ts";

const asking = noteTool.replace("description:", "confirm: true,\n  description:");
const callsNote = {
  parts: [{ text: "I write." }, { call: { name: "note", input: { text: "hello" } } }],
};

/** A chat in which the agent asks whether it may write a note. */
async function asked(home: Home): Promise<{ chat: Terminal; host: StartedHost }> {
  const dir = await writeAgent(home, { "tools/note.ts": asking });
  await Provider.start(home, dir, { steps: [callsNote, "So be it."] });
  const host = await StartedHost.start(home, dir);
  const chat = await openChat(home, dir, { session: "s", rows: 36 });
  await chat.until("scripted/one");
  await say(chat, "Note hello");
  await chat.until("Deny with a reason");
  await chat.press("Tab");
  await chat.until("→ 1 Allow");
  return { chat, host };
}

function notes(home: Home): Promise<string> {
  return readFile(home.path("agent", "notes.txt"), "utf8");
}

test("[U3] a call that needs a person shows what it is about to do, and runs once it is allowed", async () => {
  await using home = await Home.make();
  const { chat: opened } = await asked(home);
  await using chat = opened;
  const shown = (await chat.screen()).join("\n");
  expect(shown).toContain("note");
  expect(shown).toContain("hello");
  expect(existsSync(home.path("agent", "notes.txt"))).toBe(false);
  await chat.press("1");
  await chat.until("So be it.");
  await chat.untilGone("Deny with a reason");
  expect(await notes(home)).toBe("hello\n");
});

test("[U3] a call is denied with a reason, which the agent is told", async () => {
  await using home = await Home.make();
  const { chat: opened, host } = await asked(home);
  await using chat = opened;
  await chat.press("4");
  await chat.until("Why not?");
  await say(chat, "not on a Sunday");
  await chat.until("So be it.");
  expect(existsSync(home.path("agent", "notes.txt"))).toBe(false);
  const answered = (await host.entries("s")).find(({ kind }) => kind === "approval.answered");
  expect(JSON.stringify(answered)).toContain("not on a Sunday");
  expect((await chat.screen()).join("\n")).toContain("denied");
});

test("[U3] the input of a call is edited before it runs; what is no JSON is said and stays to be mended", async () => {
  await using home = await Home.make();
  const { chat: opened } = await asked(home);
  await using chat = opened;
  await chat.press("2");
  await chat.until("ctrl+s sends");
  await chat.until('"text": "hello"');
  // The cursor stands at the end: the closing brace goes first.
  await chat.press("BSpace");
  await chat.press("C-s");
  await chat.until("This is no JSON");
  await chat.type("}");
  await chat.press("Up", "End", "BSpace");
  await chat.type(' you all"');
  await chat.until('"text": "hello you all"');
  await chat.press("C-s");
  await chat.until("So be it.");
  expect(await notes(home)).toBe("hello you all\n");
  expect((await chat.screen()).join("\n")).toContain("input edited");
});

test("[U3] on a screen too small to show what is asked no key answers it, until there is room", async () => {
  await using home = await Home.make();
  const { chat: opened } = await asked(home);
  await using chat = opened;
  await chat.resize(40, 9);
  await chat.until("to answer, make this 14 rows tall");
  await chat.press("Down", "Enter", "Up", "Enter");
  await chat.resize(40, 20);
  await chat.until("→ 1 Allow");
  expect(existsSync(home.path("agent", "notes.txt"))).toBe(false);
  await chat.press("Enter");
  await chat.until("So be it.");
  expect(await notes(home)).toBe("hello\n");
});

test("[U3] a question takes no key from somebody who types; it is answered by a choice, and what was typed stays", async () => {
  await using home = await Home.make();
  // What this process loads itself finds no package from there.
  const config = "export default { codingTools: false };\n";
  const dir = await writeAgent(home, { "lichen.config.ts": config });
  const questions = [
    {
      question: "Which colour?",
      options: [{ label: "Red", description: "like a brick" }, { label: "Green" }],
    },
  ];
  const answers: unknown[] = [];
  const asks = Promise.withResolvers<void>();
  const engine = scriptedEngine([
    { gate: asks.promise },
    { ask: { kind: "question", questions } },
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
    await using chat = await openChat(home, dir, { session: "s", args: ["--state", state] });
    await chat.until("enter");
    await say(chat, "Ask me");
    await chat.until("working");
    await chat.type("Half a sen");
    await chat.until("Half a sen");
    asks.resolve();
    await chat.until("Which colour?");
    await chat.type("tence");
    await chat.until("Half a sentence");
    await chat.press("C-c");
    await chat.untilGone("Half a sentence");
    await chat.press("Tab", "Down");
    await chat.until("→ 2 Green");
    await chat.press("Enter");
    await chat.until("Thank you.");
    expect(answers).toMatchObject([{ answers: { "Which colour?": "Green" } }]);
  } finally {
    await listening.drain();
  }
});
