import { expect, test } from "vitest";
import { loadDefinition } from "../../src/folder/host/agent-folder.ts";
import { emptyConfig, TempFolder } from "./temp-folder.ts";

const connectionFile = (body: string) =>
  `import { defineConnection } from "lichen";\nexport default defineConnection(${body});\n`;

test("[F21] a connection is a file of connections/ or an entry of the config, and the file gives its name", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": `
      import { defineConfig } from "lichen";
      export default defineConfig({
        connections: { notes: { kind: "files", root: "notes", mode: "write" } },
        capabilities: { directUpTo: 3 },
        access: { defaults: { notes: "read" }, required: ["github"], strict: false },
      });`,
    "connections/github.ts": connectionFile(
      '{ kind: "mcp", url: "https://mcp.example/mcp", auth: { type: "oauth" }, labels: { create_issue: "confirm" } }',
    ),
    "connections/memory.ts": connectionFile(
      '{ kind: "mcp", command: "npx", args: ["x"], env: { KEY: { secret: "MEMORY_KEY" }, TOKEN: { auth: "token" } } }',
    ),
    "connections/mail.ts": connectionFile(
      '{ kind: "openapi", spec: "mail.json", baseUrl: "https://mail.example", auth: { type: "oauth" }, timeoutMs: 5000 }',
    ),
  });
  const { definition, diagnostics } = await loadDefinition(folder.path);
  expect(diagnostics).toEqual([]);
  expect(definition.connections).toMatchObject([
    { name: "github", file: "connections/github.ts", connection: { kind: "mcp" } },
    { name: "mail", connection: { timeoutMs: 5_000 } },
    { name: "memory", connection: { command: "npx" } },
    { name: "notes", file: "lichen.config.ts", connection: { kind: "files", mode: "write" } },
  ]);
});

test("[F22] a connection that is wrong is reported with what to do, and the others work", async () => {
  using folder = new TempFolder().write({
    "lichen.config.ts": `export default { connections: { ui: { kind: "ui" }, good: { kind: "ui" } } };`,
    "connections/ui.ts": connectionFile('{ kind: "ui" }'),
    "connections/typo.ts": connectionFile('{ kind: "mcpp" }'),
    "connections/key.ts": connectionFile('{ kind: "files", rot: "x" }'),
    "connections/both.ts": connectionFile(
      '{ kind: "mcp", url: "https://a.example", command: "x" }',
    ),
    "connections/secret.ts": connectionFile(
      '{ kind: "mcp", url: "https://a.example", auth: { type: "header", secret: "sk-canary-123" } }',
    ),
    "connections/nowhere.ts": connectionFile(
      '{ kind: "openapi", spec: "mail.json", auth: { type: "header", secret: "KEY" } }',
    ),
    "connections/empty.ts": "export const nothing = 1;\n",
    "connections/1st.ts": connectionFile('{ kind: "ui" }'),
    "connections/broken.ts": "export default {\n",
  });
  const { definition, diagnostics } = await loadDefinition(folder.path);
  expect(definition.connections.map(({ name }) => name)).toEqual(["ui", "good"]);
  const problems = Object.fromEntries(diagnostics.map(({ file, problem }) => [file, problem]));
  expect(problems).toMatchObject({
    "connections/typo.ts": expect.stringContaining('did you mean "mcp"?'),
    "connections/key.ts": expect.stringContaining(
      '"rot" is not a key of a connection of kind files',
    ),
    "connections/both.ts": expect.stringContaining("needs a url or a command, and not both"),
    "connections/secret.ts": expect.stringContaining("put the secret into .secrets/.env"),
    "connections/nowhere.ts": expect.stringContaining("needs a baseUrl"),
    "connections/empty.ts": "has no connection as its default export",
    "connections/1st.ts": expect.stringContaining("cannot be a connection's name"),
    "connections/broken.ts": expect.stringContaining("it cannot be loaded"),
    "lichen.config.ts": expect.stringContaining('the connection "ui" is not used'),
  });
  expect(JSON.stringify(diagnostics)).not.toContain("sk-canary-123");
});

test("[F21] an agent without connections has none", async () => {
  using folder = new TempFolder().write({ "lichen.config.ts": emptyConfig });
  expect((await loadDefinition(folder.path)).definition.connections).toEqual([]);
});
