// One session written anew from its entries: its row and its commands, calls and approvals are what the log says.
//
//   Entries are added in order, without a gap. A parent that is gone is none: the branch begins there.
//   What only a row holds and no entry (a step's uncounted usage, that a run was drained, a program's snapshot) begins anew.

import {
  addUsage,
  type EntryData,
  type JsonObject,
  type Kind,
  known,
  type KnownEntry,
  noUsage,
  parseEntry,
  projectSession,
  type SessionInfo,
  type Text,
  type Usage,
  type WorkType,
} from "@lichen/wire";
import type { EntryRow } from "../../../log/entry-log.ts";
import { touchSearch } from "../../../log/search.ts";
import { instant } from "../../../store/ground.ts";
import { insertEvent, noteHarness } from "../../../session/harness-table.ts";
import { writeGrants } from "../../../session/grant-table.ts";
import { eidOf, idOf, parseId, seqOf, sidOf } from "../../../store/keys.ts";
import type { Sql } from "../../../store/sql.ts";
import { RebuiltApprovals } from "./rebuilt-approvals.ts";
import { RebuiltPrograms } from "./rebuilt-programs.ts";

export interface RebuiltCommand {
  readonly seq: number;
  readonly type: WorkType;
  readonly delivery: string | null;
  readonly request: string | null;
  readonly identity: string | null;
  state: "queued" | "running" | "joined" | "settled";
  started: number | null;
  joined: number | null;
  cancelled: number | null;
  settled: number | null;
  recoveries: number;
  calls: number;
  usage: Usage;
}

interface RebuiltCall {
  readonly assistant: number;
  readonly position: number;
  readonly command: number;
  readonly label: string;
  readonly isReplaySafe: boolean;
  readonly started: number | null;
  readonly data: EntryData["call.started"] | undefined;
  outcome: number | null;
}

export interface SessionStart {
  readonly sid: number;
  readonly aid: number;
  readonly key: string;
  /** The session before its first entry. */
  readonly info: SessionInfo;
  readonly forkedFrom: number | null;
}

export interface Lineage {
  /** The row key behind an id, where that entry is in the new store. */
  eidOfId(id: string): number | undefined;
  has(eid: number): boolean;
}

const inTree: ReadonlySet<string> = new Set<Kind>([
  "message.user",
  "message.assistant",
  "message.tool",
  "line",
  "compaction",
]);

export class RebuiltSession {
  readonly start: SessionStart;
  readonly commands = new Map<number, RebuiltCommand>();
  readonly programs = new RebuiltPrograms();
  #grants: EntryData["grants.delivered"] | undefined;
  readonly #sql: Sql;
  readonly #lineage: Lineage;
  readonly #calls = new Map<string, RebuiltCall>();
  readonly #approvals = new RebuiltApprovals();
  #info: SessionInfo;
  #leaf: number | null;
  #tools: string | null = null;
  #lastAt: number | undefined;

  constructor(sql: Sql, lineage: Lineage, start: SessionStart) {
    this.#sql = sql;
    this.#lineage = lineage;
    this.start = start;
    this.#info = start.info;
    this.#leaf = start.forkedFrom;
  }

  get info(): SessionInfo {
    return this.#info;
  }

  /** Takes the next entry. Throws where its data is none that its kind can have; nothing is taken then. */
  add(row: EntryRow): void {
    const { sid, key } = this.start;
    const seq = seqOf(row.eid);
    if (seq !== this.#info.head + 1) throw new RangeError("an entry is not the next one");
    const data = JSON.parse(row.data) as JsonObject;
    const entry = {
      seq,
      id: idOf("ent", key, seq),
      at: instant(row.at),
      kind: row.kind,
      ...(row.command === null ? {} : { commandId: idOf("cmd", key, row.command) }),
      data,
    };
    // What was put aside stands as a reference where its schema wants the thing itself.
    if (!row.data.includes('"blob"')) parseEntry(entry);
    const info = projectSession(this.#info, entry);
    // What a damaged kind or number makes of the sums: a run without its command, fewer waiting than none.
    const isOrphan = row.command !== null && row.command !== seq && !this.commands.has(row.command);
    const sums = [info.pending, info.approvals, info.turns, info.usage.input];
    if (isOrphan || !sums.every((sum) => sum >= 0))
      throw new RangeError("an entry does not fit those before it");
    this.#derive(row, known(entry));
    const isKept =
      row.parent !== null && (this.#isOwn(row.parent, seq) || this.#lineage.has(row.parent));
    this.#sql.run(
      "insert into entry values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      eidOf(sid, seq),
      row.at,
      row.kind,
      row.command,
      row.request,
      isKept ? row.parent : null,
      row.author,
      row.data,
      row.meta,
    );
    if (info.events !== undefined && info.events !== this.#info.events)
      insertEvent(this.#sql, sid, info.events, row.eid);
    const kind = known(entry)?.kind;
    if (kind !== undefined) noteHarness(this.#sql, sid, kind, data);
    this.#info = info;
    this.#lastAt = row.at;
    if (inTree.has(row.kind)) this.#leaf = row.eid;
  }

  /** Writes a further entry, which the lost log had not. */
  append<K extends Kind>(
    kind: K,
    data: EntryData[K],
    by: { readonly at: number; readonly command?: number; readonly author?: string },
  ): void {
    const command = by.command === undefined ? undefined : this.commands.get(by.command);
    this.add({
      eid: eidOf(this.start.sid, this.#info.head + 1),
      at: by.at,
      kind,
      command: by.command ?? null,
      request: kind === "run.settled" ? (command?.request ?? null) : null,
      parent: inTree.has(kind) ? this.#leaf : null,
      author: by.author ?? null,
      data: JSON.stringify(data),
      meta: null,
    });
  }

  /** Calls of a command that were begun and have no outcome. */
  openCalls(command: number): EntryData["call.started"][] {
    return [...this.#calls.values()].flatMap((call) =>
      call.command === command && call.outcome === null && call.data ? [call.data] : [],
    );
  }

  /** The text that a command was queued with. */
  queuedText(command: number): Text {
    const [row] = this.#sql.all<{ data: string }>(
      "select data from entry where eid = ?",
      eidOf(this.start.sid, command),
    );
    return (JSON.parse(row!.data) as EntryData["command.queued"]).text;
  }

  pendingApprovals(command: number): { approvalId: string; prompt?: string }[] {
    return this.#approvals.pending(command, this.start.key);
  }

  /** Writes the rows that are derived from the entries, and the session's own. */
  write(rest: {
    readonly settings: Pick<SessionInfo, "title" | "model" | "reasoning">;
    readonly tools: string | null;
    readonly lastAt: number;
    readonly deleted: number;
    readonly approvalNames: ReadonlyMap<number, string>;
  }): void {
    const { sid, aid, key, forkedFrom } = this.start;
    const info = { ...this.#info, ...rest.settings };
    this.#sql.run(
      `insert into session (sid, aid, id, key, epoch, head, leaf, last_at, state, info, forked_from, forked_sid, tools, deleted)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      sid,
      aid,
      info.session,
      key,
      info.epoch,
      info.head,
      this.#leaf,
      this.#lastAt ?? rest.lastAt,
      info.state,
      JSON.stringify(info),
      forkedFrom,
      forkedFrom === null ? null : sidOf(forkedFrom),
      rest.tools ?? this.#tools,
      rest.deleted,
    );
    for (const command of this.commands.values()) this.#writeCommand(command);
    for (const call of this.#calls.values())
      this.#sql.run(
        "insert or ignore into call values (?, ?, ?, ?, ?, ?, ?)",
        call.assistant,
        call.position,
        eidOf(sid, call.command),
        call.label,
        call.isReplaySafe ? 1 : 0,
        call.started,
        call.outcome,
      );
    if (this.#grants) writeGrants(this.#sql, sid, this.#grants);
    this.#approvals.write(this.#sql, sid, rest.approvalNames);
    this.programs.write(this.#sql, (command) => eidOf(sid, command));
    if (info.head > 0 && rest.deleted === 0) touchSearch(this.#sql, sid);
  }

  #writeCommand(command: RebuiltCommand): void {
    this.#sql.run(
      `insert into command (cid, type, state, delivery, request, identity, started, joined, cancelled, settled, recoveries, calls, usage)
       values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      eidOf(this.start.sid, command.seq),
      command.type,
      command.state,
      command.delivery,
      command.request,
      command.identity,
      command.started,
      command.joined,
      command.cancelled,
      command.settled,
      command.recoveries,
      command.calls,
      JSON.stringify(command.usage),
    );
  }

  #derive(row: EntryRow, entry: KnownEntry | undefined): void {
    if (!entry) return;
    const { eid } = row;
    const command = row.command === null ? undefined : this.commands.get(row.command);
    switch (entry.kind) {
      case "command.queued":
        this.commands.set(entry.seq, {
          ...{ seq: entry.seq, type: entry.data.type, delivery: entry.data.delivery ?? null },
          ...{ request: row.request, identity: row.author, state: "queued", started: null },
          ...{ joined: null, cancelled: null, settled: null, recoveries: 0, calls: 0 },
          usage: noUsage,
        });
        break;
      case "run.started":
        if (command) Object.assign(command, { state: "running", started: eid });
        break;
      case "message.user": {
        const run = entry.data.steers && parseId("cmd", entry.data.steers);
        if (command && run)
          Object.assign(command, { state: "joined", joined: eidOf(this.start.sid, run.seq) });
        break;
      }
      case "command.cancelled":
        if (command) command.cancelled = eid;
        break;
      case "run.recovered":
        if (command) command.recoveries = entry.data.recoveries;
        break;
      case "run.settled":
        if (command) Object.assign(command, { state: "settled", settled: eid });
        break;
      case "message.assistant":
      case "compaction":
        countStep(command, 0, entry.data.usage);
        break;
      case "call.started":
        countStep(command, 1);
        this.#takeCall(row, entry.data.assistant, entry.data.index, entry.data);
        break;
      case "message.tool":
        countStep(command, 0);
        this.#takeCall(row, entry.data.assistant, entry.data.index, undefined);
        break;
      case "approval.asked":
      case "approval.answered":
      case "approval.withdrawn":
      case "approval.expired":
        this.#approvals.take(entry, eid, row.command);
        break;
      case "conversation.started":
        this.#leaf = null;
        this.#tools = null;
        break;
      case "session.changed": {
        const { leaf, tools } = entry.data;
        if (leaf !== undefined) this.#leaf = this.#eidOf(leaf, entry.seq) ?? null;
        if (tools !== undefined) this.#tools = JSON.stringify(tools);
        break;
      }
      case "program.started":
        this.#takeProgram(row, entry);
        break;
      case "program.call":
        countStep(command, 1);
        this.#takeProgram(row, entry);
        break;
      case "program.outcome":
        countStep(command, 0);
        this.#takeProgram(row, entry);
        break;
      case "grants.delivered":
        this.#grants = entry.data;
        break;
      case "line":
      case "harness.line":
      case "harness.conversation":
      case "harness.process":
      case "harness.stopped":
      case "harness.restarted":
      case "setting":
      case "renamed":
        break;
    }
  }

  #takeProgram(row: EntryRow, entry: Parameters<RebuiltPrograms["take"]>[1]): void {
    const assistant = this.#eidOf(entry.data.assistant, entry.seq);
    if (assistant === undefined || row.command === null) return;
    this.programs.take({ eid: row.eid, command: row.command, assistant }, entry);
  }

  #takeCall(
    row: EntryRow,
    id: string,
    position: number,
    started: EntryData["call.started"] | undefined,
  ): void {
    const assistant = this.#eidOf(id, seqOf(row.eid));
    if (assistant === undefined || row.command === null) return;
    const key = `${assistant} ${position}`;
    const known = this.#calls.get(key);
    if (!started && known) {
      known.outcome = row.eid;
      return;
    }
    this.#calls.set(key, {
      ...{ assistant, position, command: row.command, data: started },
      label: started?.label ?? "read",
      isReplaySafe: started?.replaySafe ?? true,
      started: started ? row.eid : null,
      outcome: started ? (known?.outcome ?? null) : row.eid,
    });
  }

  #eidOf(id: string, before: number): number | undefined {
    const parsed = parseId("ent", id);
    if (parsed?.key === this.start.key)
      return parsed.seq < before ? eidOf(this.start.sid, parsed.seq) : undefined;
    return this.#lineage.eidOfId(id);
  }

  #isOwn(eid: number, before: number): boolean {
    return eid >= eidOf(this.start.sid, 1) && eid < eidOf(this.start.sid, before);
  }
}

function countStep(command: RebuiltCommand | undefined, calls: number, usage?: Usage): void {
  if (!command) return;
  command.recoveries = 0;
  command.calls += calls;
  if (usage) command.usage = addUsage(command.usage, usage);
}
