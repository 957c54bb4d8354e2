// A session as a program holds it. Making one does no I/O; every answer waits until what it shows is durable.

import {
  type Baseline,
  Command,
  type EntryData,
  Fault,
  type Found,
  type GrantsDelivery,
  type JsonObject,
  type Reasoning,
  type Receipt,
  RequestId,
  SessionId,
  type SessionInfo,
  SessionChanges,
  type Settlement,
  textOf,
  type Withdrawal,
} from "@lichen/wire";
import type { Admission, Address } from "../admission/admit.ts";
import type { Bound } from "../admission/meta.ts";
import type { EventPage, Frame, Session, Sink, Subscription } from "../api.ts";
import type { HarnessDraft } from "../engine/port.ts";
import { entriesAfter, entryRow } from "../log/entry-log.ts";
import { search } from "../log/search.ts";
import { sessionBlob, sessionBlobPart } from "../log/session-blob.ts";
import {
  findSession,
  requireSession,
  type SessionRow,
  sessionBySid,
  unknownSession,
} from "../log/session-row.ts";
import { readBaseline } from "../observe/baseline.ts";
import type { Hub } from "../observe/hub.ts";
import { numberedFrom } from "../observe/numbered.ts";
import { settlementOf } from "../observe/settlement.ts";
import { iterateWatch } from "../observe/watch-iterator.ts";
import { commandRow } from "../queue/command-table.ts";
import type { Coordinator } from "../queue/coordinator.ts";
import { commandById } from "../queue/settle.ts";
import { workOf } from "../queue/work.ts";
import type { Ground } from "../store/ground.ts";
import { eidOf, eidRange, idOf, seqOf } from "../store/keys.ts";
import type { Directory } from "./directory.ts";
import { eventNumberAt, eventsUpTo } from "./harness-table.ts";
import type { KeptAgents } from "./kept-agents.ts";
import { parsed } from "./parsed.ts";

/** What session handles of one owner share. */
export interface House {
  readonly ground: Ground;
  readonly admission: Admission;
  readonly coordinator: Coordinator;
  readonly directory: Directory;
  readonly hub: Hub;
  readonly kept: KeptAgents;
  /** Settles when the engine's connection is closed. */
  sessionDeleted(row: SessionRow): Promise<void>;
}

const longestWaitMs = 30_000;
const pageLimit = 200;

export class SessionHandle implements Session {
  readonly id: string;
  readonly #house: House;
  readonly #address: Address;
  readonly #bound: Bound | undefined;

  constructor(house: House, address: Address, bound: Bound | undefined) {
    this.id = address.session;
    this.#house = house;
    this.#address = address;
    this.#bound = bound;
  }

  async send(command: Command): Promise<Receipt> {
    parsed(SessionId, this.id);
    return this.#house.admission.admit(this.#address, parsed(Command, command), this.#bound);
  }

  async interrupt(): Promise<string | undefined> {
    parsed(SessionId, this.id);
    return this.#house.admission.interrupt(this.#address, this.#bound);
  }

  async withdraw(requestId: string): Promise<Withdrawal> {
    parsed(SessionId, this.id);
    return this.#house.admission.withdraw(this.#address, parsed(RequestId, requestId));
  }

  async readSettlement(
    commandId: string,
    options: { timeoutMs?: number; signal?: AbortSignal } = {},
  ): Promise<Settlement | undefined> {
    const { sql, platform } = this.#house.ground;
    const timeoutMs = Math.min(Math.max(options.timeoutMs ?? 0, 0), longestWaitMs);
    const deadline = platform.now() + timeoutMs;
    for (;;) {
      const row = requireSession(sql, this.#address.aid, this.id);
      const command = commandById(sql, row, commandId);
      if (!command) throw unknownCommand(commandId, this.id);
      const settlement = settlementOf(sql, row.key, command);
      if (settlement) {
        await this.#house.ground.writer.pending(row.sid);
        return settlement;
      }
      const leftMs = deadline - platform.now();
      if (!(leftMs > 0) || options.signal?.aborted || this.#house.coordinator.isDraining)
        return undefined;
      await this.#house.hub.settlementHint(command.cid, leftMs, options.signal);
    }
  }

  placeOf(commandId: string): Promise<{ epoch: string; seq: number }> {
    return this.#durably((row) => {
      const command = commandById(this.#house.ground.sql, row, commandId);
      if (!command) throw unknownCommand(commandId, this.id);
      return { epoch: row.epoch, seq: seqOf(command.cid) - 1 };
    });
  }

  info(): Promise<SessionInfo> {
    return this.#durably((row) => row.info);
  }

  read(options: { limit?: number; before?: number } = {}): Promise<Baseline> {
    return this.#durably((row) => this.#baseline(row, options));
  }

  #baseline(row: SessionRow, options: { limit?: number; before?: number } = {}): Baseline {
    const { sql } = this.#house.ground;
    const { limit = pageLimit, before } = options;
    wholeNumber("limit", limit, pageLimit);
    if (before !== undefined) wholeNumber("before", before, Number.MAX_SAFE_INTEGER);
    const baseline = readBaseline(sql, row, limit, before);
    const partial = this.#house.coordinator.liveRun(row.sid)?.currentPartial;
    // The run that ended may still be here while the next one has begun in the store.
    if (!partial || baseline.running?.commandId !== partial.commandId) return baseline;
    return { ...baseline, running: { ...baseline.running, partial } };
  }

  watch(options: { after?: string; signal?: AbortSignal } = {}): AsyncIterable<Frame> {
    const { signal, ...from } = options;
    return iterateWatch((sink) => this.observe(sink, from), signal);
  }

  observe(sink: Sink<Frame>, options: { after?: string } = {}): Subscription {
    const { sql } = this.#house.ground;
    const row = this.#row();
    const { sid, key, epoch } = row;
    const current = (): SessionRow => sessionBySid(sql, sid) ?? row;
    return this.#house.hub.watch(
      sid,
      sink,
      {
        epoch,
        head: () => current().info.head,
        baseline: () => this.#baseline(current()),
        entriesAfter: (seq, limit) => {
          const { events, head } = current().info;
          const entries = entriesAfter(sql, { sid, key }, seq, limit);
          if (events === undefined) return entries.map((data) => ({ data }));
          const before = eventsUpTo(sql, sid, eidOf(sid, seq), { events, behind: head - seq });
          return numberedFrom(before, entries);
        },
      },
      options.after,
    );
  }

  async change(changes: {
    title?: string;
    model?: string | null;
    reasoning?: Reasoning;
    leaf?: string;
  }): Promise<SessionInfo> {
    parsed(SessionChanges, changes);
    this.#admits();
    const { info } = this.#row();
    const { model = info.model, reasoning = info.reasoning } = changes;
    // Whoever goes back to the engine's own asks for nothing that it might not have.
    const isAsking = typeof changes.model === "string" || changes.reasoning !== undefined;
    if (isAsking)
      await checkSettings(this.#house, this.#address.aid, { model: model ?? undefined, reasoning });
    const by = this.#bound?.identity;
    return this.#house.directory.change(this.#address.aid, this.id, changes, by);
  }

  async restart(): Promise<SessionInfo> {
    this.#admits();
    return this.#house.directory.restart(this.#address.aid, this.id, this.#bound?.identity);
  }

  async fork(options: {
    requestId: string;
    at?: string;
    session?: string;
  }): Promise<{ info: SessionInfo; replay: boolean }> {
    parsed(RequestId, options.requestId);
    if (options.session !== undefined) parsed(SessionId, options.session);
    this.#admits();
    const { row, replay } = await this.#house.directory.fork(this.#address, this.id, options);
    return { info: row.info, replay };
  }

  /** Counts at once: what follows in this task is decided by it. */
  async deliverGrants(delivery: GrantsDelivery): Promise<void> {
    parsed(SessionId, this.id);
    await this.#house.coordinator.grants.deliver(this.#row().sid, delivery);
  }

  async connect(): Promise<void> {
    parsed(SessionId, this.id);
    this.#admits();
    const row = await this.#durably((it) => it);
    this.#house.coordinator.connect(row);
  }

  async record(drafts: readonly HarnessDraft[], by?: string): Promise<void> {
    await this.#house.kept.record(this.#row().sid, drafts, by);
  }

  async configure(patch: JsonObject, by?: string, options?: { quiet?: boolean }): Promise<void> {
    this.#admits();
    await this.#house.kept.configure(this.#row(), patch, { by, quiet: options?.quiet });
  }

  async rename(to: string, by?: string): Promise<void> {
    this.#admits();
    await this.#house.kept.rename(this.#row(), to, by);
  }

  events(options: { after: number; limit: number }): Promise<EventPage> {
    return this.#durably((row) => this.#house.kept.events(row, options));
  }

  async delete(options: { epoch?: string } = {}): Promise<void> {
    this.#admits();
    const row = await this.#house.directory.delete(this.#address.aid, this.id, options.epoch);
    if (row) void this.#house.sessionDeleted(row);
  }

  search(options: {
    q: string;
    limit?: number;
    roles?: readonly Found["role"][];
  }): Promise<{ found: Found[] }> {
    const { q, limit = pageLimit, roles } = options;
    return this.#durably((row) => {
      wholeNumber("limit", limit, pageLimit);
      const { sql } = this.#house.ground;
      const { events } = row.info;
      const found = search(sql, row.sid, q, limit, roles);
      if (events === undefined) return { found };
      const numberAt = (seq: number): number =>
        eventNumberAt(sql, row.sid, eidOf(row.sid, seq), events);
      return { found: found.map((it) => ({ ...it, n: numberAt(it.seq) })) };
    });
  }

  blob(sha256: string): Promise<{ bytes: Uint8Array; mimeType: string } | undefined> {
    return this.#durably((row) => sessionBlob(this.#house.ground.sql, row, sha256));
  }

  blobPart(sha256: string, part: number): Promise<Uint8Array | undefined> {
    return this.#durably((row) => sessionBlobPart(this.#house.ground.sql, row, sha256, part));
  }

  latestPending(): ReturnType<Session["latestPending"]> {
    return this.#durably((row) => {
      const identity = this.#bound?.identity;
      if (identity === undefined) return undefined;
      const { sql } = this.#house.ground;
      const { first, last } = eidRange(row.sid);
      const [newest] = sql.all<{ cid: number }>(
        `select cid from command where state <> 'settled' and state = 'queued' and cid between ? and ?
         and type = 'prompt' and identity = ? order by cid desc limit 1`,
        first,
        last,
        identity,
      );
      return newest && this.#pendingPrompt(row, newest.cid);
    });
  }

  #pendingPrompt(
    row: SessionRow,
    cid: number,
  ): {
    commandId: string;
    requestId: string;
    text: string;
    images: { mimeType: string; data: string }[];
    meta?: JsonObject;
  } {
    const { ground } = this.#house;
    const command = commandRow(ground.sql, cid)!;
    const work = workOf(ground, row, command, false);
    const { meta } = entryRow(ground.sql, cid)!;
    return {
      commandId: idOf("cmd", row.key, seqOf(cid)),
      requestId: command.request!,
      text: textOf(work.text satisfies EntryData["command.queued"]["text"]),
      images: work.images.flatMap((image) => {
        const blob = sessionBlob(ground.sql, row, image.blob);
        return blob
          ? [{ mimeType: image.mimeType, data: ground.platform.toBase64(blob.bytes) }]
          : [];
      }),
      ...(meta === null ? {} : { meta: JSON.parse(meta) as JsonObject }),
    };
  }

  #row(): SessionRow {
    return requireSession(this.#house.ground.sql, this.#address.aid, this.id);
  }

  #admits(): void {
    if (this.#house.coordinator.isDraining)
      throw new Fault("unavailable", "The host is stopping: try this again in a moment.");
  }

  async #durably<T>(read: (row: SessionRow) => T): Promise<T> {
    parsed(SessionId, this.id);
    const row = findSession(this.#house.ground.sql, this.#address.aid, this.id);
    const answer = row ? read(row) : undefined;
    await this.#house.ground.writer.pending(row?.sid);
    if (!row) throw unknownSession(this.id);
    return answer as T;
  }
}

function unknownCommand(commandId: string, session: string): Fault {
  return new Fault("unknown_command", `There is no command ${commandId} in session ${session}.`);
}

/** Asks the agent's engine whether a run could use these settings. */
export async function checkSettings(
  house: House,
  aid: number,
  { model, reasoning }: { model?: string | undefined; reasoning?: Reasoning | undefined },
): Promise<void> {
  await house.coordinator.engineOf(aid)?.check?.({
    ...(model === undefined ? {} : { model }),
    ...(reasoning === undefined ? {} : { reasoning }),
  });
}

function wholeNumber(name: string, value: number, most: number): void {
  if (!Number.isSafeInteger(value) || value < 1 || value > most)
    throw new Fault("invalid", `${name}: a whole number from 1 to ${most}.`);
}
