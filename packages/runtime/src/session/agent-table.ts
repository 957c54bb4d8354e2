// The table of agents: who an agent of this store is, and what a machine keeps of it between starts.
//
//   A row that says settings is a kept agent: it stands in the store whether or not anybody attaches it. `settings` is
//   JSON that only its machine reads; `label` is what people call it; `revision` counts the row's changes, so that
//   salvage knows the newest of several copies.
//   A removed agent's row stays and loses its name: its number is never another's.

import type { JsonObject } from "@lichen/wire";
import { instant } from "../store/ground.ts";
import type { Sql } from "../store/sql.ts";

/** What schema 3 added. */
export const keptColumns: readonly string[] = [
  "alter table agent add column label text",
  "alter table agent add column settings text",
  "alter table agent add column engine text",
  "alter table agent add column revision integer not null default 0",
];

/** An agent that the store keeps, attached or not. */
export interface KeptAgent {
  readonly agent: string;
  /** What people call it. */
  readonly label: string;
  readonly settings: JsonObject;
  /** The name of the engine that it was attached with last. */
  readonly engine?: string;
  /** RFC 3339 UTC. */
  readonly createdAt: string;
}

export interface AgentRow {
  readonly aid: number;
  readonly name: string;
  readonly created_at: number;
  readonly label: string | null;
  readonly settings: string | null;
  readonly engine: string | null;
}

const columns = "aid, name, created_at, label, settings, engine";

export function agentRow(sql: Sql, name: string): AgentRow | undefined {
  return sql.all<AgentRow>(`select ${columns} from agent where name = ?`, name)[0];
}

export function agentByAid(sql: Sql, aid: number): AgentRow | undefined {
  return sql.all<AgentRow>(`select ${columns} from agent where aid = ?`, aid)[0];
}

export function insertAgent(sql: Sql, name: string, at: number): AgentRow {
  return sql.all<AgentRow>(
    `insert into agent (name, created_at) values (?, ?) returning ${columns}`,
    name,
    at,
  )[0]!;
}

/** The kept agents, oldest first. */
export function keptAgents(sql: Sql): KeptAgent[] {
  return sql
    .all<AgentRow>(`select ${columns} from agent where settings is not null order by aid`)
    .map(({ name, label, settings, engine, created_at }) => ({
      agent: name,
      label: label ?? name,
      settings: JSON.parse(settings!) as JsonObject,
      ...(engine === null ? {} : { engine }),
      createdAt: instant(created_at),
    }));
}

/** Whether another kept agent is called so. */
export function isLabelTaken(sql: Sql, label: string, aid: number): boolean {
  return (
    sql.all(
      "select 1 from agent where settings is not null and label = ? and aid <> ? limit 1",
      label,
      aid,
    ).length > 0
  );
}

export function writeLabel(sql: Sql, aid: number, label: string): void {
  sql.run("update agent set label = ?, revision = revision + 1 where aid = ?", label, aid);
}

export function writeSettings(sql: Sql, aid: number, settings: string): void {
  sql.run("update agent set settings = ?, revision = revision + 1 where aid = ?", settings, aid);
}

export function writeEngine(sql: Sql, aid: number, engine: string): void {
  sql.run("update agent set engine = ?, revision = revision + 1 where aid = ?", engine, aid);
}

/** Removed agents of which request ids are left. No name of an agent begins with a dash. */
export function buriedAgents(sql: Sql): number[] {
  return sql
    .all<{ aid: number }>(
      `select aid from agent where name >= '-' and name < '.'
       and exists (select 1 from request where request.aid = agent.aid)`,
    )
    .map((it) => it.aid);
}

/** The row of an agent that is no more: no agent can have this name. */
export function buryAgent(sql: Sql, aid: number): void {
  sql.run(
    `update agent set name = ?, label = null, settings = null, engine = null, revision = revision + 1
     where aid = ?`,
    `-${aid}`,
    aid,
  );
}
