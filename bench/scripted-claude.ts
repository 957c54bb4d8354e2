// The load of figures 11 to 14: a program that speaks Claude Code's stream-json and says what its messages ask for.
//
//   {"deltas": N, "everyMs": [...]}   streams N deltas, each with the time when it was written, that far apart
//   {"says": [text, ...]}             says these texts, each as a message of its own
//   {"result": BYTES}                 uses a tool whose result is that long
//
// A time is that of the system's steady clock, which all processes share: `@` nanoseconds `;`.

import { createInterface } from "node:readline";

interface Line {
  readonly type: string;
  readonly uuid?: string;
  readonly request_id?: string;
  readonly message?: { readonly content: string };
}

interface Wish {
  readonly deltas?: number;
  readonly everyMs?: readonly number[];
  readonly says?: readonly string[];
  readonly result?: number;
}

const args = process.argv.slice(2);
const conversation = args[args.findIndex((arg) => /^--(session-id|resume)$/.test(arg)) + 1] ?? "";
const usage = { input_tokens: 1, output_tokens: 1 };
/** Messages that were taken: one that comes again is acknowledged and no more. */
const taken = new Set<string | undefined>();
let said = 0;

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function sayMessage(content: object): void {
  const message = {
    id: `msg_${++said}`,
    role: "assistant",
    model: "scripted-1",
    content: [content],
  };
  say({ type: "assistant", parent_tool_use_id: null, message: { ...message, usage } });
}

function sayDelta(event: object): void {
  say({ type: "stream_event", parent_tool_use_id: null, event });
}

async function stream({ deltas = 0, everyMs = [10] }: Wish): Promise<void> {
  sayDelta({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } });
  for (let sent = 0; sent < deltas; sent++) {
    await new Promise((resolve) => setTimeout(resolve, everyMs[sent % everyMs.length]));
    const text = `@${process.hrtime.bigint()};`;
    sayDelta({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
  }
  // What was not shown by then is not shown as streaming any more.
  await new Promise((resolve) => setTimeout(resolve, 100));
  sayMessage({ type: "text", text: "That was all." });
}

function useTool(bytes: number): void {
  const id = `toolu_${++said}`;
  sayMessage({ type: "tool_use", id, name: "Read", input: { file_path: "large.txt" } });
  const row = (number: number) => `${String(number * 7_919).padStart(12, "0")} of a long file\n`;
  const rows = Array.from({ length: Math.ceil(bytes / row(0).length) }, (_, number) => row(number));
  const content = `${said}: what follows is too long to be read.\n${rows.join("")}`;
  const result = { type: "tool_result", tool_use_id: id, content };
  say({ type: "user", parent_tool_use_id: null, message: { role: "user", content: [result] } });
}

async function turn({ uuid, message }: Line): Promise<void> {
  const text = message?.content ?? "";
  const replay = { type: "user", uuid, isReplay: true, message: { role: "user", content: text } };
  if (taken.has(uuid)) return say(replay);
  taken.add(uuid);
  say({ type: "system", subtype: "init", session_id: conversation, model: "scripted-1" });
  say(replay);
  const wish = JSON.parse(text) as Wish;
  if (wish.deltas !== undefined) await stream(wish);
  for (const said of wish.says ?? []) sayMessage({ type: "text", text: said });
  if (wish.result !== undefined) useTool(wish.result);
  const rest = { is_error: false, num_turns: 1, total_cost_usd: 0, usage };
  say({ type: "result", subtype: "success", result: "done", ...rest });
}

createInterface({ input: process.stdin }).on("line", (text) => {
  const line = JSON.parse(text) as Line;
  if (line.type === "user") return void turn(line);
  if (line.type !== "control_request") return;
  const response = { subtype: "success", request_id: line.request_id, response: {} };
  say({ type: "control_response", response });
});
