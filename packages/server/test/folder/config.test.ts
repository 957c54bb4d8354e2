import { expect, test } from "vitest";
import { parseConfig } from "../../src/folder/define-config.ts";
import { loadDefinition } from "../../src/folder/host/agent-folder.ts";
import { emptyConfig, TempFolder } from "./temp-folder.ts";

test("[F3] a config says what it may say", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": `
      import { defineConfig, defineTool, z } from "lichen";
      const port: number = 8080;
      export default defineConfig({
        model: "anthropic/claude", thinkingLevel: "low", codingTools: ["read"], http: { port, host: "::1" },
        publicUrl: "https://agents.example", allowedHosts: ["agents.example"], sandbox: "require",
        approvals: { confirm: ["hi"], expireAfterMs: 1000 },
        tools: [defineTool({ name: "hi", description: "Greets.", input: z.object({}), execute: () => "hi" })],
      });`,
  });
  const { definition, diagnostics } = await loadDefinition(folder.path);
  expect(diagnostics).toEqual([]);
  expect(definition.config).toMatchObject({
    model: "anthropic/claude",
    http: { port: 8080, host: "::1" },
    sandbox: "require",
  });
  expect(definition.tools).toMatchObject([{ name: "hi", confirm: true }]);
});

test("[F3] a key that is not known fails, is named, and the nearest known one is offered", () => {
  const refusal = (config: object) => {
    try {
      parseConfig(config, "lichen.config.ts");
    } catch (error) {
      return (error as Error).message;
    }
    return "accepted";
  };
  expect(refusal({ modle: "a/b" })).toBe(
    'lichen.config.ts: "modle" is not a key of the config (did you mean "model"?).',
  );
  expect(refusal({ http: { prot: 1 } })).toContain(
    '"http.prot" is not a key of the config (did you mean "port"?)',
  );
  expect(refusal({ schedule: [] })).toContain("the keys are model, thinkingLevel, codingTools");
  expect(refusal({ thinkingLevel: "huge" })).toContain('"thinkingLevel"');
  expect(refusal({ codingTools: ["bash", "bash"] })).toContain("names a tool twice");
  expect(refusal({ tools: [{ name: "x" }] })).toContain("is not a tool");
  expect(refusal({ http: { host: "example.com" } })).toContain(
    "must be an IP address or localhost",
  );
  expect(refusal({ publicUrl: "ftp://x" })).toContain("must be an http or https URL");
});

test("[F3] a config without a default export and one that cannot be read fail with what to write", async () => {
  using folder = new TempFolder().write({ "lichen.config.ts": "export const config = {};\n" });
  await expect(loadDefinition(folder.path)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("export default defineConfig({"),
  });
  folder.write({ "lichen.config.ts": "export default {\n  model: \n}\n" });
  await expect(loadDefinition(folder.path)).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringMatching(/^lichen\.config\.ts: it cannot be loaded: .*line 3/),
  });
});

test("[F3] a models.json that is no JSON fails with the place", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": emptyConfig,
    "models.json": '{\n  "providers": {,}\n}',
  });
  await expect(loadDefinition(folder.path)).rejects.toMatchObject({
    message: expect.stringMatching(/^models\.json: .*line 2/),
  });
});
