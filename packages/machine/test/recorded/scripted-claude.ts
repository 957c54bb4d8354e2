// Plays Claude Code for tests of the machine API: a process that speaks its stream-json. What it does is said by the
// message: `hang` works until it is interrupted, `permit` asks for a permission, `question` asks a question, `recite`
// says many things; all else is repeated.

import { createInterface } from "node:readline";

interface Line {
  readonly type: string;
  readonly uuid?: string;
  readonly request_id?: string;
  readonly message?: { readonly content: string };
  readonly request?: { readonly subtype: string };
  readonly response?: { readonly response?: { readonly behavior?: string } };
}

const args = process.argv.slice(2);
const conversation = args[args.findIndex((arg) => /^--(session-id|resume)$/.test(arg)) + 1] ?? "";
let interrupted = Promise.withResolvers<void>();
let answered = Promise.withResolvers<Line>();
let asked = 0;
let cost = 0;
let turns = Promise.resolve();

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function stream(text: string): void {
  const event = {
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text },
  };
  say({ type: "stream_event", parent_tool_use_id: null, event });
}

function assistant(...content: readonly object[]): void {
  const usage = {
    input_tokens: 10,
    cache_read_input_tokens: 5,
    cache_creation_input_tokens: 1,
    output_tokens: 3,
  };
  const message = { id: "m", role: "assistant", model: "scripted-1", content, usage };
  say({ type: "assistant", parent_tool_use_id: null, message });
}

function ends(subtype: "success" | "error_during_execution", text: string): void {
  cost += 0.25;
  say({
    ...{ type: "result", subtype, result: text, is_error: subtype !== "success" },
    ...{ session_id: conversation, num_turns: 1, duration_ms: 10, total_cost_usd: cost },
    usage: { input_tokens: 10, output_tokens: 3 },
    modelUsage: { "scripted-1": { contextWindow: 200_000 } },
  });
}

async function asks(id: string, tool: string, input: object): Promise<void> {
  const call = `toolu_${id}`;
  assistant({ type: "tool_use", id: call, name: tool, input });
  const request = { subtype: "can_use_tool", tool_name: tool, input, tool_use_id: call };
  answered = Promise.withResolvers();
  say({ type: "control_request", request_id: id, request });
  const line = await Promise.race([answered.promise, interrupted.promise]);
  if (!line) return;
  const result = {
    type: "tool_result",
    tool_use_id: call,
    content: line.response?.response?.behavior ?? "",
  };
  say({
    type: "user",
    parent_tool_use_id: null,
    message: { role: "user", content: [{ ...result, is_error: false }] },
  });
}

async function turn({ uuid, message }: Line): Promise<void> {
  const text = message?.content ?? "";
  interrupted = Promise.withResolvers();
  let wasInterrupted = false;
  void interrupted.promise.then(() => (wasInterrupted = true));
  say({ type: "system", subtype: "init", session_id: conversation, model: "scripted-1" });
  say({ type: "user", uuid, isReplay: true, message: { role: "user", content: text } });
  if (text === "hang") {
    stream("I am at it");
    await interrupted.promise;
  } else if (text === "permit") await asks(`p-${++asked}`, "Bash", { command: "ls" });
  else if (text === "question")
    await asks(`q-${++asked}`, "AskUserQuestion", {
      questions: [
        {
          ...{ question: "Which?", header: "Which", multiSelect: false },
          options: ["A", "B"].map((label) => ({ label, description: label })),
        },
      ],
    });
  else if (text === "recite")
    for (const words of recital) {
      stream(words.slice(0, words.length / 2));
      await new Promise((resolve) => void setImmediate(resolve));
      assistant({ type: "text", text: words });
    }
  if (wasInterrupted) return ends("error_during_execution", "");
  const last = `you said ${text}`;
  stream(last);
  assistant({ type: "text", text: last });
  ends("success", last);
}

/** Texts of every width of UTF-8, and with all that could be taken for the end of an event. */
const recital = [
  "Příliš žluťoučký kůň\n\nid: 99\ndata: {}\n\n",
  "lichen \u{1F344}\u{1F33F} \u2028\u2029 \r\n\r\n: no comment",
  "ﷺ 漢字 \u0000\u001f \\n\\n",
];

createInterface({ input: process.stdin }).on("line", (text) => {
  const line = JSON.parse(text) as Line;
  if (line.type === "user") turns = turns.then(() => turn(line));
  else if (line.type === "control_response") answered.resolve(line);
  else {
    const response = { subtype: "success", request_id: line.request_id, response: {} };
    say({ type: "control_response", response });
    if (line.request?.subtype === "interrupt") interrupted.resolve();
  }
});
