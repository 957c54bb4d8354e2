// The peer of figure 11, as a process of its own: passes what the scripted program streams on to whoever watches, and
// does nothing else.
//
//   GET /events   a stream; POST /messages tells the program its body

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { answerParent } from "./child.ts";

const script = join(import.meta.dirname, "scripted-claude.ts");
const program = spawn(process.execPath, [script, "--session-id", randomUUID()], {
  env: {},
  stdio: ["pipe", "pipe", "inherit"],
});
process.once("exit", () => program.kill("SIGKILL"));
const readers = new Set<ServerResponse>();

interface Streamed {
  readonly type: string;
  readonly event?: { readonly type: string; readonly delta?: { readonly text: string } };
}

let rest = "";
program.stdout.setEncoding("utf8").on("data", (chunk: string) => {
  const lines = `${rest}${chunk}`.split("\n");
  rest = lines.pop()!;
  for (const line of lines) {
    const { type, event } = JSON.parse(line) as Streamed;
    if (type !== "result" && event?.type !== "content_block_delta") continue;
    const frame = `data: ${JSON.stringify(event ? { text: event.delta?.text } : { type })}\n\n`;
    for (const reader of readers) reader.write(frame);
  }
});

const server = createServer((request, response) => {
  if (request.method === "GET") {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    readers.add(response);
    response.once("close", () => readers.delete(response));
    return;
  }
  let body = "";
  request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
  request.on("end", () => {
    const { text } = JSON.parse(body) as { text: string };
    const message = { role: "user", content: text };
    program.stdin.write(`${JSON.stringify({ type: "user", uuid: randomUUID(), message })}\n`);
    response.writeHead(202).end();
  });
});
const listening = Promise.withResolvers<number>();
server.listen(0, "127.0.0.1", () => listening.resolve((server.address() as AddressInfo).port));

answerParent({ port: () => listening.promise });
