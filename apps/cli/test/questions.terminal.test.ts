import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { bin, Home } from "./process.ts";
import { Terminal } from "./terminal.ts";

const orderTool = `
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Takes an order.",
  label: "read",
  input: z.object({}),
  execute: async (_input, { ask }) => JSON.stringify(await ask([
    { question: "Which color?", options: [{ label: "Red" }, { label: "Blue", description: "like the sky" }] },
    { question: "Which sizes?", options: [{ label: "S" }, { label: "M" }, { label: "L" }], multiSelect: true },
    { question: "Which name?" },
    { question: "Anything else?" },
  ], { description: "For the shirt." })),
});
`;
const answers = '"answers":{"Which color?":"Blue","Which sizes?":"S, L","Which name?":"Ada"}';

function lichen(home: Home, dir: string, args: readonly string[]): Promise<Terminal> {
  const env = { HOME: home.dir };
  return Terminal.open({ command: process.execPath, args: [bin, ...args], cwd: dir, env });
}

async function answer(terminal: Terminal): Promise<void> {
  await terminal.until(/Which color\?[^]*1\. Red[^]*2\. Blue: like the sky[^]*own words:/);
  await terminal.type("2");
  await terminal.press("Enter");
  await terminal.until(/Which sizes\?[^]*with commas between/);
  await terminal.type("1, l");
  await terminal.press("Enter");
  await terminal.until("Which name?");
  await terminal.type("Ada");
  await terminal.press("Enter");
  await terminal.until("Anything else?");
  await terminal.press("Enter");
}

test("[K18] at a terminal the questions of a tool are asked one by one, with their options", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/order.ts": orderTool });
  const orders = { parts: [{ call: { name: "order", input: {} } }] };
  await Provider.start(home, dir, { steps: [orders, "Ordered."] });
  await using terminal = await lichen(home, dir, ["invoke", "order"]);
  await terminal.until("For the shirt.");
  await answer(terminal);
  await terminal.until("Ordered.");
  expect(await terminal.exitCode()).toBe(0);
  expect((await terminal.screen()).join("")).toContain(answers);
});

test("[K120] at a terminal approve asks the questions one by one where the line answers none", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/order.ts": orderTool });
  const orders = { parts: [{ call: { name: "order", input: {} } }] };
  await Provider.start(home, dir, { steps: [orders, "Ordered."] });
  const waits = await home.run(["invoke", "order", dir, "--session", "s"]);
  const id = /lichen approve (apr_\S+)/.exec(waits.stderr)?.[1] ?? "";
  await using terminal = await lichen(home, dir, ["approve", id]);
  await answer(terminal);
  await terminal.until("Ordered.");
  expect(await terminal.exitCode()).toBe(0);
  expect((await terminal.screen()).join("")).toContain(answers);
});

test("[K18] of two calls that want a yes at once each is asked for by itself", async () => {
  await using home = await Home.make();
  const asking = noteTool.replace("description:", "confirm: true,\n  description:");
  const dir = await writeAgent(home, { "tools/note.ts": asking });
  const notes = ["one", "two"].map((text) => ({ call: { name: "note", input: { text } } }));
  await Provider.start(home, dir, { steps: [{ parts: notes }, "Written."] });
  await using terminal = await lichen(home, dir, ["invoke", "note"]);
  await terminal.until(/May the agent call note[^]*\[y\]es or \[N\]o:/);
  await terminal.type("y");
  await terminal.press("Enter");
  await terminal.until(/\[y\]es or \[N\]o: y[^]*May the agent call note[^]*\[y\]es or \[N\]o:/);
  await terminal.type("n");
  await terminal.press("Enter");
  await terminal.until("Written.");
  expect(await readFile(home.path("agent", "notes.txt"), "utf8")).toBe("one\n");
});

test("[K41] a tool that is called by hand asks at the terminal, and fails where nobody can be asked", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/order.ts": orderTool });
  await using terminal = await lichen(home, dir, ["tool", "order"]);
  await answer(terminal);
  expect(await terminal.exitCode()).toBe(0);
  expect((await terminal.screen()).join("")).toContain(answers);
  const alone = await home.run(["tool", "order", dir]);
  expect(alone).toMatchObject({ code: 1, stdout: "" });
  expect(alone.stderr).toMatch(/order asks a person, and nobody can be asked here/);
});
