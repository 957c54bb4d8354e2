// Every kind of step, seen through the real provider libraries of the three wires.

import { stream as streamAnthropic } from "@earendil-works/pi-ai/api/anthropic-messages";
import { stream as streamCompletions } from "@earendil-works/pi-ai/api/openai-completions";
import { stream as streamResponses } from "@earendil-works/pi-ai/api/openai-responses";
import type {
  AssistantMessage,
  AssistantMessageEvent,
  AssistantMessageEventStream,
  Message,
  Tool,
} from "@earendil-works/pi-ai";
import { isContextOverflow } from "@earendil-works/pi-ai/utils/overflow";
import { normalizeContext } from "@earendil-works/pi-ai/utils/transcript";
import { afterEach, describe, expect, test } from "vitest";
import {
  type ScriptedProvider,
  type ScriptedProviderOptions,
  startScriptedProvider,
  type Wire,
} from "../src/testing/index.ts";

const open: ScriptedProvider[] = [];
afterEach(async () => {
  for (const provider of open.splice(0)) await provider.close();
});

async function start(options: ScriptedProviderOptions): Promise<ScriptedProvider> {
  const provider = await startScriptedProvider(options);
  open.push(provider);
  return provider;
}

interface Asking {
  readonly messages?: Message[];
  readonly tools?: Tool[];
  readonly signal?: AbortSignal;
  readonly maxRetries?: number;
}

function ask(wire: Wire, url: string, asking: Asking = {}): AssistantMessageEventStream {
  const { messages = [user("hello")], tools, signal, maxRetries } = asking;
  const context = normalizeContext({
    systemPrompt: "Be brief.",
    messages,
    ...(tools ? { tools } : {}),
  });
  const options = {
    apiKey: "sk-made-up",
    env: {},
    ...(signal ? { signal } : {}),
    ...(maxRetries === undefined ? {} : { maxRetries }),
  };
  const model = {
    id: "scripted-1",
    name: "Scripted",
    provider: "scripted",
    reasoning: true,
    input: ["text" as const, "image" as const],
    cost: { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 1.5 },
    contextWindow: 200_000,
    maxTokens: 4_096,
  };
  switch (wire) {
    case "anthropic":
      return streamAnthropic(
        { ...model, api: "anthropic-messages", baseUrl: url },
        context,
        options,
      );
    case "completions":
      return streamCompletions(
        { ...model, api: "openai-completions", baseUrl: `${url}/v1` },
        context,
        options,
      );
    case "responses":
      return streamResponses(
        { ...model, api: "openai-responses", baseUrl: `${url}/v1` },
        context,
        options,
      );
  }
}

function user(text: string): Message {
  return { role: "user", content: text, timestamp: 0 };
}

function textOf(message: AssistantMessage): string {
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

const weather: Tool = {
  name: "weather",
  description: "The weather of a place.",
  parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
};

describe.each(["anthropic", "completions", "responses"] as const)("over %s", (wire) => {
  test("[X1] text arrives in the deltas of the step, thoughts before it, with usage and stop", async () => {
    const { url } = await start({
      script: [
        {
          parts: [{ thinking: ["Let me ", "see."] }, { text: ["One", " two", " three"] }],
          usage: { input: 100, output: 20, cacheRead: 30, cacheWrite: 7 },
        },
      ],
    });
    const events: AssistantMessageEvent[] = [];
    const stream = ask(wire, url);
    for await (const event of stream) events.push(event);
    const message = await stream.result();
    expect(events.flatMap((it) => (it.type === "text_delta" ? [it.delta] : []))).toEqual([
      "One",
      " two",
      " three",
    ]);
    expect(message.content.map(({ type }) => type)).toEqual(["thinking", "text"]);
    expect(message.content[0]).toMatchObject({ thinking: "Let me see." });
    expect(message.stopReason).toBe("stop");
    expect(message.usage).toMatchObject({ input: 100, output: 20, cacheRead: 30, cacheWrite: 7 });
  });

  test("[X1] parallel calls arrive whole, with ids that repeat where the script repeats them", async () => {
    const { url } = await start({
      script: [
        {
          parts: [
            { text: "Looking." },
            { call: { name: "weather", id: "call_same", input: { place: "Uster" } } },
            { call: { name: "weather", deltas: ['{"pla', 'ce":"Wil"}'] } },
          ],
        },
        { parts: [{ call: { name: "weather", id: "call_same", input: { place: "Chur" } } }] },
      ],
    });
    const first = await ask(wire, url, { tools: [weather] }).result();
    const second = await ask(wire, url, { tools: [weather] }).result();
    const calls = first.content.filter((block) => block.type === "toolCall");
    const again = second.content.filter((block) => block.type === "toolCall");
    expect(calls.map((call) => call.arguments)).toEqual([{ place: "Uster" }, { place: "Wil" }]);
    expect(first.stopReason).toBe("toolUse");
    expect(calls[0]!.id.split("|")[0]).toBe("call_same");
    expect(again[0]!.id.split("|")[0]).toBe("call_same");
    expect(calls[1]!.id.split("|")[0]).not.toBe("call_same");
  });

  test("[X1] an answer that ends for length says so", async () => {
    const { url } = await start({ script: [{ parts: [{ text: "cut sho" }], stop: "length" }] });
    const message = await ask(wire, url).result();
    expect(message.stopReason).toBe("length");
    expect(textOf(message)).toBe("cut sho");
  });

  test("[X2] an answer waits at its gate until the test opens it", async () => {
    const provider = await start({
      script: [
        { parts: [{ text: "before" }, { gate: "half" }, { delayMs: 1 }, { text: " after" }] },
      ],
    });
    const stream = ask(wire, provider.url);
    const seen: string[] = [];
    for await (const event of stream) {
      if (event.type !== "text_delta") continue;
      seen.push(event.delta);
      if (event.delta === "before") {
        await provider.reached("half");
        provider.open("half");
      }
    }
    expect(seen).toEqual(["before", " after"]);
  });

  test("[X3] refusals carry the wire's status, its body, and the time to wait", async () => {
    const { url } = await start({
      script: [
        { refuse: "unauthenticated" },
        { refuse: "rate_limited", retryAfterSeconds: 120 },
        { refuse: "server_error" },
        { refuse: "overloaded" },
        { refuse: "context_length" },
      ],
    });
    const errors: string[] = [];
    for (let at = 0; at < 4; at++) {
      const message = await ask(wire, url, { maxRetries: at === 1 ? 1 : 0 }).result();
      expect(message.stopReason).toBe("error");
      errors.push(message.errorMessage ?? "");
    }
    expect(errors[0]).toContain("401");
    expect(errors[1]).toContain("120s retry delay");
    expect(errors[2]).toContain("500");
    expect(errors[3]).toContain(wire === "anthropic" ? "529" : "503");
    expect(errors[3]).toMatch(/overloaded/i);
    expect(isContextOverflow(await ask(wire, url).result(), 200_000)).toBe(true);
  });

  test("[X3] a refusal that can be retried is, after the time it named", async () => {
    const provider = await start({
      script: [{ refuse: "rate_limited", retryAfterSeconds: 0.01 }, "there"],
    });
    expect(textOf(await ask(wire, provider.url, { maxRetries: 1 }).result())).toBe("there");
    expect(provider.requests).toHaveLength(2);
  });

  test("[X4] a stream that breaks off in the middle is an error with what had come", async () => {
    const provider = await start({
      script: [
        { parts: [{ text: "half of" }, { gate: "read" }, { cut: true }] },
        { parts: [{ text: "half of" }, { breaks: "overloaded" }] },
        { parts: [{ cut: true }] },
      ],
    });
    const cutting = ask(wire, provider.url);
    for await (const event of cutting) if (event.type === "text_delta") provider.open("read");
    const cut = await cutting.result();
    const broken = await ask(wire, provider.url).result();
    const dead = await ask(wire, provider.url).result();
    expect([cut, broken, dead].map(({ stopReason }) => stopReason)).toEqual([
      "error",
      "error",
      "error",
    ]);
    expect([textOf(cut), textOf(broken), textOf(dead)]).toEqual(["half of", "half of", ""]);
    expect(broken.errorMessage).toMatch(/overloaded/i);
    expect(await provider.requests[0]!.ended).toBe("cut");
  });

  test("[X4] broken frames and arguments that are not JSON reach the library as they are", async () => {
    const event = { anthropic: "content_block_delta", completions: "x", responses: "x" }[wire];
    const provider = await start({
      script: [
        { parts: [{ text: "ok" }, { raw: `event: ${event}\ndata: {"type": nonsense]]\n\n` }] },
        { parts: [{ call: { name: "weather", deltas: ['{"place": ', "Uster, and"] } }] },
      ],
    });
    const broken = await ask(wire, provider.url).result();
    expect(broken.stopReason).toBe("error");
    const odd = await ask(wire, provider.url, { tools: [weather] }).result();
    const call = odd.content.find((block) => block.type === "toolCall");
    expect(call).toBeDefined();
    expect(call).not.toMatchObject({ arguments: { place: "Uster, and" } });
  });

  test("[X4] an answer that never comes ends when its caller leaves", async () => {
    const provider = await start({
      script: [{ parts: [{ hang: true }] }, { parts: [{ text: "a" }, { hang: true }] }],
    });
    for (const number of [1, 2]) {
      const leaving = new AbortController();
      const stream = ask(wire, provider.url, { signal: leaving.signal });
      const request = await provider.request(number);
      leaving.abort();
      expect((await stream.result()).stopReason).toBe("aborted");
      expect(await request.ended).toBe("left");
    }
  });

  test("[X5] a request is read as it was sent: roles, tools, calls, results and images", async () => {
    const provider = await start({
      script: [{ parts: [{ call: { name: "weather", input: { place: "Uster" } } }] }, "Sunny."],
    });
    const picture: Message = {
      role: "user",
      content: [
        { type: "text", text: "weather here?" },
        { type: "image", data: "aGk=", mimeType: "image/png" },
      ],
      timestamp: 0,
    };
    const called = await ask(wire, provider.url, {
      messages: [picture],
      tools: [weather],
    }).result();
    const call = called.content.find((block) => block.type === "toolCall");
    const result: Message = {
      role: "toolResult",
      toolCallId: call!.id,
      toolName: "weather",
      content: [{ type: "text", text: "sun" }],
      isError: false,
      timestamp: 0,
    };
    await ask(wire, provider.url, {
      messages: [picture, called, result],
      tools: [weather],
    }).result();
    const [first, second] = provider.requests;
    expect(first!.system).toBe("Be brief.");
    expect(first!.tools).toEqual(["weather"]);
    expect(first!.prompt).toBe("weather here?");
    expect(first!.messages.flatMap(({ images }) => images)).toEqual([
      { mimeType: "image/png", data: "aGk=" },
    ]);
    const roles = second!.messages
      .map(({ role }) => role)
      .filter((role) => !/system|dev/.test(role));
    expect(roles).toEqual(["user", "assistant", wire === "anthropic" ? "user" : "tool"]);
    expect(second!.messages.flatMap(({ calls }) => calls)).toMatchObject([
      { name: "weather", input: { place: "Uster" } },
    ]);
    expect(second!.results).toMatchObject([{ text: "sun" }]);
    expect(second!.results[0]!.id).toBe(second!.messages.flatMap(({ calls }) => calls)[0]!.id);
  });

  test("[X6] a conversation that a provider would refuse is refused and costs no step", async () => {
    const provider = await start({ script: ["fine"], rules: "alternating" });
    const orphan: Message = {
      role: "toolResult",
      toolCallId: "call_never",
      toolName: "weather",
      content: [{ type: "text", text: "sun" }],
      isError: false,
      timestamp: 0,
    };
    const refused = await ask(wire, provider.url, { messages: [user("a"), orphan] }).result();
    expect(refused.errorMessage).toContain("no call before it has");
    const twice = await ask(wire, provider.url, { messages: [user("a"), user("b")] }).result();
    expect(twice.errorMessage).toContain("roles must alternate");
    expect(textOf(await ask(wire, provider.url).result())).toBe("fine");
    const after = await ask(wire, provider.url).result();
    expect(after.errorMessage).toContain("no step for request 4");
  });
});

test("[X6] a call without a result right after it is refused", async () => {
  const provider = await start({ script: ["never"] });
  const post = (path: string, body: object) =>
    fetch(provider.url + path, { method: "POST", body: JSON.stringify(body) });
  const anthropic = await post("/v1/messages", {
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "t", input: {} }] },
      { role: "user", content: "b" },
    ],
  });
  const completions = await post("/v1/chat/completions", {
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", tool_calls: [{ id: "c1", function: { name: "t", arguments: "{}" } }] },
      { role: "user", content: "b" },
    ],
  });
  const responses = await post("/v1/responses", {
    input: [
      { role: "user", content: "a" },
      { type: "function_call", call_id: "c1", name: "t", arguments: "{}" },
    ],
  });
  for (const response of [anthropic, completions, responses]) {
    expect(response.status).toBe(400);
    expect(await response.text()).toContain("c1");
  }
});

test("[X2] a script may decide per request, and steps may be pushed while it serves", async () => {
  const provider = await start({ script: (request) => `you said ${request.prompt}` });
  expect(textOf(await ask("anthropic", provider.url).result())).toBe("you said hello");
  provider.push("pushed");
  expect(textOf(await ask("responses", provider.url).result())).toBe("pushed");
});

test("[X7] closing ends every open answer", async () => {
  const provider = await start({ script: [{ parts: [{ text: "a" }, { hang: true }] }] });
  const stream = ask("completions", provider.url);
  const request = await provider.request(1);
  const unasked = expect(provider.request(2)).rejects.toThrow("closed before request 2");
  await provider.close();
  expect((await stream.result()).stopReason).toBe("error");
  expect(await request.ended).toBe("cut");
  await unasked;
});
