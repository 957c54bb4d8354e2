// No key that was meant for something else ever answers an approval.

import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { openChat, say } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";
import type { Terminal } from "./terminal.ts";

const asking = noteTool.replace("description:", "confirm: true,\n  description:");
const note = (text: string) => ({ call: { name: "note", input: { text } } });
const hint = "tab answers this";

interface Stage extends AsyncDisposable {
  readonly home: Home;
  readonly host: StartedHost;
  readonly chat: Terminal;
  /** Lets the model go on. */
  open(gate: string): Promise<void>;
  /** What the tool has written. */
  written(): Promise<string>;
}

async function stage(steps: readonly unknown[]): Promise<Stage> {
  const home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": asking });
  await Provider.start(home, dir, { steps, then: "The end." } as never);
  const models = await readFile(home.path("agent", "models.json"), "utf8");
  const provider = /http:[^"]+?(?=\/v1)/.exec(models)?.[0] ?? "";
  const host = await StartedHost.start(home, dir);
  const chat = await openChat(home, dir, { session: "s", rows: 30 });
  await chat.until("scripted/one");
  return {
    home,
    host,
    chat,
    open: async (gate) => {
      await (await fetch(`${provider}/gates/${gate}`, { method: "POST" })).text();
    },
    written: () => readFile(home.path("agent", "notes.txt"), "utf8").catch(() => ""),
    async [Symbol.asyncDispose]() {
      await chat[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}

const gated = (gate: string, text: string) => ({ parts: [{ gate }, note(text)] });

test("[U3] what is typed as an approval comes up is a message, digits and enter included", async () => {
  await using at = await stage([gated("g", "one")]);
  const { chat } = at;
  await say(chat, "go");
  await chat.until("working");
  await at.open("g");
  await chat.until(hint);
  await say(chat, "1) do this first");
  await chat.until("1) do this first");
  await chat.press("Enter", "y", "1");
  await chat.until(/^y1/m);
  expect(await at.written()).toBe("");
  expect((await chat.screen()).join("\n")).toContain(hint);
});

test("[U3] a second enter answers no second approval", async () => {
  await using at = await stage([{ parts: [note("one"), note("two")] }]);
  const { chat } = at;
  await say(chat, "go");
  await chat.until(hint);
  await chat.press("Tab", "Enter", "Enter", "Enter");
  await chat.until((lines) => lines.some((line) => line.includes("text: two")), "the second");
  await chat.until(hint);
  await chat.until("✓ note");
  expect(await at.written()).toBe("one\n");
});

test("[U3] what is decided elsewhere while a reason is typed leaves the rest of it nowhere to go", async () => {
  await using at = await stage([{ parts: [note("one"), note("two")] }]);
  const { chat, host } = at;
  await say(chat, "go");
  await chat.until(hint);
  await chat.press("Tab", "4");
  await chat.until("Why not?");
  await chat.type("because I ");
  const agent = await host.agent();
  const entries = await host.entries("s");
  const [first] = entries.filter(({ kind }) => kind === "approval.asked");
  const approvalId = String(first?.data["approvalId"]);
  await host.ask(`/agents/${agent}/sessions/s/commands`, {
    type: "answer",
    requestId: "elsewhere",
    approvalId,
    allow: false,
  });
  await chat.until("decided elsewhere");
  await chat.type("saw it 1");
  await chat.press("Enter");
  await chat.until("text: two");
  await chat.until(hint);
  expect(await at.written()).toBe("");
  const said = (await host.entries("s")).filter(({ kind }) => kind === "command.queued");
  expect(said).toHaveLength(1);
});

test("[U3] a search on the screen and a list keep their keys when an approval comes up", async () => {
  await using at = await stage([gated("g1", "one"), "Well.", gated("g2", "two")]);
  const { chat } = at;
  await say(chat, "go");
  await chat.until("working");
  await chat.press("F3");
  await chat.type("go");
  await at.open("g1");
  await chat.until(hint);
  await chat.press("Enter", "Enter");
  await chat.press("Escape");
  await chat.untilGone("↑ Shift+Enter");
  await chat.type("still mine");
  await chat.until(/^still mine/m);
  expect(await at.written()).toBe("");
  await chat.press("C-c");
  await chat.untilGone(/^still mine/m);
  await chat.press("Tab");
  await chat.until("→ 1 Allow");
  await chat.press("Down", "Down", "Enter");
  await chat.until("Well.");

  await say(chat, "more");
  await chat.until("working");
  await chat.press("C-r");
  await chat.until("Sessions, the latest active first");
  await at.open("g2");
  await chat.until(/waits for you/);
  await chat.press("Enter", "Enter");
  await chat.until(hint);
  expect(await at.written()).toBe("");
});
