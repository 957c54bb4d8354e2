// An MCP server that speaks the older revision over its standard input and output, by hand: each of its tools is a way in
// which a program can behave. The first argument is a way in which it behaves from the start.

import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , manner = "well", journal] = process.argv;
const lines = createInterface({ input: process.stdin });

note("started");
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  note(method === "tools/call" ? `call ${params.name}` : method);
  if (manner === "silent") return;
  if (manner === "strict" && method === "server/discover") process.exit(7);
  if (id === undefined) return;
  if (method === "initialize")
    answer(id, {
      protocolVersion: "2025-11-25",
      capabilities: { tools: {} },
      serverInfo: { name: "scripted", version: "1" },
    });
  else if (method === "tools/list") answer(id, { tools: names.map(tool) });
  else if (method === "tools/call") behave(id, params.name);
  else say({ jsonrpc: "2.0", id, error: { code: -32_601, message: "Method not found" } });
});

// Its host is gone.
lines.on("close", () => process.exit(0));

const names = ["env", "pid", "die", "hang", "big", "child", "noise", "close"];

function behave(id: number, name: string): void {
  if (name === "env") answer(id, text(JSON.stringify(process.env)));
  if (name === "pid") answer(id, text(String(process.pid)));
  if (name === "die") {
    console.error(`cannot go on with ${process.env["TOKEN"]}`);
    process.exit(3);
  }
  if (name === "big") answer(id, text("x".repeat(3_000_000)));
  if (name === "child") {
    const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    answer(id, text(`${process.pid} ${child.pid}`));
  }
  if (name === "noise") {
    process.stdout.write("some note that is no message\n{broken\n\n");
    answer(id, text("heard"));
  }
  if (name === "notes") process.stdout.write("half an answer\nand another half\n");
  if (name === "close") process.stdout.end();
  for (const line of answersThatAreNone(id)[name] ?? []) process.stdout.write(`${line}\n`);
}

/** By the name of the tool, in the lines that are written. */
function answersThatAreNone(id: number): Record<string, string[]> {
  const levels = 5_000_000;
  const start = `{"jsonrpc":"2.0","id":${id},`;
  const error = { code: -32_700, message: "Parse error" };
  return {
    number: [`${start}"result":17}`],
    nothing: [`${start.slice(0, -1)}}`],
    badError: [`${start}"error":"bad"}`],
    both: [`${start}"result":{},"error":{"code":1,"message":"both"}}`],
    unsaid: [`{"id":${id},"result":{}}`],
    unread: [JSON.stringify({ jsonrpc: "2.0", id: null, error })],
    broken: [`${start}"result":{"content":[NaN]}}`],
    deep: [
      `${start}"result":{"structuredContent":${"[".repeat(levels)}${"]".repeat(levels)},"content":[]}}`,
    ],
    many: [`${start}"result":{"content":[${"[],".repeat(3_000_000)}[]]}}`],
    extra: [`${start}"result":{"content":[{"type":"text","text":"here"}]},"took":3}`],
    list: [`[${start}"result":{"content":[{"type":"text","text":"one of several"}]}}]`],
  };
}

function tool(name: string) {
  return { name, description: name, inputSchema: { type: "object" } };
}

function text(content: string) {
  return { content: [{ type: "text", text: content }] };
}

function answer(id: number, result: unknown): void {
  say({ jsonrpc: "2.0", id, result });
}

function say(message: unknown): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function note(what: string): void {
  if (journal) appendFileSync(journal, `${what}\n`);
}
