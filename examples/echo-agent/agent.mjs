#!/usr/bin/env node
// An agent of the Agent Client Protocol without a model: it says back what it is told, and `note <text>` writes a line to
// notes.txt once a person allows it. For trying out a machine, and as the least that such an agent has to do.

import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";

const folders = new Map();
const cancelled = new Set();
const waiting = new Map();
let asked = 0;

const methods = {
  initialize: () => ({
    protocolVersion: 1,
    agentInfo: { name: "echo", version: "1.0.0" },
    agentCapabilities: { loadSession: false },
    authMethods: [],
  }),
  "session/new": ({ cwd }) => {
    const sessionId = `echo-${process.pid}-${folders.size + 1}`;
    folders.set(sessionId, cwd);
    return { sessionId };
  },
  "session/prompt": async ({ sessionId, prompt }) => {
    cancelled.delete(sessionId);
    const text = prompt.map((block) => (block.type === "text" ? block.text : "")).join("");
    const [, note] = /^note (.+)/s.exec(text) ?? [];
    if (note === undefined) say(sessionId, `You said: ${text}`);
    else await write(sessionId, note);
    return { stopReason: cancelled.has(sessionId) ? "cancelled" : "end_turn" };
  },
};

const notices = {
  "session/cancel": ({ sessionId }) => void cancelled.add(sessionId),
};

/** Asks first, then writes, and says how that went. */
async function write(sessionId, note) {
  const toolCallId = `call-${++asked}`;
  const call = { toolCallId, title: "Write to notes.txt", kind: "edit", rawInput: { note } };
  update(sessionId, { sessionUpdate: "tool_call", status: "pending", ...call });
  const { outcome } = await request("session/request_permission", {
    sessionId,
    toolCall: call,
    options: [
      { optionId: "once", name: "Allow", kind: "allow_once" },
      { optionId: "no", name: "Reject", kind: "reject_once" },
    ],
  });
  const isAllowed = outcome.outcome === "selected" && outcome.optionId === "once";
  if (isAllowed) await appendFile(join(folders.get(sessionId), "notes.txt"), `${note}\n`);
  update(sessionId, {
    sessionUpdate: "tool_call_update",
    toolCallId,
    status: isAllowed ? "completed" : "failed",
    content: [{ type: "content", content: { type: "text", text: isAllowed ? "written" : "no" } }],
  });
  say(sessionId, isAllowed ? "Noted." : "Then not.");
}

function say(sessionId, text) {
  const content = { type: "text", text };
  update(sessionId, { sessionUpdate: "agent_message_chunk", content });
}

function update(sessionId, change) {
  send({ method: "session/update", params: { sessionId, update: change } });
}

function request(method, params) {
  const id = `ask-${waiting.size}-${asked}`;
  send({ id, method, params });
  return new Promise((resolve) => void waiting.set(id, resolve));
}

function send(message) {
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
}

async function hear(line) {
  const { id, method, params, result } = JSON.parse(line);
  if (method === undefined)
    return waiting.get(id)?.(result ?? { outcome: { outcome: "cancelled" } });
  if (id === undefined) return notices[method]?.(params);
  const known = methods[method];
  if (known) return send({ id, result: await known(params) });
  send({ id, error: { code: -32601, message: `There is no ${method} here.` } });
}

createInterface({ input: process.stdin }).on("line", (line) => void hear(line));
