// Compaction: the model itself sums up what no longer fits, and an entry of the log takes its place.

import type { AssistantMessage } from "@earendil-works/pi-ai";
import { normalizeContext } from "@earendil-works/pi-ai/utils/transcript";
import type { Draft, TranscriptEntry } from "@lichen/runtime";
import type { EntryData } from "@lichen/wire";
import { contextTokens, type Cut, cutFor, summaryRequest, tokensOf, tokensOfText } from "./cut.ts";
import { diagnosticOf } from "./diagnostic.ts";
import { textOfMessage, usageOf } from "./message.ts";
import { streamWithRetry } from "./retry.ts";
import { readingFor, type Turn } from "./turn.ts";

const summaryTokens = 8_192;
const summarySystem =
  "You write summaries of conversations for your own later use. You answer with the summary and nothing else.";

export type Compacted =
  | { readonly entry: Draft & { readonly kind: "compaction" } }
  | { readonly entry?: undefined; readonly diagnostic: string; readonly isTransient: boolean };

/** Where the conversation would be cut now, if its next request is too long for the model; undefined if it fits. */
export function automaticCut(turn: Turn, entries: readonly TranscriptEntry[]): Cut | undefined {
  const { compaction } = turn.host;
  if (!compaction.isAutomatic) return undefined;
  const window = turn.model.contextWindow;
  const limit = window - Math.min(compaction.reserveTokens, window / 4);
  if (contextTokens(entries, fixedTokens(turn)) <= limit) return undefined;
  return cutFor(entries, keptTokens(turn), true);
}

/** After a provider refused a request as too long: the first cut keeps some messages, the second none. */
export function overflowCut(turn: Turn, attempt: number): Cut | undefined {
  if (!turn.host.compaction.isAutomatic) return undefined;
  return cutFor(readingFor(turn), attempt === 0 ? keptTokens(turn) : 0, true);
}

/** What a person asked for: the newer half at most is kept, and only whole turns. */
export function manualCut(turn: Turn): Cut | undefined {
  const entries = readingFor(turn);
  const half = Math.ceil(tokensOf(entries) / 2);
  return cutFor(entries, Math.max(1, Math.min(keptTokens(turn), half)), false);
}

/** Asks the model for the summary; writes nothing. */
export async function summarise(
  turn: Turn,
  cut: Cut,
  options: { automatic: boolean; instructions?: string },
): Promise<Compacted> {
  const { host, model, run } = turn;
  const tokensBefore = contextTokens(readingFor(turn), fixedTokens(turn));
  const answerTokens = Math.min(summaryTokens, model.maxTokens, Math.ceil(model.contextWindow / 4));
  const request = summaryRequest(cut, {
    ...(options.instructions === undefined ? {} : { instructions: options.instructions }),
    limitTokens: Math.floor((model.contextWindow - answerTokens) * 0.7),
  });
  const context = normalizeContext({
    systemPrompt: summarySystem,
    messages: [{ role: "user", content: request, timestamp: 0 }],
  });
  const { stream, transient } = streamWithRetry({
    model,
    policy: host.retry,
    after: host.after,
    signal: run.signal,
    open: (sent) => host.models.stream(model, context, { ...sent, maxTokens: answerTokens }),
    retrying: async (retry) => {
      const reason = diagnosticOf(retry.reason, await host.models.secretsOf(model));
      run.partial({ retrying: { ...retry, reason } });
    },
    wasted: (usage) => run.addUsage(usageOf(usage)),
  });
  const message = await stream.result();
  const summary = textOfMessage(message).trim();
  if (message.stopReason === "error" || message.stopReason === "aborted" || summary === "") {
    run.addUsage(usageOf(message.usage));
    return { diagnostic: await whyNot(turn, message), isTransient: transient() };
  }
  const firstKept = cut.kept[0]?.id;
  const data: EntryData["compaction"] = {
    summary,
    ...(firstKept === undefined ? {} : { firstKept }),
    tokensBefore,
    automatic: options.automatic,
    usage: usageOf(message.usage),
  };
  return { entry: { kind: "compaction", data } };
}

async function whyNot(turn: Turn, message: AssistantMessage): Promise<string> {
  const secrets = await turn.host.models.secretsOf(turn.model);
  return diagnosticOf(
    `The conversation could not be summarised: ${message.errorMessage ?? "the model's summary was empty"}`,
    secrets,
  );
}

function keptTokens({ host, model }: Turn): number {
  return Math.max(1, Math.min(host.compaction.keepTokens, Math.floor(model.contextWindow * 0.3)));
}

/** The system prompt and the tools' declarations. */
function fixedTokens({ definition, toolbox }: Turn): number {
  const tools = toolbox.active().map((tool) => tool.description + JSON.stringify(tool.parameters));
  return tokensOfText(definition.system + tools.join(""));
}
