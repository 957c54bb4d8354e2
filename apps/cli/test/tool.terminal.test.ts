import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { noteTool, writeAgent } from "./agent.ts";
import { bin, Home } from "./process.ts";
import { Terminal } from "./terminal.ts";

const asking = noteTool.replace("description:", "confirm: true,\n  description:");

function callNote(home: Home, dir: string): Promise<Terminal> {
  const args = [bin, "tool", "note", '{"text":"hello"}'];
  const env = { HOME: home.dir };
  return Terminal.open({ command: process.execPath, args, cwd: dir, env });
}

test("[K41] at a terminal the person is asked before a confirm tool runs; anything but yes is no", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": asking });
  for (const answer of ["", "n"]) {
    await using no = await callNote(home, dir);
    await no.until('Run note {"text":"hello"}? [y]es or [N]o:');
    await no.type(answer);
    await no.press("Enter");
    expect(await no.exitCode()).toBe(1);
  }
  await using closed = await callNote(home, dir);
  await closed.until("[y]es or [N]o:");
  await closed.press("C-d");
  expect(await closed.exitCode()).toBe(1);
  await using interrupted = await callNote(home, dir);
  await interrupted.until("[y]es or [N]o:");
  await interrupted.press("C-c");
  expect(await interrupted.exitCode()).toBe(130);
  expect(existsSync(home.path("agent", "notes.txt"))).toBe(false);
  await using yes = await callNote(home, dir);
  await yes.until("[y]es or [N]o:");
  await yes.type("y");
  await yes.press("Enter");
  await yes.until("noted hello");
  expect(await yes.exitCode()).toBe(0);
});
