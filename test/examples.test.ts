import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { outcomeOf, type Tool, type ToolContext } from "@lichen/engine";
import { collect, invokeOf } from "@lichen/server";
import { openAgent } from "@lichen/server/node";
import { expect, test } from "vitest";
import dice from "../examples/hello/tools/dice.ts";

const examples = join(import.meta.dirname, "../examples");
const context: ToolContext = {
  cwd: examples,
  signal: new AbortController().signal,
  session: { agent: "agent", session: "session", commandId: "command" },
  tools: { active: () => [], registered: () => [], activate: () => Promise.resolve([]) },
  output: () => undefined,
  ask: () => Promise.reject(new Error("Nobody can be asked.")),
};

async function textOf(tool: Tool, input: unknown): Promise<string> {
  const outcome = outcomeOf(await tool.execute(tool.parse(input), context));
  return outcome.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

test("[C18] hello rolls the dice that were asked for, and refuses dice that cannot be", async () => {
  for (let turn = 0; turn < 50; turn++) {
    const [, first, second, total] = /^🎲 (\d+) \+ (\d+) = (\d+)$/u
      .exec(await textOf(dice, { count: 2 }))!
      .map(Number);
    expect([first, second].every((roll) => roll! >= 1 && roll! <= 6)).toBe(true);
    expect(total).toBe(first! + second!);
  }
  expect(await textOf(dice, { sides: 2 })).toMatch(/^🎲 [12] \(of 2\)$/u);
  expect(() => dice.parse({ count: 0 })).toThrow("count");
});

test("[C18] notes writes a note once however often it is told, lists it, and deletes only what a person allowed", async () => {
  const folder = mkdtempSync(join(examples, "copy-"));
  try {
    cpSync(join(examples, "notes"), folder, {
      recursive: true,
      filter: (path) => path !== join(examples, "notes/notes"),
    });
    const load = async (name: string): Promise<Tool> => {
      const module: { default: Tool } = await import(
        pathToFileURL(join(folder, "tools", `${name}.ts`)).href
      );
      return module.default;
    };
    const [write, list, remove] = await Promise.all(
      ["note_write", "note_list", "note_delete"].map(load),
    );
    if (!write || !list || !remove) throw new Error("A tool is missing.");
    const note = { title: "Hello, World!", text: "hello" };
    expect(await textOf(list, {})).toBe("There are no notes yet.");
    expect(await textOf(write, note)).toBe("Wrote notes/hello-world.md.");
    expect(await textOf(write, note)).toBe("notes/hello-world.md says exactly that already.");
    expect(readFileSync(join(folder, "notes/hello-world.md"), "utf8")).toBe(
      "# Hello, World!\n\nhello\n",
    );
    expect(await textOf(list, { containing: "HELLO" })).toContain("[hello-world]");
    expect(await textOf(list, { containing: "absent" })).toBe('No note contains "absent".');
    await textOf(write, { title: "../../persona", text: "x" });
    expect(readdirSync(join(folder, "notes"))).toEqual(["hello-world.md", "persona.md"]);
    await expect(textOf(write, { title: "../..", text: "x" })).rejects.toThrow(
      "no name for a note",
    );
    expect([write.label, write.replaySafe, write.confirm]).toEqual(["write", true, undefined]);
    expect([list.label, remove.label, remove.confirm]).toEqual(["read", "write", true]);
    expect(await textOf(remove, { title: "hello world" })).toBe("Deleted notes/hello-world.md.");
    expect(await textOf(remove, { title: "hello world" })).toBe("There is no note hello-world.");
    expect(existsSync(join(folder, "notes/hello-world.md"))).toBe(false);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("[C18] garden finds out by one program how often each plant wants water, and removes no bed by itself", async () => {
  const folder = mkdtempSync(join(examples, "copy-"));
  try {
    cpSync(join(examples, "garden"), folder, { recursive: true });
    await using opened = await openAgent({
      dir: folder,
      model: "lichen/demo",
      env: (name) => (name === "PATH" ? process.env["PATH"] : undefined),
    });
    const text = readFileSync(join(folder, "ask.txt"), "utf8");
    const answer = await collect(invokeOf(opened.agent).invoke({ session: "s" }, { text }));
    for (const [plant, days] of Object.entries({ fern: 2, moss: 1, thyme: 7, tomato: 1 }))
      expect(answer.text).toContain(JSON.stringify({ plant, days }));
    const remove = `Use the execute tool with {"code": "return beds.remove({ path: 'north.txt' });"}`;
    const session = opened.agent.session("t");
    await session.send({ type: "prompt", requestId: "p", text: remove });
    let isAsked = false;
    for await (const frame of session.watch()) {
      isAsked = (await session.read()).approvals.length > 0;
      if (isAsked || (frame.type === "state" && frame.data.state === "idle")) break;
    }
    expect(isAsked).toBe(true);
    expect(existsSync(join(folder, "beds/north.txt"))).toBe(true);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 60_000);
