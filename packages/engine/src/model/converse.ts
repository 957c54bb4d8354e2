// One run of the model loop: requests, calls and steers until the model answers without a call.
//
// The order that a crash relies on: a message with calls is durable before its first call runs; each call keeps its own
// order in `run.call`; a refused call's result is recorded when it is refused; steers join before a request, after all
// outcomes. The context of every request is built from the log anew, so a run that goes on after a crash sends what it
// would have sent. A last message without calls is written with the settlement.

import type {
  AgentEvent,
  AgentLoopConfig,
  AgentTool,
  AgentToolResult,
  StreamFn,
} from "@earendil-works/pi-agent-core";
import type { AssistantMessage } from "@earendil-works/pi-ai";
import { isContextOverflow } from "@earendil-works/pi-ai/utils/overflow";
import type { Result } from "@lichen/runtime";
import type { CallBlock, EntryOf } from "@lichen/wire";
import { errorOutcome, outcomeOf, type Tool } from "../tool.ts";
import { automaticCut, overflowCut, summarise } from "./compaction.ts";
import { noUsage, openCalls } from "./context.ts";
import { diagnosticOf } from "./diagnostic.ts";
import { assistantData, cutOffData, textOfMessage, usageOf } from "./message.ts";
import { streamWithRetry } from "./retry.ts";
import { Shown } from "./shown.ts";
import { Refusal } from "./toolbox.ts";
import { requestMessages, type Turn } from "./turn.ts";

type Loop = typeof import("@earendil-works/pi-agent-core");

const overflowAttempts = 2;

/** Runs the turn to its end. The loop's library is loaded with the first one. */
export async function converse(turn: Turn): Promise<Result> {
  return new Conversation(turn, await import("@earendil-works/pi-agent-core")).run();
}

class Conversation {
  readonly #turn: Turn;
  readonly #loop: Loop;
  readonly #shown: Shown;
  /** The message whose calls run now. */
  #asking: { readonly id: string; readonly calls: readonly CallBlock[] } | undefined;
  readonly #recorded = new Set<number>();
  #answer: AssistantMessage | undefined;
  #broken: AssistantMessage | undefined;
  /** A commit failed: the run can go no further. */
  #failure: { readonly error: unknown } | undefined;
  #requests = 0;
  #isCramped = false;

  constructor(turn: Turn, loop: Loop) {
    this.#turn = turn;
    this.#loop = loop;
    this.#shown = new Shown(turn.run);
  }

  async run(): Promise<Result> {
    const { run, work } = this.#turn;
    if (work.resumed && (await this.#catchUp())) return { terminal: "completed" };
    for (let attempt = 0; ; attempt++) {
      await this.#request();
      if (this.#failure) throw this.#failure.error;
      if (run.signal.aborted) return this.#cancelled();
      const cut =
        this.#isOverflow() && attempt < overflowAttempts
          ? overflowCut(this.#turn, attempt)
          : undefined;
      if (!cut) return this.#result();
      const compacted = await summarise(this.#turn, cut, { automatic: true });
      run.signal.throwIfAborted();
      if (!compacted.entry) return { terminal: "failed", diagnostic: compacted.diagnostic };
      await run.append([compacted.entry]);
    }
  }

  /** Finishes what an earlier process left open; true where the run had its answer already. */
  async #catchUp(): Promise<boolean> {
    const { run } = this.#turn;
    const entries = run.transcript();
    const at = entries.findLastIndex(
      (entry) => entry.kind === "message.assistant" && entry.commandId === run.commandId,
    );
    const last = entries[at];
    if (last?.kind !== "message.assistant") return false;
    const calls = last.data.content.filter((block) => block.type === "call");
    if (calls.length === 0)
      return !entries.slice(at).some((entry) => entry.kind === "message.user");
    this.#ask(last.id, calls);
    const open = openCalls(entries, last);
    const tools = this.#tools();
    const isSequential = open.some(
      (block) => tools.find((tool) => tool.name === block.name)?.executionMode === "sequential",
    );
    const finish = (block: CallBlock) => this.#finish(block, last, tools);
    if (isSequential) for (const block of open) await finish(block);
    else await Promise.all(open.map(finish));
    if (this.#failure) throw this.#failure.error;
    run.signal.throwIfAborted();
    return false;
  }

  async #finish(
    block: CallBlock,
    entry: EntryOf<"message.assistant">,
    tools: AgentTool[],
  ): Promise<void> {
    if (entry.data.stop === "length")
      return this.#refuse(block.index, errorOutcome(cutArguments(block.name)));
    const { model, run } = this.#turn;
    const assistantMessage: AssistantMessage = {
      role: "assistant",
      content: [],
      provider: model.provider,
      api: model.api,
      model: model.id,
      usage: noUsage(),
      stopReason: "toolUse",
      timestamp: 0,
    };
    const done = await this.#loop.runToolCall(
      {
        type: "toolCall",
        id: String(block.index),
        name: block.name,
        arguments: isObject(block.input) ? block.input : {},
      },
      { tools, assistantMessage, context: { messages: [] }, signal: run.signal },
    );
    await this.#refuse(block.index, done.result);
  }

  async #request(): Promise<void> {
    this.#answer = undefined;
    this.#broken = undefined;
    const { model, reasoning, run } = this.#turn;
    const config: AgentLoopConfig = {
      model,
      ...(reasoning === "off" ? {} : { reasoning }),
      sessionId: run.epoch,
      identity: { userAgent: { custom: "lichen" }, attribution: null },
      convertToLlm: (messages) => messages,
      prepareRequest: async () => {
        await this.#beforeRequest();
        return { context: this.#context() };
      },
    };
    await this.#loop.runAgentLoopContinue(
      this.#context(),
      config,
      (event) => this.#take(event),
      run.signal,
      this.#stream,
    );
  }

  async #beforeRequest(): Promise<void> {
    const { run } = this.#turn;
    if (this.#failure) throw this.#failure.error;
    run.signal.throwIfAborted();
    if (this.#requests++ > 0) await run.steers();
    if (this.#isCramped) return;
    const cut = automaticCut(this.#turn);
    if (!cut) return;
    const compacted = await summarise(this.#turn, cut, { automatic: true });
    run.signal.throwIfAborted();
    if (compacted.entry) await run.append([compacted.entry]);
    // Without a summary the request may still fit; and what one compaction could not shorten, a second will not.
    this.#isCramped = !compacted.entry || automaticCut(this.#turn) !== undefined;
  }

  readonly #stream: StreamFn = (model, context, options) => {
    const { host, run } = this.#turn;
    const { stream } = streamWithRetry({
      model,
      policy: host.retry,
      after: host.after,
      signal: run.signal,
      open: (request) => host.models.stream(model, context, { ...options, ...request }),
      retrying: (retry) =>
        run.partial({ retrying: { ...retry, reason: diagnosticOf(retry.reason) } }),
      wasted: (usage) => run.addUsage(usageOf(usage)),
    });
    return stream;
  };

  async #take(event: AgentEvent): Promise<void> {
    switch (event.type) {
      case "message_update":
        this.#shown.update(event.assistantMessageEvent);
        break;
      case "message_end":
        if (event.message.role === "assistant") await this.#finished(event.message);
        break;
      case "tool_execution_end":
        await this.#refuse(Number(event.toolCallId), event.result);
        break;
      case "message_start":
        if (event.message.role === "assistant") this.#shown.begin();
        break;
      case "agent_start":
      case "agent_end":
      case "turn_start":
      case "turn_end":
      case "tool_execution_start":
      case "tool_execution_update":
        break;
    }
  }

  async #finished(message: AssistantMessage): Promise<void> {
    if (message.stopReason === "error" || message.stopReason === "aborted") {
      this.#broken = message;
      return;
    }
    const data = assistantData(message);
    const calls = data.content.filter((block) => block.type === "call");
    if (calls.length === 0) {
      this.#answer = message;
      return;
    }
    const [entry] = await this.#turn.run.append([{ kind: "message.assistant", data }]);
    if (!entry) throw new Error("The log answered an append without its entry.");
    this.#ask(entry.id, calls);
    // Inside the loop a call's id is its index: providers repeat theirs.
    let index = 0;
    for (const block of message.content) if (block.type === "toolCall") block.id = String(index++);
  }

  #ask(id: string, calls: readonly CallBlock[]): void {
    this.#asking = { id, calls };
    this.#recorded.clear();
  }

  #tools(): AgentTool[] {
    return this.#turn.toolbox.active().map((tool) => ({
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters,
      label: tool.name,
      executionMode: tool.executionMode ?? "parallel",
      execute: (id: string, given: unknown) => this.#call(tool, Number(id), given),
    }));
  }

  async #call(tool: Tool, index: number, given: unknown): Promise<AgentToolResult<undefined>> {
    const block = this.#asking?.calls[index];
    if (!this.#asking || !block) throw new Error(`Call ${index} belongs to no message.`);
    try {
      const outcome = await this.#turn.toolbox.call(
        { assistant: this.#asking.id, block },
        tool,
        given,
      );
      this.#recorded.add(index);
      return {
        content: [...outcome.content],
        details: undefined,
        ...(outcome.isError ? { isError: true } : {}),
      };
    } catch (error) {
      if (!(error instanceof Refusal)) this.#failure ??= { error };
      throw error;
    }
  }

  /** Records the result of a call that did not run; the others were recorded with their effect. */
  async #refuse(index: number, result: unknown): Promise<void> {
    const { run } = this.#turn;
    const block = this.#asking?.calls[index];
    if (!this.#asking || !block || this.#recorded.has(index)) return;
    if (this.#failure || run.signal.aborted) return;
    const { callId, name } = block;
    try {
      await run.append([
        {
          kind: "message.tool",
          data: {
            assistant: this.#asking.id,
            index,
            callId,
            name,
            ...outcomeOf(result),
            isError: true,
          },
        },
      ]);
    } catch (error) {
      // Thrown here, it would leave sibling calls running unwatched.
      this.#failure ??= { error };
    }
  }

  #context() {
    return { messages: requestMessages(this.#turn), tools: this.#tools() };
  }

  #isOverflow(): boolean {
    const message = this.#broken ?? this.#answer;
    if (!message || message.stopReason === "stop") return false;
    return isContextOverflow(message, this.#turn.model.contextWindow);
  }

  #cancelled(): Result {
    const broken = this.#broken;
    if (!broken) return { terminal: "cancelled" };
    return { terminal: "cancelled", ...this.#kept({ ...broken, stopReason: "aborted" }) };
  }

  async #result(): Promise<Result> {
    const { host, model } = this.#turn;
    const answer = this.#answer;
    if (answer && !this.#isOverflow() && !isCutBeforeAnswer(answer))
      return {
        terminal: "completed",
        entries: [{ kind: "message.assistant", data: assistantData(answer) }],
      };
    const message = answer ?? this.#broken;
    const why = this.#isOverflow()
      ? `the conversation does not fit the model's context. ${message?.errorMessage ?? ""}`
      : answer
        ? "the answer reached the model's output limit before its first word"
        : (message?.errorMessage ?? "the request ended without an answer");
    const secrets = await host.models.secretsOf(model);
    const diagnostic = diagnosticOf(`${model.provider}/${model.id}: ${why}`, secrets);
    return {
      terminal: "failed",
      diagnostic,
      ...(message ? this.#kept(message, diagnostic) : {}),
    };
  }

  /** What a reader saw of a message that broke off; without any of it only its usage counts. */
  #kept(message: AssistantMessage, error?: string): Pick<Result, "entries"> {
    if (textOfMessage(message).trim() !== "")
      return { entries: [{ kind: "message.assistant", data: cutOffData(message, error) }] };
    if (message.usage.totalTokens > 0) this.#turn.run.addUsage(usageOf(message.usage));
    return {};
  }
}

function isCutBeforeAnswer(message: AssistantMessage): boolean {
  return message.stopReason === "length" && textOfMessage(message).trim() === "";
}

function cutArguments(name: string): string {
  return `${name} did not run: the message reached the model's output limit, so its arguments may be cut. Call it again with all of them.`;
}

function isObject(value: unknown): value is Record<string, never> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
