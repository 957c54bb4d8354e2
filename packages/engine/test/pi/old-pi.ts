// An older pi, as far as a driver sees it: no disposition of prompts, no word for having settled, other names of events.
// `boom` is refused; `/old` is a command of an extension; `retry` fails once and is tried again; `tool` reads a file; `hold`
// is answered when the next prompt has come.

import { createInterface } from "node:readline";

const say = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, cost: { total: 0.5 } };
let cost = 0;
let isStreaming = false;
let isHeld = false;

function message(message: object): void {
  say({ type: "message_start", message });
  say({ type: "message_end", message });
}

function assistant(text: string, more: object = {}): void {
  cost += 0.5;
  const content = [{ type: "text", text }];
  message({
    role: "assistant",
    content,
    stopReason: "stop",
    usage,
    timestamp: Date.now(),
    ...more,
  });
}

function run(text: string): void {
  isStreaming = true;
  say({ type: "agent_start" });
  message({ role: "user", content: text, timestamp: Date.now() });
  if (text === "retry") {
    assistant("", { stopReason: "error", errorMessage: "529 overloaded" });
    say({ type: "agent_end", messages: [] });
    say({ type: "auto_retry_start", attempt: 1, maxAttempts: 3, delayMs: 1, errorMessage: "529" });
    say({ type: "agent_start" });
    assistant("after all");
    say({ type: "auto_retry_end", success: true, attempt: 1 });
  } else if (text === "tool") {
    const calls = ["grep", "edit"].map((name) => ({
      type: "toolCall",
      id: name,
      name,
      arguments: {},
    }));
    assistant("", { content: calls, stopReason: "toolUse" });
    for (const { id } of calls)
      message({ role: "toolResult", toolCallId: id, toolName: id, content: [], isError: false });
    assistant("used");
  } else if (text === "hold") {
    isHeld = true;
    assistant("holding", { stopReason: "toolUse" });
    return;
  } else assistant(`heard ${text}`);
  end();
}

function end(): void {
  isStreaming = false;
  say({ type: "agent_end", messages: [] });
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, type, message: text = "" } = JSON.parse(line) as Record<string, string>;
  const answer = (data?: object): void =>
    say({ id, type: "response", command: type, success: true, ...(data ? { data } : {}) });
  if (type === "get_state") answer({ sessionId: "old", isStreaming });
  else if (type === "get_session_stats") answer({ tokens: {}, cost });
  else if (type === "get_commands") answer({ commands: [{ name: "old", source: "extension" }] });
  else if (type === "abort") answer();
  else if (type !== "prompt" || text === "boom") {
    say({ id, type: "response", command: type, success: false, error: `no ${text || type}` });
    if (!isHeld) continue;
    isHeld = false;
    assistant("held");
    end();
  } else {
    answer();
    if (text !== "/old") run(text);
  }
}
