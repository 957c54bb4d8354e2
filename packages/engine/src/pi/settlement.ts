// How a run of pi ends, by how its turn ended.

import type { Draft, Result } from "@lichen/runtime";
import { cut, type JsonObject } from "@lichen/wire";
import type { Gone } from "../harness/supervisor.ts";
import { compactionOf } from "./messages.ts";
import { lineDraft } from "./recorder.ts";
import { textAt } from "./codec.ts";
import type { Turn } from "./turn.ts";
import type { TurnEnd } from "./turn-parts.ts";

const shownText = 200;

/** How a turn that ended by itself settles its run. */
export function resultOf(turn: Turn, end: Exclude<TurnEnd, { how: "stopped" }>): Result {
  const result = plainResult(turn, end);
  const { dropped } = turn;
  if (dropped.length === 0) return result;
  const unread = dropped.map((text) => JSON.stringify(cut(text, shownText))).join(", ");
  const said = `pi did not read: ${unread}`;
  const diagnostic = result.diagnostic === undefined ? said : `${result.diagnostic}; ${said}`;
  // What joined the run settles with it.
  const unfinished = end.how === "gone" ? "interrupted" : "failed";
  const terminal = result.terminal === "completed" ? unfinished : result.terminal;
  return { ...result, terminal, diagnostic };
}

function plainResult(turn: Turn, end: Parameters<typeof resultOf>[1]): Result {
  switch (end.how) {
    case "refused":
      return { terminal: "failed", diagnostic: end.words };
    case "handled": {
      const entries = [lineDraft(end.line)];
      if (end.words === undefined) return { terminal: "completed", answer: "", entries };
      return {
        terminal: "failed",
        diagnostic: `the extension's command failed: ${end.words}`,
        entries,
      };
    }
    case "compacted":
      return answeredCompaction(turn, end);
    case "gone":
      return goneResult(turn, end.gone);
    case "settled":
      return settledResult(turn, end.wasAborted);
  }
}

function answeredCompaction(
  turn: Turn,
  { response, line }: Extract<TurnEnd, { how: "compacted" }>,
): Result {
  if (response.success) return compactedResult(turn, response.data, [lineDraft(line)]);
  const entries = [lineDraft(line)];
  if (/nothing to compact|already compacted/i.test(response.error))
    return { terminal: "completed", answer: `${response.error}.`, entries };
  return { terminal: "failed", diagnostic: response.error, entries };
}

/** `compaction`: as pi answers or keeps it. */
export function compactedResult(
  { recorder }: Turn,
  compaction: JsonObject,
  lines: readonly Draft[] = [],
): Result {
  const data = compactionOf(compaction, false);
  recorder.count(data.usage);
  return {
    terminal: "completed",
    answer: textAt(compaction, "summary"),
    entries: [...lines, { kind: "compaction", data }],
  };
}

/** The process ended in mid-turn. */
function goneResult({ recorder }: Pick<Turn, "recorder">, { reason }: Gone): Result {
  if (recorder.isWriting)
    return {
      terminal: "outcome_unknown",
      diagnostic: `pi's process ended in the middle of a call, whose effect is unknown: ${reason}`,
    };
  // Only its own tidying is missing.
  if (recorder.hasLastWord) return { terminal: "completed" };
  return {
    terminal: "interrupted",
    diagnostic: `pi's process ended in the middle of the turn: ${reason}`,
  };
}

export function settledResult(
  turn: Pick<Turn, "recorder" | "isTransient">,
  wasAborted: boolean,
): Result {
  const { last } = turn.recorder;
  if (wasAborted || last?.stop === "aborted")
    return { terminal: "interrupted", diagnostic: "the turn was stopped inside pi" };
  if (last?.stop === "error")
    return {
      terminal: "failed",
      diagnostic: last.error ?? "the model failed without a reason",
      ...(turn.isTransient ? { retryable: true } : {}),
    };
  const hasText = last?.data?.content.some((block) => block.type === "text" && block.text !== "");
  if (last?.stop === "length" && !hasText)
    return {
      terminal: "failed",
      diagnostic: "the answer reached the model's output limit before its first word",
    };
  return { terminal: "completed", ...(last?.data ? {} : { answer: "" }) };
}
