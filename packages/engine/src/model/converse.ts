// One run of the model loop: requests, calls and steers until the model answers without a call.
//
// The order that a crash relies on: a message with calls is durable before its first call runs; each call keeps its own
// order in `run.call`; a refused call's result is recorded when it is refused; steers join before a request, after all
// outcomes. The context of every request is built from the log anew, so a run that goes on after a crash sends what it
// would have sent. A last message without calls is written with the settlement.

import type { AgentEvent, AgentLoopConfig, StreamFn } from "@earendil-works/pi-agent-core";
import type { AssistantMessage, Message } from "@earendil-works/pi-ai";
import { isContextOverflow } from "@earendil-works/pi-ai/utils/overflow";
import type { Result, TranscriptEntry } from "@lichen/runtime";
import { Calls, type Loop } from "./calls.ts";
import { automaticCut, overflowCut, summarise } from "./compaction.ts";
import { diagnosticOf } from "./diagnostic.ts";
import { assistantData, cutOffData, textOfMessage, usageOf } from "./message.ts";
import { streamWithRetry } from "./retry.ts";
import { Shown } from "./shown.ts";
import { readingFor, requestMessages, type Turn } from "./turn.ts";

const overflowAttempts = 2;

/** Runs the turn to its end. The loop's library is loaded with the first one. */
export async function converse(turn: Turn): Promise<Result> {
  return new Conversation(turn, await import("@earendil-works/pi-agent-core")).run();
}

class Conversation {
  readonly #turn: Turn;
  /** Whether the newest request failed by what may pass. */
  #isTransient: () => boolean = () => false;
  /** Whether the newest request was refused for what it holds. */
  #isRefused: () => boolean = () => false;
  #hasImages = false;
  readonly #loop: Loop;
  readonly #shown: Shown;
  readonly #calls: Calls;
  #answer: AssistantMessage | undefined;
  #broken: AssistantMessage | undefined;
  #requests = 0;
  #isCramped = false;

  constructor(turn: Turn, loop: Loop) {
    this.#turn = turn;
    this.#loop = loop;
    this.#shown = new Shown(turn.run);
    this.#calls = new Calls(turn);
  }

  async run(): Promise<Result> {
    const { run, work } = this.#turn;
    if (work.resumed && (await this.#catchUp())) return { terminal: "completed" };
    for (let attempt = 0; ; attempt++) {
      await this.#request();
      this.#calls.throwIfFailed();
      if (run.signal.aborted) return this.#cancelled();
      const cut =
        this.#isOverflow() && attempt < overflowAttempts
          ? overflowCut(this.#turn, attempt)
          : undefined;
      if (!cut) return this.#result();
      const compacted = await summarise(this.#turn, cut, { automatic: true });
      run.signal.throwIfAborted();
      if (!compacted.entry)
        return {
          terminal: "failed",
          diagnostic: compacted.diagnostic,
          retryable: compacted.isTransient,
        };
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
    if (!last.data.content.some((block) => block.type === "call"))
      return !entries.slice(at).some((entry) => entry.kind === "message.user");
    await this.#calls.finish(this.#loop, last, entries);
    this.#calls.throwIfFailed();
    run.signal.throwIfAborted();
    return false;
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
        const entries = await this.#beforeRequest();
        const messages = requestMessages(this.#turn, entries);
        this.#hasImages = messages.some(hasImage);
        return { context: { messages, tools: this.#calls.tools() } };
      },
    };
    await this.#loop.runAgentLoopContinue(
      // The loop wants a message to begin with; every request brings its own.
      { messages: [{ role: "user", content: "", timestamp: 0 }] },
      config,
      (event) => this.#take(event),
      run.signal,
      this.#stream,
    );
  }

  /** The branch that the next request is built from, after steers joined it and what is too long was summed up. */
  async #beforeRequest(): Promise<TranscriptEntry[]> {
    const { run } = this.#turn;
    this.#calls.throwIfFailed();
    run.signal.throwIfAborted();
    if (this.#requests++ > 0) await run.steers();
    const entries = readingFor(this.#turn);
    const cut = this.#isCramped ? undefined : automaticCut(this.#turn, entries);
    if (!cut) return entries;
    const compacted = await summarise(this.#turn, cut, { automatic: true });
    run.signal.throwIfAborted();
    if (compacted.entry) await run.append([compacted.entry]);
    const shorter = readingFor(this.#turn);
    // Without a summary the request may still fit; and what one compaction could not shorten, a second will not.
    this.#isCramped = !compacted.entry || automaticCut(this.#turn, shorter) !== undefined;
    return shorter;
  }

  readonly #stream: StreamFn = (model, context, options) => {
    const { host, run } = this.#turn;
    const { stream, transient, refused } = streamWithRetry({
      model,
      policy: host.retry,
      after: host.after,
      signal: run.signal,
      open: (request) => host.models.stream(model, context, { ...options, ...request }),
      retrying: async (retry) => {
        const reason = diagnosticOf(retry.reason, await host.models.secretsOf(model));
        run.partial({ retrying: { ...retry, reason } });
      },
      wasted: (usage) => run.addUsage(usageOf(usage)),
    });
    this.#isTransient = transient;
    this.#isRefused = refused;
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
        await this.#calls.ended(Number(event.toolCallId), event.result);
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
    this.#calls.ask(entry.id, calls);
    let index = 0;
    for (const block of message.content) if (block.type === "toolCall") block.id = String(index++);
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
      retryable: !answer && this.#isTransient(),
      ...(message ? this.#kept(message, diagnostic) : {}),
    };
  }

  /** What a reader saw of a message that broke off; without any of it only its usage counts. */
  #kept(message: AssistantMessage, error?: string): Pick<Result, "entries"> {
    if (this.#hasImages && !this.#isOverflow() && this.#isRefused()) {
      const data = { ...cutOffData(message, error), imagesRefused: true as const };
      return { entries: [{ kind: "message.assistant", data }] };
    }
    if (textOfMessage(message).trim() !== "")
      return { entries: [{ kind: "message.assistant", data: cutOffData(message, error) }] };
    if (message.usage.totalTokens > 0) this.#turn.run.addUsage(usageOf(message.usage));
    return {};
  }
}

function hasImage({ content }: Message): boolean {
  return typeof content !== "string" && content.some((block) => block.type === "image");
}

function isCutBeforeAnswer(message: AssistantMessage): boolean {
  return message.stopReason === "length" && textOfMessage(message).trim() === "";
}
