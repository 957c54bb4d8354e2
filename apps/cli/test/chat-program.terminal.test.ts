// A program of the model in a real chat: one of its calls needs a person.

import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { Provider, writeAgent } from "./agent.ts";
import { openChat, say, timesSeen } from "./chat.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";
import type { Terminal } from "./terminal.ts";

const code = `const { entries } = await beds.list();
for (const { name } of entries)
  try { await beds.remove({ path: name }); } catch (error) { return error.code; }
return "all are dug up";`;
const callsProgram = { parts: [{ call: { name: "execute", input: { code } } }] };

/** A chat in which a program asks whether it may remove the first of two beds. */
async function asked(home: Home): Promise<{ chat: Terminal; host: StartedHost }> {
  const dir = await writeAgent(home, {
    "lichen.config.ts": "export default { codingTools: false, capabilities: { directUpTo: 0 } };\n",
    "connections/beds.ts": `export default { kind: "files", root: "beds", mode: "write", labels: { remove: "confirm" } };\n`,
    "beds/north.txt": "fern\n",
    "beds/south.txt": "thyme\n",
  });
  await Provider.start(home, dir, { steps: [callsProgram, "So be it."] });
  const host = await StartedHost.start(home, dir);
  const chat = await openChat(home, dir, { session: "s", cols: 120, rows: 40 });
  await chat.until("scripted/one");
  await say(chat, "Dig up all beds");
  await chat.until("Deny with a reason");
  await chat.press("Tab");
  await chat.until("→ 1 Allow");
  return { chat, host };
}

const bed = (home: Home, name: string): boolean => existsSync(home.path("agent", "beds", name));

test("[U42] a program's call that needs a person is shown with exactly what would run, each asks for itself, and the program goes on from there", async () => {
  await using home = await Home.make();
  const { chat: opened } = await asked(home);
  await using chat = opened;
  const shown = (await chat.screen()).join("\n");
  expect(shown).toContain("beds.remove");
  expect(shown).toContain("north.txt");
  expect(shown).toContain("9 operations in programs");
  expect([bed(home, "north.txt"), bed(home, "south.txt")]).toEqual([true, true]);
  await chat.press("1");
  await chat.until("│ path: south.txt");
  expect([bed(home, "north.txt"), bed(home, "south.txt")]).toEqual([false, true]);
  await chat.press("Tab");
  await chat.until("→ 1 Allow");
  await chat.press("1");
  await chat.until("So be it.");
  await chat.untilGone("Deny with a reason");
  expect([bed(home, "north.txt"), bed(home, "south.txt")]).toEqual([false, false]);
  const lines = await chat.screen();
  expect(timesSeen(lines, "beds.remove")).toBeGreaterThanOrEqual(2);
  expect(lines.join("\n")).toContain("all are dug up");
}, 120_000);

test("[U42] denied, the program catches it, and nothing was removed", async () => {
  await using home = await Home.make();
  const { chat: opened, host } = await asked(home);
  await using chat = opened;
  await chat.press("4");
  await chat.until("Why not?");
  await say(chat, "they are in bloom");
  await chat.until("So be it.");
  expect([bed(home, "north.txt"), bed(home, "south.txt")]).toEqual([true, true]);
  const answered = (await host.entries("s")).find(({ kind }) => kind === "approval.answered");
  expect(JSON.stringify(answered)).toContain("they are in bloom");
  expect((await chat.screen()).join("\n")).toContain("denied");
}, 120_000);
