// The model engine: a command is a conversation with a model that may call tools.
//
// It keeps nothing of its own. What a run has done stands in the log, so that the same command, given again after a
// crash, goes on from there.

import type { Connection, Engine, ModelCatalogue, Result, Run, Work } from "@lichen/runtime";
import { Fault, textOf } from "@lichen/wire";
import { manualCut, summarise } from "./compaction.ts";
import { converse } from "./converse.ts";
import { tokensOf, tokensOfText } from "./cut.ts";
import type { Models } from "./models.ts";
import { defaultRetry, type RetryPolicy } from "./retry.ts";
import {
  type CompactionPolicy,
  defaultCompaction,
  type Definition,
  type Host,
  openTurn,
  sayWhatIsOffered,
  type Turn,
} from "./turn.ts";

export interface ModelEngineOptions extends Pick<Host, "models" | "definition" | "after"> {
  readonly retry?: Partial<RetryPolicy>;
  readonly compaction?: Partial<CompactionPolicy>;
  /** The model and the level that the agent names now, for those who list what there is. */
  readonly defaults?: () => Promise<Pick<Definition, "model" | "reasoning">>;
}

export function createModelEngine(options: ModelEngineOptions): Engine {
  const host: Host = {
    models: options.models,
    definition: (session) => options.definition(session),
    after: options.after,
    retry: { ...defaultRetry, ...options.retry },
    compaction: { ...defaultCompaction, ...options.compaction },
  };
  return {
    name: "model",
    can: {
      steer: true,
      approve: true,
      resume: true,
      takeover: false,
      images: true,
      models: true,
      eager: true,
    },
    check: (settings) => options.models.checkSettings(settings),
    models: () => catalogue(options),
    open: (): Connection => ({
      run: (work, run) => execute(host, work, run),
      close: async () => {},
    }),
  };
}

/** What a session can be set to, and what one without settings of its own runs on. */
async function catalogue({ models, defaults }: ModelEngineOptions): Promise<ModelCatalogue> {
  const { model, reasoning = "off" } = (await defaults?.()) ?? {};
  const listed = await models.listModels();
  return {
    models: listed.map(({ spec, name, reasoning: levels, contextWindow, isReady }) => ({
      model: spec,
      name,
      // A model that does not reason takes no level but `off`.
      reasoning: levels.some((level) => level !== "off") ? [...levels] : [],
      contextWindow,
      isReady,
    })),
    default: await defaultModel(models, model),
    reasoning,
  };
}

/** A model that was named stays the default also where it does not exist: its runs say so. */
async function defaultModel(models: Models, named: string | undefined): Promise<string> {
  try {
    return (await models.whichModel(named)).spec;
  } catch (error) {
    if (named !== undefined && Fault.is(error)) return named;
    throw error;
  }
}

async function execute(host: Host, work: Work, run: Run): Promise<Result> {
  const turn = await openTurn(host, work, run);
  if (run.signal.aborted) return { terminal: "cancelled" };
  if ("diagnostic" in turn) return { terminal: "failed", diagnostic: turn.diagnostic };
  await sayWhatIsOffered(turn);
  return work.type === "compact" ? compactNow(turn) : converse(turn);
}

async function compactNow(turn: Turn): Promise<Result> {
  const cut = manualCut(turn);
  if (!cut)
    return {
      terminal: "completed",
      answer:
        "There is nothing to compact yet: the conversation has no turn before its newest one.",
    };
  const compacted = await summarise(turn, cut, {
    automatic: false,
    instructions: turn.work.text,
  });
  if (turn.run.signal.aborted) return { terminal: "cancelled" };
  if (!compacted.entry)
    return {
      terminal: "failed",
      diagnostic: compacted.diagnostic,
      retryable: compacted.isTransient,
    };
  const messages = cut.before.filter((entry) => entry.kind !== "compaction").length;
  const before = tokensOf(cut.before);
  const after = tokensOfText(textOf(compacted.entry.data.summary));
  return {
    terminal: "completed",
    answer: `${messages} messages of about ${before} tokens are now a summary of about ${after}; the newest ${cut.kept.length} messages stay as they are.`,
    entries: [compacted.entry],
  };
}
