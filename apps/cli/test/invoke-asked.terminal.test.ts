import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { bin, Home } from "./process.ts";
import { Terminal } from "./terminal.ts";

const asking = noteTool.replace("description:", "confirm: true,\n  description:");

test("[K18] what is to be allowed at a terminal is shown whole, and what hides in it is not hidden", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": asking });
  const text = `${"harmless ".repeat(5_000)}\u202etxt.exe THE END OF IT`;
  await Provider.start(home, dir, {
    steps: [{ parts: [{ call: { name: "note", input: { text } } }] }, "Done."],
  });
  await using terminal = await Terminal.open({
    command: process.execPath,
    args: [bin, "invoke", "Note it", dir],
    cwd: home.dir,
    env: { HOME: home.dir },
  });
  const lines = await terminal.until("[y]es or [N]o:");
  const shown = lines.join("");
  expect(shown).toContain("THE END OF IT");
  expect(shown).toContain("\\u{202e}txt.exe");
  await terminal.type("n");
  await terminal.press("Enter");
  await terminal.until("Done.");
});
