// What one run works with: the agent as it is defined now, the model it runs on, and the policies of its host.

import type { Api, Message, Model, Tool as Declared } from "@earendil-works/pi-ai";
import { createInitialSystemMessage } from "@earendil-works/pi-ai/utils/transcript";
import type { EngineSession, Run, TranscriptEntry, Work } from "@lichen/runtime";
import { canonicalJson, Fault, type OfferedCapabilities, type Reasoning } from "@lichen/wire";
import type { Tool } from "../tool.ts";
import { contextOf, type Reader } from "./context.ts";
import { diagnosticOf } from "./diagnostic.ts";
import type { Models } from "./models.ts";
import { readingOf, resultLimit } from "./reading.ts";
import type { After, RetryPolicy } from "./retry.ts";
import { Toolbox } from "./toolbox.ts";

/** An agent as it is now. Asked before every run, so that a change of it counts from the next turn on. */
export interface Definition {
  /** The system prompt; never stored. */
  readonly system: string;
  readonly tools: readonly Tool[];
  /** The agent's working directory. */
  readonly cwd: string;
  /** `provider/id`; a session's own setting wins. */
  readonly model?: string;
  readonly reasoning?: Reasoning;
  /** How `tools` offer the agent's capabilities; the session says so. */
  readonly offered?: OfferedCapabilities;
}

export interface CompactionPolicy {
  /** Tokens of the window that stay free for the answer; less in a small window. */
  readonly reserveTokens: number;
  /** Tokens of the newest messages that a compaction keeps; less in a small window. */
  readonly keepTokens: number;
  readonly isAutomatic: boolean;
}

export const defaultCompaction: CompactionPolicy = {
  reserveTokens: 16_384,
  keepTokens: 20_000,
  isAutomatic: true,
};

export interface Host {
  readonly models: Models;
  definition(session: EngineSession): Promise<Definition>;
  readonly after: After;
  readonly retry: RetryPolicy;
  readonly compaction: CompactionPolicy;
}

export interface Turn {
  readonly host: Host;
  readonly work: Work;
  readonly run: Run;
  readonly definition: Definition;
  readonly model: Model<Api>;
  readonly reasoning: Reasoning;
  readonly toolbox: Toolbox;
}

/** The turn, or one line that says why it cannot begin. */
export async function openTurn(
  host: Host,
  work: Work,
  run: Run,
): Promise<Turn | { readonly diagnostic: string }> {
  try {
    const definition = await host.definition(run);
    const settings = run.settings();
    const choice = await host.models.whichModel(settings.model ?? definition.model);
    if (choice.state === "missing") return { diagnostic: diagnosticOf(choice.why) };
    const model = await host.models.resolveModel(choice.spec);
    return {
      host,
      work,
      run,
      definition,
      model,
      reasoning: settings.reasoning ?? definition.reasoning ?? "off",
      toolbox: new Toolbox(run, definition.cwd, definition.tools, () =>
        host.models.secretsOf(model),
      ),
    };
  } catch (error) {
    if (run.signal.aborted) return { diagnostic: "Cancelled." };
    if (Fault.is(error)) return { diagnostic: diagnosticOf(error) };
    return {
      diagnostic: diagnosticOf(`The agent's definition cannot be used: ${reasonOf(error)}`),
    };
  }
}

/** Says in the session how its capabilities are offered, where that is not what it says already. */
export async function sayWhatIsOffered({ definition, run }: Turn): Promise<void> {
  const { offered: capabilities } = definition;
  if (!capabilities) return;
  if (canonicalJson(run.settings().capabilities) === canonicalJson(capabilities)) return;
  await run.append([{ kind: "session.changed", data: { capabilities } }]);
}

/** The branch as the turn's model may read it. */
export function readingFor({ model, run }: Pick<Turn, "model" | "run">): TranscriptEntry[] {
  return readingOf(run.transcript(), readerOf(model), resultLimit(model.contextWindow));
}

function readerOf({ provider, api, id }: Model<Api>): Reader {
  return { provider, api, id };
}

/** What the next request sends, built each time from the branch as its model may read it. */
export function requestMessages(turn: Turn, entries: readonly TranscriptEntry[]): Message[] {
  const { definition, model, run, toolbox } = turn;
  const system = createInitialSystemMessage(definition.system, declared(toolbox.active()));
  const messages = contextOf(entries, readerOf(model), (sha256) => run.blob(sha256));
  return system ? [{ ...system, timestamp: 0 }, ...messages] : messages;
}

function declared(tools: readonly Tool[]): Declared[] {
  return tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
