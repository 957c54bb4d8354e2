import { expect, test } from "vitest";
import { acpHarness, piHarness } from "../../src/index.ts";

const closed = () => {
  throw new Error("nothing is opened here");
};
const pi = piHarness(closed);
const acp = acpHarness(closed);

test("[MA36] what pi says reads like Claude Code's: its beginning, messages, tools, their results and the end of a turn", () => {
  const told = (line: Parameters<NonNullable<typeof pi.toClaudeLine>>[0]) =>
    pi.toClaudeLine?.(line);
  expect(
    told({
      type: "response",
      command: "get_state",
      success: true,
      data: { sessionId: "s1", model: { provider: "venice", id: "glm", contextWindow: 200 } },
    }),
  ).toEqual({
    type: "system",
    subtype: "init",
    session_id: "s1",
    harness: "pi",
    model: "venice/glm",
    context_window: 200,
  });
  expect(
    told({
      type: "message_end",
      message: {
        role: "assistant",
        provider: "venice",
        model: "glm",
        stopReason: "toolUse",
        content: [
          { type: "thinking", thinking: "hm" },
          { type: "text", text: "Look:" },
          { type: "toolCall", id: "c1", name: "bash", arguments: { command: "ls" } },
        ],
        usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
      },
    }),
  ).toEqual({
    type: "assistant",
    parent_tool_use_id: null,
    message: {
      role: "assistant",
      model: "venice/glm",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "Look:" },
        { type: "tool_use", id: "c1", name: "bash", input: { command: "ls" } },
      ],
      usage: {
        input_tokens: 1,
        cache_read_input_tokens: 3,
        cache_creation_input_tokens: 4,
        output_tokens: 2,
      },
    },
  });
  expect(
    told({
      type: "message_end",
      message: {
        role: "toolResult",
        toolCallId: "c1",
        isError: true,
        content: [
          { type: "text", text: "no" },
          { type: "image", mimeType: "image/png", data: "AA==" },
        ],
      },
    }),
  ).toMatchObject({
    type: "user",
    message: {
      content: [
        {
          type: "tool_result",
          tool_use_id: "c1",
          is_error: true,
          content: [
            { type: "text", text: "no" },
            { type: "image", source: { media_type: "image/png", data: "AA==" } },
          ],
        },
      ],
    },
  });
  expect(
    told({ type: "response", command: "get_session_stats", success: true, data: { cost: 0.5 } }),
  ).toMatchObject({ type: "result", subtype: "success", total_cost_usd: 0.5 });
  const used = { type: "response", command: "get_session_stats", success: true, data: {} };
  expect(told({ ...used, terminal: "completed" })).toMatchObject({ is_error: false });
  expect(told({ ...used, terminal: "failed" })).toMatchObject({
    ...{ type: "result", subtype: "error_during_execution", is_error: true },
  });
  expect(told({ type: "agent_settled", aborted: true })).toMatchObject({
    type: "result",
    subtype: "error_during_execution",
  });
  expect(told({ type: "auto_retry_end", success: false, finalError: "429" })).toMatchObject({
    type: "assistant",
    message: { model: "<synthetic>", content: [{ text: "429" }] },
  });
  const broken = { role: "assistant", model: "m", stopReason: "error", errorMessage: "400" };
  expect(told({ type: "message_end", message: broken })).toMatchObject({
    message: { model: "<synthetic>", content: [{ text: "400" }] },
  });
  for (const odd of [null, 1, "x", [], {}, { type: "message_end" }, { type: "response" }])
    expect(told(odd)).toEqual({ type: "system", subtype: "pi", line: odd });
});

test("[MA36] a dialog of pi's extensions is a question under the id by which it is answered", () => {
  const asked = pi.toClaudeLine?.({
    type: "extension_ui_request",
    id: "7",
    method: "confirm",
    title: "Sure?",
    message: "It deletes all.",
  });
  expect(asked).toMatchObject({
    type: "control_request",
    request_id: "ui-7",
    request: {
      subtype: "can_use_tool",
      tool_name: "AskUserQuestion",
      input: {
        questions: [
          { question: "Sure?\nIt deletes all.", options: [{ label: "Yes" }, { label: "No" }] },
        ],
      },
    },
  });
  const noise = { type: "extension_ui_request", id: "8", method: "notify", message: "hi" };
  expect(pi.toClaudeLine?.(noise)).toMatchObject({ type: "system", subtype: "pi" });
});

test("[MA36] what somebody else said inside pi is a message from outside, by its source", () => {
  const heard = (message: object) =>
    pi.outsideOf?.({ type: "message_end", message: { ...message } } as never);
  expect(heard({ role: "user", content: "typed there" })).toEqual({
    by: "pi",
    text: "typed there",
  });
  expect(
    heard({ role: "custom", customType: "heartbeat", content: [{ type: "text", text: "tick" }] }),
  ).toEqual({ by: "heartbeat", text: "tick" });
  expect(heard({ role: "assistant", content: "me" })).toBeUndefined();
  expect(pi.outsideOf?.({ type: "agent_start" })).toBeUndefined();
});

test("[MA36] what an agent of the Agent Client Protocol says reads like Claude Code's", () => {
  const update = (it: object) =>
    acp.toClaudeLine?.({
      jsonrpc: "2.0",
      method: "session/update",
      params: { sessionId: "s", update: { ...it } },
    } as never);
  const text = { type: "text", text: "hi" };
  expect(update({ sessionUpdate: "agent_message_chunk", content: text })).toMatchObject({
    type: "assistant",
    message: { content: [text] },
  });
  expect(update({ sessionUpdate: "agent_thought_chunk", content: text })).toMatchObject({
    message: { content: [{ type: "thinking", thinking: "hi" }] },
  });
  expect(
    update({ sessionUpdate: "tool_call", toolCallId: "c", title: "ls", rawInput: { cmd: "ls" } }),
  ).toMatchObject({
    message: { content: [{ type: "tool_use", id: "c", name: "ls", input: { cmd: "ls" } }] },
  });
  expect(
    update({
      sessionUpdate: "tool_call_update",
      toolCallId: "c",
      status: "failed",
      content: [{ type: "content", content: text }],
    }),
  ).toMatchObject({
    message: {
      content: [{ type: "tool_result", tool_use_id: "c", is_error: true, content: [text] }],
    },
  });
  expect(
    update({ sessionUpdate: "tool_call_update", toolCallId: "c", status: "in_progress" }),
  ).toMatchObject({
    type: "system",
    subtype: "acp",
  });
  const permission = (options: object[]) =>
    acp.toClaudeLine?.({
      id: 3,
      method: "session/request_permission",
      params: { toolCall: { toolCallId: "c", title: "rm -r", rawInput: { path: "x" } }, options },
      _meta: { prompt: "acp-1-2-3" },
    } as never);
  expect(permission([{ kind: "allow_once", name: "Allow" }])).toMatchObject({
    type: "control_request",
    request_id: "acp-1-2-3",
    request: { tool_name: "rm -r", input: { path: "x" } },
  });
  expect(
    permission([
      { kind: "allow_once", name: "This" },
      { kind: "allow_once", name: "That" },
    ]),
  ).toMatchObject({
    request: {
      tool_name: "AskUserQuestion",
      input: {
        questions: [{ question: "rm -r", options: [{ label: "This" }, { label: "That" }] }],
      },
    },
  });
  const answer = (result: object) => acp.toClaudeLine?.({ id: 1, result: { ...result } } as never);
  expect(answer({ stopReason: "end_turn" })).toMatchObject({ type: "result", subtype: "success" });
  expect(answer({ stopReason: "cancelled" })).toMatchObject({ type: "result", is_error: true });
  expect(answer({ sessionId: "s9" })).toMatchObject({ subtype: "init", session_id: "s9" });
  for (const odd of [null, 1, "x", [], {}, { method: "session/update" }])
    expect(acp.toClaudeLine?.(odd)).toEqual({ type: "system", subtype: "acp", line: odd });
});

test("[MA39] what auto-approve gave an agent of the protocol is an answer under its name, and what a person gave is none of it", () => {
  const outcome = { outcome: "selected", optionId: "once" };
  const line = (meta: object) => ({ jsonrpc: "2.0", result: { outcome }, _meta: { ...meta } });
  expect(acp.answeredIn?.(line({ prompt: "p1", by: "auto-approve" }))).toEqual({
    ...{ by: "auto-approve", prompt: "p1", allow: true },
  });
  for (const other of [line({ prompt: "p1" }), null, 1, "x", [], {}])
    expect(acp.answeredIn?.(other)).toBeUndefined();
});
