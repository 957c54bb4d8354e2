// Kept agents: what a machine says of an agent between starts, in the agent's row and in its session's log.
//
//   RH8   An agent with settings is kept from its first attach on, with its label, attached or not.
//   RH9   A change of settings is merged and logged in one transaction; a null removes a member.
//   RH10  No two kept agents have one label.

import { AgentLabel, Fault, JsonObject, utf8Bytes } from "@lichen/wire";
import type { EventPage } from "../api.ts";
import type { HarnessDraft } from "../engine/port.ts";
import { toEntry } from "../log/entry-log.ts";
import type { SessionRow } from "../log/session-row.ts";
import type { Sessions } from "../queue/sessions.ts";
import type { Sql } from "../store/sql.ts";
import {
  agentByAid,
  agentRow,
  type AgentRow,
  insertAgent,
  isLabelTaken,
  writeEngine,
  writeLabel,
  writeSettings,
} from "./agent-table.ts";
import { eventsAfter } from "./harness-table.ts";
import { parsed } from "./parsed.ts";

const settingsBytes = 65_536;
const largestPage = 1_000;
const pageRows = 100;
/** UTF-16 units of stored JSON. */
const pageUnits = 1_048_576;

export interface Opened {
  readonly agent: string;
  readonly label: string;
  /** Of a kept agent: what it begins with. */
  readonly settings?: JsonObject | undefined;
  readonly engine: string;
}

/** The row of an agent that is attached, in the transaction of that. */
export function openAgent(sql: Sql, at: number, opened: Opened): AgentRow {
  const row = agentRow(sql, opened.agent) ?? insertAgent(sql, opened.agent, at);
  if (row.settings === null && opened.settings === undefined) return row;
  if (row.settings === null) {
    mustBeFree(sql, opened.label, row.aid);
    writeSettings(sql, row.aid, settingsText(opened.settings!));
    writeLabel(sql, row.aid, opened.label);
  }
  if (row.engine !== opened.engine) writeEngine(sql, row.aid, opened.engine);
  return row;
}

/** What sessions of kept agents write besides runs. */
export class KeptAgents {
  readonly #sessions: Sessions;

  constructor(sessions: Sessions) {
    this.#sessions = sessions;
  }

  async record(sid: number, drafts: readonly HarnessDraft[], by?: string): Promise<void> {
    const storing = this.#sessions.ground.texts.store(
      sid,
      drafts.map(({ data }) => data),
    );
    if (storing) await storing;
    await this.#sessions.write(sid, (_tx, session) => {
      for (const { kind, data } of drafts) session.append({ kind, data, by });
    });
  }

  async configure(
    { sid, aid }: SessionRow,
    given: JsonObject,
    { by, quiet = false }: { by?: string | undefined; quiet?: boolean | undefined },
  ): Promise<void> {
    const patch = parsed(JsonObject, given);
    await this.#sessions.write(sid, (_tx, session) => {
      const before = JSON.parse(this.#kept(aid).settings!) as JsonObject;
      const after = new Map([...Object.entries(before), ...Object.entries(patch)]);
      const kept = [...after].filter(([, value]) => value !== null);
      writeSettings(this.#sql, aid, settingsText(Object.fromEntries(kept)));
      if (!quiet) session.append({ kind: "setting", by, data: { settings: patch } });
    });
  }

  async rename({ sid, aid }: SessionRow, given: string, by?: string): Promise<void> {
    const to = parsed(AgentLabel, given);
    await this.#sessions.write(sid, (_tx, session) => {
      const { name, label } = this.#kept(aid);
      const from = label ?? name;
      if (from === to) return;
      mustBeFree(this.#sql, to, aid);
      writeLabel(this.#sql, aid, to);
      session.append({ kind: "renamed", by, data: { from, to } });
    });
  }

  events(
    { sid, id, key, info }: SessionRow,
    { after, limit }: { after: number; limit: number },
  ): EventPage {
    if (info.events === undefined)
      throw new Fault("invalid", `The events of session ${id} are not numbered: read its entries.`);
    wholeNumber("after", after, 0, Number.MAX_SAFE_INTEGER);
    wholeNumber("limit", limit, 1, largestPage);
    const events: EventPage["events"][number][] = [];
    let units = 0;
    while (events.length < limit) {
      const wanted = Math.min(limit - events.length, pageRows);
      const rows = eventsAfter(this.#sql, sid, events.at(-1)?.n ?? after, wanted);
      for (const row of rows) {
        units += row.data.length;
        if (units > pageUnits && events.length > 0) return { events, last: info.events };
        events.push({ n: row.n, entry: toEntry(this.#sql, key, row) });
      }
      if (rows.length < wanted) break;
    }
    return { events, last: info.events };
  }

  #kept(aid: number): AgentRow {
    const row = agentByAid(this.#sql, aid);
    if (row && row.settings !== null) return row;
    throw new Fault(
      "invalid",
      `The store keeps no settings of agent ${row?.name ?? aid}: it is set where it is attached.`,
    );
  }

  get #sql(): Sql {
    return this.#sessions.ground.sql;
  }
}

function settingsText(settings: JsonObject): string {
  const text = JSON.stringify(parsed(JsonObject, settings));
  const bytes = utf8Bytes(text);
  if (bytes <= settingsBytes) return text;
  throw new Fault(
    "too_large",
    `settings: ${bytes} bytes of JSON, and ${settingsBytes} are the most an agent keeps: set fewer or shorter ones.`,
  );
}

function mustBeFree(sql: Sql, label: string, aid: number): void {
  if (isLabelTaken(sql, label, aid))
    throw new Fault("conflict", `Another agent is called ${label}: choose another name.`);
}

function wholeNumber(name: string, value: number, least: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < least || value > most)
    throw new Fault("invalid", `${name}: a whole number from ${least} to ${most}.`);
}
