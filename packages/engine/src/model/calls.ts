// The calls of the message that runs now, between the loop and the log.
//
// A call's outcome is recorded with its effect by `run.call`; a call that was refused before that is recorded here, once.
// Inside the loop a call's id is its index, since providers repeat theirs. When a commit fails no call records anything
// more; the failure is kept for the loop's next step, since a throw here would leave sibling calls running unwatched.

import type { AgentTool, AgentToolResult } from "@earendil-works/pi-agent-core";
import type { AssistantMessage } from "@earendil-works/pi-ai";
import type { TranscriptEntry } from "@lichen/runtime";
import type { CallBlock, EntryOf } from "@lichen/wire";
import { errorOutcome, outcomeOf, type Tool } from "../tool.ts";
import { Refusal } from "../tool-call.ts";
import { argumentsOf, noUsage, openCalls } from "./context.ts";
import type { Turn } from "./turn.ts";

export type Loop = typeof import("@earendil-works/pi-agent-core");

export class Calls {
  readonly #turn: Turn;
  readonly #recorded = new Set<number>();
  #asking: { readonly id: string; readonly blocks: readonly CallBlock[] } | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(turn: Turn) {
    this.#turn = turn;
  }

  /** Throws what made the run unable to go on. */
  throwIfFailed(): void {
    if (this.#failure) throw this.#failure.error;
  }

  /** The calls of the entry `id` run from now on. */
  ask(id: string, blocks: readonly CallBlock[]): void {
    this.#asking = { id, blocks };
    this.#recorded.clear();
  }

  /** The active tools as the loop calls them. */
  tools(): AgentTool[] {
    return this.#turn.toolbox.active().map((tool) => ({
      name: tool.name,
      description: tool.description,
      parameters: tool.parameters,
      label: tool.name,
      executionMode: tool.executionMode ?? "parallel",
      execute: (id: string, given: unknown) => this.#call(tool, Number(id), given),
    }));
  }

  /** A call ended: records its result unless its effect did. */
  async ended(index: number, result: unknown): Promise<void> {
    const { run } = this.#turn;
    const block = this.#asking?.blocks[index];
    if (!this.#asking || !block || this.#recorded.has(index)) return;
    if (this.#failure || run.signal.aborted) return;
    const { id: assistant } = this.#asking;
    const { callId, name } = block;
    try {
      const told = { ...outcomeOf(result), isError: true };
      const outcome = await this.#turn.toolbox.withoutSecrets(told);
      const data = { assistant, index, callId, name, ...outcome };
      await run.append([{ kind: "message.tool", data }]);
    } catch (error) {
      this.#failure ??= { error };
    }
  }

  /** Ends the calls that an earlier process left open in `entry`. */
  async finish(
    loop: Loop,
    entry: EntryOf<"message.assistant">,
    entries: readonly TranscriptEntry[],
  ): Promise<void> {
    this.ask(
      entry.id,
      entry.data.content.filter((block) => block.type === "call"),
    );
    const open = openCalls(entries, entry);
    const tools = this.tools();
    const isSequential = open.some(
      (block) => tools.find((tool) => tool.name === block.name)?.executionMode === "sequential",
    );
    const finish = async (block: CallBlock) =>
      this.ended(
        block.index,
        entry.data.stop === "length"
          ? errorOutcome(cutArguments(block.name))
          : await this.#again(loop, block, tools),
      );
    if (isSequential) for (const block of open) await finish(block);
    else await Promise.all(open.map(finish));
  }

  async #again(
    loop: Loop,
    { index, name, input }: CallBlock,
    tools: AgentTool[],
  ): Promise<unknown> {
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
    const { result } = await loop.runToolCall(
      { type: "toolCall", id: String(index), name, arguments: argumentsOf(input) },
      { tools, assistantMessage, context: { messages: [] }, signal: run.signal },
    );
    return result;
  }

  async #call(tool: Tool, index: number, given: unknown): Promise<AgentToolResult<undefined>> {
    const block = this.#asking?.blocks[index];
    if (!this.#asking || !block) throw new Error(`Call ${index} belongs to no message.`);
    try {
      const key = { assistant: this.#asking.id, block };
      const outcome = await this.#turn.toolbox.call(key, tool, given);
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
}

function cutArguments(name: string): string {
  return `${name} did not run: the message reached the model's output limit, so its arguments may be cut. Call it again with all of them.`;
}
