import { describe, expect, it } from "vitest";
import { type JsonObject, OperationError } from "../../../src/index.ts";
import { mcpFactory, type McpSdk, parseMcpConfig } from "../../../src/connectors/index.ts";

describe("what a config may say", () => {
  it("[M1] is an address", () => {
    expect(parseMcpConfig({ url: "https://example.com/mcp" })).toEqual({
      transport: "http",
      url: "https://example.com/mcp",
    });
  });

  it("[M1] is a program with what it gets", () => {
    expect(
      parseMcpConfig({ command: "serve", args: ["--all"], cwd: "tools", env: { A: "b" } }),
    ).toEqual({
      transport: "stdio",
      command: "serve",
      args: ["--all"],
      cwd: "tools",
      env: { A: "b" },
    });
    const env = { TOKEN: { secret: "NAME" }, OTHER: { auth: "token" } };
    expect(parseMcpConfig({ transport: "stdio", command: "serve", env })).toMatchObject({ env });
  });
});

it.each<[JsonObject, string]>([
  [{}, "say where the server is"],
  [{ url: "https://a.example/", ulr: "x" }, 'unknown field "ulr". Did you mean "url"?'],
  [{ url: "https://a.example/", command: "serve" }, "command: does not go with an address"],
  [{ command: "serve", comand: "x" }, 'Did you mean "command"?'],
  [{ transport: "sse", url: "https://a.example/" }, 'must be "http" or "stdio"'],
  [{ url: "a.example" }, "url: is no address"],
  [{ url: "file:///etc/passwd" }, "must begin with https:// or http://"],
  [{ url: "https://me:secret@a.example/" }, "must hold no password"],
  [{ url: 7 }, "url: must be a text"],
  [{ command: "" }, "command: must be a text"],
  [{ command: "a", args: "b" }, "args: must be a list"],
  [{ command: "a", args: [1] }, "args.0: must be a text"],
  [{ command: "a", env: [] }, "env: must be an object"],
  [{ command: "a", env: { "A=B": "c" } }, "cannot be the name of a variable"],
  [
    { command: "a", env: { TOKEN: { secert: "N" } } },
    'env.TOKEN: must be a text, {"secret": "NAME"}',
  ],
  [{ command: "a", env: { TOKEN: 7 } }, "env.TOKEN: must be a text"],
])("[M1] %j is refused with what to do", (config, sentence) => {
  const refuse = () => parseMcpConfig(config);
  expect(refuse).toThrow(sentence);
  expect(refuse).toThrow(OperationError);
});

it("[M1] the kind refuses a config before anything is opened, and stores a good one as it is", async () => {
  let loaded = 0;
  const factory = mcpFactory(async (): Promise<McpSdk> => {
    loaded++;
    throw new Error("not needed");
  });
  expect(() => factory.check?.({ ulr: "x" })).toThrow(OperationError);
  expect(factory.check?.({ url: "https://a.example/mcp" })).toEqual({
    url: "https://a.example/mcp",
  });
  expect(loaded).toBe(0);
});
