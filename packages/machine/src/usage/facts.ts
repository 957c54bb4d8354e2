// What one entry of a session's log says about usage.
//
//   AD45 A result counts once and by its own numbers: what its messages say of usage is part of it already.

import { type Entry, type Json, type JsonObject, known, type Usage } from "@lichen/wire";
import { factsOf, objectIn } from "../events/lines.ts";
import type { LineReading } from "../harnesses/harness.ts";
import { numberAt } from "../harnesses/stream-json.ts";

export type Fact = { readonly at: number } & (
  | { readonly is: "message"; readonly by: string; readonly command?: string }
  | { readonly is: "begun"; readonly command?: string }
  | { readonly is: "taken" }
  | { readonly is: "model"; readonly model: string }
  | { readonly is: "work" }
  | { readonly is: "result"; readonly result: TurnResult }
  | { readonly is: "settled"; readonly ran: boolean; readonly usage: Usage }
  | { readonly is: "fresh" }
);

interface TurnResult {
  readonly usage: Usage;
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
    ...(isWork ? [{ is: "work", at } as const] : []),
  ];
}

function resultOf(fields: JsonObject): TurnResult {
  const usage = objectIn(fields["usage"]);
  const totalCost = fields["total_cost_usd"];
  return {
    usage: {
      input: numberAt(usage, "input_tokens"),
      output: numberAt(usage, "output_tokens"),
      cacheRead: numberAt(usage, "cache_read_input_tokens"),
      cacheWrite: numberAt(usage, "cache_creation_input_tokens"),
    },
    ...(typeof totalCost === "number" && Number.isFinite(totalCost) ? { totalCost } : {}),
    durationMs: numberAt(fields, "duration_ms"),
  };
}
