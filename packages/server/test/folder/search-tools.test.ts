import type { Tool } from "@lichen/engine";
import { expect, test } from "vitest";
import * as z from "zod";
import { defineTool } from "../../src/folder/define-tool.ts";
import { loadDefinition } from "../../src/folder/host/agent-folder.ts";
import { searchTools } from "../../src/folder/search-tools.ts";
import { toolSet } from "../../src/folder/tool-set.ts";
import { emptyConfig, TempFolder, toolFile } from "./temp-folder.ts";

/** A conversation that has the given deferred tools. */
function conversation(deferred: [name: string, description: string][]) {
  const active = new Set(["ls"]);
  const registered = [
    { name: "ls", description: "Lists a directory of invoices.", deferred: false },
    ...deferred.map(([name, description]) => ({ name, description, deferred: true })),
  ];
  const tool = searchTools();
  return {
    active,
    search: (query: string) =>
      tool.execute(tool.parse({ query }), {
        cwd: "/",
        signal: new AbortController().signal,
        session: { agent: "a", session: "s", commandId: "cmd_1" },
        tools: {
          active: () => [...active],
          registered: () => registered,
          activate: async (names) => {
            const added = names.filter((name) => !active.has(name));
            for (const name of added) active.add(name);
            return added;
          },
        },
        output: () => undefined,
        ask: () => Promise.reject(new Error("Nobody can be asked.")),
      }),
  };
}

const invoices: [string, string][] = [
  ["send_invoice", "Sends an invoice by mail"],
  ["void_invoice", "Voids an invoice"],
  ["weather", "Tells the weather"],
];

test("[F10] search_tools switches on the tools whose name or description holds every word", async () => {
  const { active, search } = conversation(invoices);
  expect(await search("INVOICE mail")).toBe("Switched on: send_invoice.");
  expect([...active]).toEqual(["ls", "send_invoice"]);
  expect(await search("invoice")).toBe("Switched on: void_invoice. Was on already: send_invoice.");
});

test("[F10] a miss lists what is hidden, at most ten names", async () => {
  const { search } = conversation(
    Array.from({ length: 12 }, (_, n) => [`tool_${n}`, "Does a thing"]),
  );
  expect(await search("airplane")).toBe(
    "No tool matches. Hidden tools: tool_0, tool_1, tool_2, tool_3, tool_4, tool_5, tool_6, tool_7, tool_8, tool_9 and 2 more.",
  );
});

test("[F10] more than five matches switch on none; an exact name always finds its tool", async () => {
  const many: [string, string][] = Array.from({ length: 6 }, (_, n) => [
    n === 0 ? "mail" : `mail_${n}`,
    "Mail",
  ]);
  const { active, search } = conversation(many);
  expect(await search("mail box")).toContain("No tool matches");
  expect(await search("Mail")).toContain("6 tools match, which is too many");
  expect(active.size).toBe(1);
  expect(await search("mail")).toBe("Switched on: mail.");
});

test("[F10] a query without a word is refused", async () => {
  await expect(conversation(invoices).search(" ?! ")).rejects.toThrow("has no words");
});

test("[F11] search_tools is there exactly when a tool is deferred, and the prompt speaks of it then", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "tools/rare.ts": toolFile("deferred: true, execute: () => 1"),
  });
  const { definition } = await loadDefinition(folder.path);
  expect(definition.tools.map(({ name }) => name)).toEqual(["rare", "search_tools"]);
  expect(definition.instructions).toContain("search_tools");
  folder.write({ "tools/rare.ts": toolFile("execute: () => 1") });
  const later = await loadDefinition(folder.path);
  expect(later.definition.tools.map(({ name }) => name)).toEqual(["rare"]);
  expect(later.definition.instructions).not.toContain("search_tools");
});

test("[F11] an author's own search_tools is used, alone in its batch and never deferred", () => {
  const own = (options: Partial<Tool>): Tool => ({
    ...defineTool({
      name: "search_tools",
      description: "Mine",
      input: z.object({}),
      execute: () => 1,
    }),
    ...options,
  });
  const set = (tool: Tool) =>
    toolSet({}, "lichen.config.ts", [], [{ file: "tools/search_tools.ts", tool }]);
  const forced = set(own({ deferred: true }));
  expect(forced.tools).toMatchObject([
    { description: "Mine", deferred: false, executionMode: "sequential" },
  ]);
  expect(forced.diagnostics).toHaveLength(1);
  expect(set(own({ executionMode: "sequential" })).diagnostics).toEqual([]);
});
