// Stands in for Claude Code where the real one cannot be made to do what a test needs: `node stand-in.ts ARGUMENTS`. What
// it does is said by the message. It speaks the same lines; its arguments come back in `system/init`.

import { appendFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

const args = process.argv.slice(2);
const conversation = args[args.findIndex((arg) => /^--(session-id|resume)$/.test(arg)) + 1] ?? "";
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const sayAtOnce = (...lines: object[]) =>
  void process.stdout.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
let heard: (line: Line) => void = () => {};
let greeting: string | undefined;
let isDeaf = false;
const carried = args.includes("--resume") ? Number(process.env["CARRIED"] ?? 0) : 0;
let cost = carried;

interface Line {
  readonly type: string;
  readonly uuid?: string;
  readonly request_id?: string;
  readonly message?: { readonly content: string };
  readonly request?: { readonly subtype: string };
  readonly response?: {
    readonly subtype: string;
    readonly error?: string;
    readonly response?: {
      readonly behavior: string;
      readonly updatedInput?: object;
      readonly interrupt?: boolean;
      readonly message?: string;
    };
  };
}

const next = () => new Promise<Line>((resolve) => (heard = resolve));

function ends(text: string, total = (cost += 0.5)) {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const rest = { is_error: false, num_turns: 1, total_cost_usd: total, usage };
  say({ type: "result", subtype: "success", result: text, ...rest });
}

function asks(id: string) {
  const request = { subtype: "can_use_tool", tool_name: "Bash", input: {}, tool_use_id: "t" };
  say({ type: "control_request", request_id: id, request });
}

/** As a transcript, so that the conversation is gone on with. */
function keep(line: object) {
  const folder = join(process.env["CLAUDE_CONFIG_DIR"] ?? "", "projects/stand-in");
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, `${conversation}.jsonl`), `${JSON.stringify(line)}\n`);
}

async function turn({ uuid, message }: Line) {
  const text = message?.content ?? "";
  if (text === "unread") return;
  if (process.env["KEEPS"]) keep({ type: "user", uuid, message });
  say({ type: "system", subtype: "init", session_id: conversation, args });
  say({ type: "user", uuid, isReplay: true, message: { role: "user", content: text } });
  switch (text) {
    case "unknown": {
      say({ type: "control_request", request_id: "u1", request: { subtype: "hook_callback" } });
      const { response } = await next();
      return ends(`${response?.subtype}: ${response?.error}`);
    }
    case "withdraw": {
      asks("w1");
      await new Promise((resolve) => setTimeout(resolve, 100));
      say({ type: "control_cancel_request", request_id: "w1" });
      // Whatever is written for it would be heard first.
      say({ type: "control_request", request_id: "u2", request: { subtype: "probe" } });
      const { response } = await next();
      return ends(response?.error?.includes("probe") ? "nothing was written" : "it was answered");
    }
    case "ask": {
      const use = { type: "tool_use", id: "t", name: "Bash", input: { command: "given" } };
      say({ type: "assistant", parent_tool_use_id: null, message: { id: "m", content: [use] } });
      asks("a1");
      const { response } = await next();
      const { behavior, updatedInput = {}, interrupt, message } = response?.response ?? {};
      const result = { type: "tool_result", tool_use_id: "t", content: behavior };
      const content = [{ ...result, is_error: behavior !== "allow" }];
      say({ type: "user", parent_tool_use_id: null, message: { role: "user", content } });
      if (interrupt) return ends(`stopped: ${message}`);
      return ends(`${behavior} ${JSON.stringify(updatedInput)}`);
    }
    case "background": {
      // As a sub-agent in the background does: it asks, and the turn ends without waiting for it.
      asks("b1");
      ends("begun");
      const { response } = await next();
      const { behavior } = response?.response ?? {};
      say({ type: "system", subtype: "task_notification", status: behavior });
      say({ type: "system", subtype: "init", session_id: conversation });
      return ends(`the background was told ${behavior}`);
    }
    case "call": {
      // All at once, as they come where the host is busy.
      const said = (content: object) => ({ type: "assistant", message: { id: "m", content } });
      const result = { type: "tool_result", tool_use_id: "r", content: "read" };
      say(said([{ type: "tool_use", id: "r", name: "Read", input: {} }]));
      say({ type: "user", message: { role: "user", content: [result] } });
      say(said([{ type: "text", text: "I have read." }]));
      return ends("I have read.");
    }
    case "job": {
      // What it does about a job that has ended comes in one piece, before the host can have made a run of it.
      ends("begun");
      while (!existsSync("go")) await sleep(20);
      const event = (it: object) => ({ type: "stream_event", event: it });
      const delta = (words: string) =>
        event({ type: "content_block_delta", delta: { type: "text_delta", text: words } });
      return sayAtOnce(
        { type: "system", subtype: "task_notification" },
        { type: "system", subtype: "init", session_id: conversation },
        ...[event({ type: "content_block_start" }), delta("Look"), delta("ing")],
      );
    }
    case "hold":
      return;
    case "deaf":
      isDeaf = true;
      return;
    case "die":
      process.stderr.write("Error: the disk is on fire\n");
      return process.exit(3);
    case "noise":
      process.stdout.write("this is no JSON\n");
      say({ type: "tool_progress", heartbeat: true });
      say({ type: "something_new", value: 1 });
      return ends("heard");
    case "cheaper":
      return ends("less", 0.25);
    case "wake":
      ends("before");
      await new Promise((resolve) => setTimeout(resolve, 100));
      say({ type: "tool_progress", heartbeat: true });
      say({ type: "system", subtype: "thinking_tokens" });
      say({ type: "rate_limit_event", rate_limit_info: { status: "allowed" } });
      return;
    default:
      return ends(`you said ${text}`);
  }
}

createInterface({ input: process.stdin }).on("line", (text) => {
  const line = JSON.parse(text) as Line;
  const { request_id: id, request } = line;
  if (line.type === "user") return void turn(line);
  if (line.type === "control_response" && greeting !== undefined) {
    const response = { subtype: "success", request_id: greeting, response: {} };
    greeting = undefined;
    process.stderr.write(`${line.response?.subtype}\n`);
    return say({ type: "control_response", response });
  }
  if (line.type === "control_response") return heard(line);
  if (request?.subtype === "initialize" && process.env["ASKS_FIRST"]) {
    // It answers the greeting only once it has been answered.
    greeting = id;
    return say({
      type: "control_request",
      request_id: "g1",
      request: { subtype: "hook_callback" },
    });
  }
  if (isDeaf) return;
  if (request?.subtype === "cancel_async_message") {
    const response = { subtype: "error", request_id: id, error: "no such request" };
    return say({ type: "control_response", response });
  }
  if (request?.subtype === "get_session_cost" && process.env["CARRIED"] !== undefined) {
    const response = {
      text: `${carried === 0 ? "Total" : "Estimated"} cost:  $${carried.toFixed(4)}\nUsage: 0 input`,
    };
    return say({
      type: "control_response",
      response: { subtype: "success", request_id: id, response },
    });
  }
  say({ type: "control_response", response: { subtype: "success", request_id: id, response: {} } });
});
