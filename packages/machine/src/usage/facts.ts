// What one entry of a session's log says about usage.
//
//   AD45 A result counts once and by its own numbers: what its messages say of usage is part of it already.
//   AD55 Where a result has none, its messages' count.

import { type Entry, type Json, type JsonObject, known, type Usage } from "@lichen/wire";
import { factsOf, objectIn } from "../events/lines.ts";
import type { LineReading } from "../harnesses/harness.ts";
import { numberAt } from "../harnesses/stream-json.ts";

export type Fact = { readonly at: number } & (
  | { readonly is: "message"; readonly by: string; readonly command?: string }
  | { readonly is: "begun"; readonly command?: string }
  | { readonly is: "taken" }
  | { readonly is: "model"; readonly model: string }
  | { readonly is: "work"; readonly said?: Said }
  | { readonly is: "result"; readonly result: TurnResult }
  | { readonly is: "settled"; readonly ran: boolean; readonly usage: Usage }
  | { readonly is: "fresh" }
);

/** What one block of a message says that the whole message took. */
interface Said {
  /** The message's. */
  readonly id: string;
  readonly usage: Usage;
}

interface TurnResult {
  readonly isFailed: boolean;
  /** Left out where it says none. */
  readonly usage?: Usage;
  /** What the harness says that the conversation has cost up to here, in dollars. */
  readonly totalCost?: number;
  readonly durationMs: number;
}

/** Nothing for most entries. `line` is a harness's line with its shape back in place. */
export function factOf(recorded: Entry, line: Json | undefined, reading: LineReading): Fact[] {
  const entry = known(recorded);
  const at = Date.parse(recorded.at);
  const command = recorded.commandId === undefined ? {} : { command: recorded.commandId };
  if (entry?.kind === "message.user")
    return [{ is: "message", at, by: recorded.by ?? "", ...command }];
  if (entry?.kind === "run.started") return [{ is: "begun", at, ...command }];
  if (entry?.kind === "conversation.started") return [{ is: "fresh", at }];
  if (entry?.kind === "run.settled") {
    const { was, usage } = entry.data;
    return [{ is: "settled", at, ran: was === "running", usage }];
  }
  if (entry?.kind !== "harness.line" || line === undefined) return [];
  return ofLine(reading.toClaudeLine?.(line) ?? line, at);
}

function ofLine(line: Json, at: number): Fact[] {
  const fields = objectIn(line);
  const { type } = fields;
  if (type === "result") return [{ is: "result", at, result: resultOf(fields) }];
  if (type === "user" && fields["isReplay"] === true) return [{ is: "taken", at }];
  const { model } = factsOf(line);
  const isWork = type === "assistant" || type === "user";
  return [
    ...(model === undefined ? [] : [{ is: "model", at, model } as const]),
    ...(isWork ? [{ is: "work", at, ...saidIn(fields["message"]) } as const] : []),
  ];
}

function saidIn(value: Json | undefined): { readonly said?: Said } {
  const { id, usage } = objectIn(value);
  const took = usageIn(usage);
  return took === undefined ? {} : { said: { id: typeof id === "string" ? id : "", usage: took } };
}

function resultOf(fields: JsonObject): TurnResult {
  const usage = usageIn(fields["usage"]);
  const { subtype, total_cost_usd: totalCost } = fields;
  return {
    isFailed: fields["is_error"] === true || (subtype !== undefined && subtype !== "success"),
    ...(usage === undefined ? {} : { usage }),
    ...(typeof totalCost === "number" && Number.isFinite(totalCost) ? { totalCost } : {}),
    durationMs: numberAt(fields, "duration_ms"),
  };
}

/** Undefined where nothing is said, or nothing but zeros. */
function usageIn(value: Json | undefined): Usage | undefined {
  const fields = objectIn(value);
  const usage = {
    input: numberAt(fields, "input_tokens"),
    output: numberAt(fields, "output_tokens"),
    cacheRead: numberAt(fields, "cache_read_input_tokens"),
    cacheWrite: numberAt(fields, "cache_creation_input_tokens"),
  };
  return Object.values(usage).some((count) => count > 0) ? usage : undefined;
}
