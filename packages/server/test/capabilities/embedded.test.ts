import { readFileSync } from "node:fs";
import { startScriptedProvider } from "@lichen/engine/testing";
import { expect, onTestFinished, test } from "vitest";
import { openAgent } from "../../src/host/open-agent.ts";
import { collect } from "../../src/invoke/collect.ts";
import { invokeOf } from "../../src/invoke/invoke-of.ts";
import { modelsOf, scriptedModel } from "../embed/provider-models.ts";
import { TempFolder } from "../folder/temp-folder.ts";
import { allActive } from "./active.ts";

test("[I21] an agent of parts has its connections, under its rules; one that is none is refused at once", async () => {
  using folder = new TempFolder().write({ "work/notes/a.md": "moss" });
  const code = `await notes.write({ path: "b.md", text: "fern" });
    const { text } = await notes.read({ path: "a.md" });
    try { await locked.read({ path: "a.md" }); } catch (error) { return [text, error.code]; }`;
  const provider = await startScriptedProvider({
    script: [{ parts: [{ call: { name: "execute", input: { code } } }] }, "Done."],
  });
  onTestFinished(() => provider.close());
  const parts = {
    cwd: folder.join("work"),
    path: folder.join("state/agent.db"),
    model: scriptedModel,
    models: modelsOf(provider),
    connections: {
      notes: { kind: "files", root: "notes", mode: "write" },
      locked: { kind: "files", root: "notes" },
    },
    capabilities: { directUpTo: 0 },
    access: { required: ["locked"] },
  } as const;
  await using opened = await openAgent(parts);
  await allActive(opened.agent.capabilities, 2);
  const { text } = await collect(invokeOf(opened.agent).invoke({ session: "s" }, { text: "Go." }));
  expect(text).toBe("Done.");
  expect(JSON.stringify(provider.requests[1]?.messages)).toContain("denied");
  expect(readFileSync(folder.join("work/notes/b.md"), "utf8")).toBe("fern");
  expect(provider.requests[0]?.system).toContain("- notes (9 operations)");
  await expect(
    openAgent({ connections: { notes: { kind: "files", root: "" } } }),
  ).rejects.toMatchObject({ code: "invalid", message: expect.stringContaining('"root"') });
});
