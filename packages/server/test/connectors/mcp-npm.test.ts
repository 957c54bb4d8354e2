// The servers that the protocol's authors publish, as they come from npm, in processes of their own.

import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { connector, soon, temporary, told } from "./servers.ts";

const modules = join(import.meta.dirname, "../../../../node_modules/@modelcontextprotocol");

function npm(name: string, ...args: string[]) {
  return { command: process.execPath, args: [join(modules, name, "dist/index.js"), ...args] };
}

describe.each(["stdio", "http"])("server-everything over %s", (transport) => {
  it("[M16] lists, calls, shows images, tells progress, links, data and errors", async () => {
    const config = transport === "stdio" ? npm("server-everything") : { url: await everything() };
    const server = await connector(config);
    const operations = await server.operations(soon());
    expect(operations.map(({ name }) => name)).toContain("get-structured-content");
    const { context, images, progress } = told();
    const call = (name: string, input = {}) => server.call(name, input, context);
    expect(await call("echo", { message: "hello" })).toBe("Echo: hello");
    expect(await call("get-sum", { a: 2, b: 40 })).toBe("The sum of 2 and 40 is 42.");
    expect(await call("get-structured-content", { location: "Chicago" })).toEqual({
      temperature: 36,
      conditions: "Light rain / drizzle",
      humidity: 82,
    });
    expect(await call("get-tiny-image")).toEqual([
      expect.any(String),
      { image: 0, mediaType: "image/png", bytes: images[0]?.bytes.length },
      expect.any(String),
    ]);
    expect(
      Buffer.from(images[0]?.bytes ?? [])
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    expect(await call("get-resource-links", { count: 1 })).toEqual([
      expect.any(String),
      expect.objectContaining({ type: "resource_link", uri: expect.stringContaining("demo://") }),
    ]);
    expect(await call("trigger-long-running-operation", { duration: 0.2, steps: 2 })).toContain(
      "completed",
    );
    expect(progress[0]).toBe("1/2");
    await expect(call("get-sum", { a: "two" })).rejects.toMatchObject({ code: "tool_error" });
  });

  it("[M15] asks the person of the call", async () => {
    const config = transport === "stdio" ? npm("server-everything") : { url: await everything() };
    const server = await connector(config);
    const questions: unknown[] = [];
    const ask = async (given: readonly { readonly [name: string]: unknown }[]) => {
      questions.push(...given.map(({ question }) => question));
      return { [String(given[0]?.["question"])]: "Ada" };
    };
    expect(await server.operations(soon())).toContainEqual(
      expect.objectContaining({ name: "trigger-elicitation-request" }),
    );
    const answer = await server.call("trigger-elicitation-request", {}, told({ ask }).context);
    expect(JSON.stringify(answer)).toContain("Ada");
    expect(questions.length).toBeGreaterThan(8);
    const nobody = await server.call("trigger-elicitation-request", {}, told().context);
    expect(JSON.stringify(nobody)).toMatch(/cancel|dismiss/i);
  });
});

it("[M16] server-filesystem reads in its folder and nowhere else", async () => {
  const folder = await temporary();
  await writeFile(join(folder, "note.txt"), "spores");
  const server = await connector(npm("server-filesystem", folder));
  const { context } = told();
  const read = (path: string) => server.call("read_text_file", { path }, context);
  expect(JSON.stringify(await read(join(folder, "note.txt")))).toContain("spores");
  await expect(read("/etc/hostname")).rejects.toMatchObject({
    code: "tool_error",
    message: expect.stringContaining("denied"),
  });
});

it("[M16] server-memory remembers between two programs that serve the same file", async () => {
  const file = join(await temporary(), "memory.jsonl");
  const config = { ...npm("server-memory"), env: { MEMORY_FILE_PATH: file } };
  const first = await connector(config);
  const entities = [{ name: "Ada", entityType: "person", observations: ["likes moss"] }];
  await first.call("create_entities", { entities }, told().context);
  await first.close?.();
  const second = await connector(config);
  expect(await second.call("read_graph", {}, told().context)).toMatchObject({ entities });
});

/** The address of a server of its own, which ends with the test. */
async function everything(): Promise<string> {
  const port = await freePort();
  const home = await temporary();
  const child = spawn(
    process.execPath,
    [join(modules, "server-everything/dist/index.js"), "streamableHttp"],
    {
      env: { PATH: process.env["PATH"], HOME: home, PORT: String(port) },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`it ended with ${code}: ${said}`)));
    child.stderr.on("data", (chunk) => {
      said += String(chunk);
      if (said.includes("listening on port")) resolve();
    });
  });
  return `http://127.0.0.1:${port}/mcp`;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return address !== null && typeof address === "object" ? address.port : 0;
}
