// The table of what was used: a row for each day, session, device, model and harness, and how far each log was read.
//
//   AD40 Rows outlive their session. A turn and how far the log was read are written together, so that none counts twice.

import type { MachineDb } from "../machine-db.ts";
import * as z from "zod";
import { type Spent, TallyState } from "./tally.ts";

export const usageTables: readonly string[] = [
  `create table if not exists usage_log (
    agent text primary key, name text not null, epoch text not null, seq integer not null, state text not null) strict`,
  `create table if not exists usage_row (
    day text not null, agent text not null, by text not null, model text not null, harness text not null,
    turns integer not null, input integer not null, cache_read integer not null, cache_write integer not null,
    output integer not null, cost_usd real not null, busy_ms integer not null,
    primary key (day, agent, by, model, harness)) strict`,
];

/** As clients of the machine API know it. */
const UsageRow = z.object({
  /** YYYY-MM-DD, of this machine's calendar. */
  day: z.string(),
  session: z.string(),
  /** The device that asked; empty for this machine itself. */
  by: z.string(),
  model: z.string(),
  harness: z.string(),
  turns: z.number(),
  input: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
  output: z.number(),
  cost_usd: z.number(),
  busy_ms: z.number(),
});
export type UsageRow = z.infer<typeof UsageRow>;

/** How far a session's log was read, and what adds up there. */
export interface Place {
  readonly epoch: string;
  readonly seq: number;
  readonly state: TallyState;
}

const PlaceRow = z.object({ epoch: z.string(), seq: z.number(), state: z.string() });

export class UsageTable {
  readonly #file: MachineDb;

  constructor(file: MachineDb) {
    this.#file = file;
  }

  place(agent: string): Place | undefined {
    const row = this.#file.look(() =>
      this.#file.db.prepare("select epoch, seq, state from usage_log where agent = ?").get(agent),
    );
    if (!row) return undefined;
    const { state, ...place } = PlaceRow.parse(row);
    return { ...place, state: TallyState.parse(JSON.parse(state)) };
  }

  /** Writes how far the log is read, with the turns that it said. */
  note(
    {
      agent,
      name,
      harness,
    }: { readonly agent: string; readonly name: string; readonly harness: string },
    { epoch, seq, state }: Place,
    spent: readonly Spent[],
  ): void {
    this.#file.change(() => {
      this.#file.db
        .prepare(
          `insert into usage_log values (?, ?, ?, ?, ?) on conflict (agent) do update
           set name = excluded.name, epoch = excluded.epoch, seq = excluded.seq, state = excluded.state`,
        )
        .run(agent, name, epoch, seq, JSON.stringify(state));
      for (const { turns, at, by, model, usage, cost, busyMs } of spent)
        this.#file.db
          .prepare(
            `insert into usage_row values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             on conflict (day, agent, by, model, harness) do update set
             turns = turns + excluded.turns, input = input + excluded.input, cache_read = cache_read + excluded.cache_read,
             cache_write = cache_write + excluded.cache_write, output = output + excluded.output,
             cost_usd = cost_usd + excluded.cost_usd, busy_ms = busy_ms + excluded.busy_ms`,
          )
          .run(
            ...[dayOf(at), agent, by, model, harness, turns],
            ...[usage.input, usage.cacheRead, usage.cacheWrite, usage.output].map(Math.round),
            cost,
            busyMs,
          );
    });
  }

  rename(agent: string, name: string): void {
    this.#file.change(() =>
      this.#file.db.prepare("update usage_log set name = ? where agent = ?").run(name, agent),
    );
  }

  /** From the day on, oldest first; sessions of one name that followed each other are one. */
  rows(since: string): UsageRow[] {
    const rows = this.#file.look(() =>
      this.#file.db
        .prepare(
          `select day, name as session, by, model, harness, sum(turns) as turns, sum(input) as input,
           sum(cache_read) as cache_read, sum(cache_write) as cache_write, sum(output) as output,
           sum(cost_usd) as cost_usd, sum(busy_ms) as busy_ms
           from usage_row join usage_log using (agent) where day >= ?
           group by day, name, by, model, harness order by day, name, by, model, harness`,
        )
        .all(since),
    );
    return rows.map((row) => UsageRow.parse(row));
  }
}

/** The day on this machine's calendar. @internal Exported for its tests. */
export function dayOf(at: number): string {
  const date = new Date(at);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
