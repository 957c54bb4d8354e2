// The owner: the one holder of a store. It opens the schema, takes the store over, composes the parts and closes them.
//
//   S27  Opening a store again resumes what was accepted; nothing accepted is ever left without an end.
//   S28  A close is bounded: it stops admitting, lets runs end for a while, and leaves the rest to recovery.

import {
  AgentLabel,
  AgentName,
  Fault,
  type GrantsDelivery,
  type JsonObject,
  type SessionInfo,
} from "@lichen/wire";
import { Admission } from "./admission/admit.ts";
import type { MetaRules } from "./admission/meta.ts";
import type { Agent, HostBaseline, HostFrame, Sink, Subscription } from "./api.ts";
import { AgentCapabilities } from "./capability/agent-capabilities.ts";
import { CapabilityHost, type CapabilityOptions } from "./capability/capability-host.ts";
import type { Engine } from "./engine/port.ts";
import { LongTexts } from "./log/long-texts.ts";
import { indexSlice } from "./log/search.ts";
import { requireSession, type SessionRow, toSessionRow } from "./log/session-row.ts";
import { HostStream } from "./observe/host-stream.ts";
import { Hub } from "./observe/hub.ts";
import type { Platform } from "./platform.ts";
import { Coordinator } from "./queue/coordinator.ts";
import { leftOver } from "./queue/recovery.ts";
import { Sessions } from "./queue/sessions.ts";
import { agentByAid, agentRow, type KeptAgent, keptAgents } from "./session/agent-table.ts";
import { AgentHandle } from "./session/agent-handle.ts";
import { Directory } from "./session/directory.ts";
import { purgeSlice } from "./session/purge.ts";
import type { AccessRules } from "./session/grants.ts";
import { openAgent } from "./session/kept-agents.ts";
import { parsed } from "./session/parsed.ts";
import type { House } from "./session/session-handle.ts";
import { Chores } from "./store/chores.ts";
import type { Ground } from "./store/ground.ts";
import { nextGeneration, openSchema } from "./store/schema.ts";
import type { Sql } from "./store/sql.ts";
import { Writer } from "./store/writer.ts";

export interface OwnerOptions {
  readonly sql: Sql;
  readonly platform: Platform;
  /** Commands that run at once in this host; default 64. */
  readonly capacity?: number;
  /** The id of the one session whose work runs here; all of it does where it is left out. */
  readonly only?: string;
  /** How long an approval waits for a person; default seven days. */
  readonly approvalTtlMs?: number;
  readonly meta?: MetaRules;
}

export interface AgentOptions {
  /** The agent's id in this store: its name on the wire. */
  readonly agent: string;
  readonly engine: Engine;
  /** The label a person reads; the id where it is left out. A kept agent begins with it and is renamed afterwards. */
  readonly name?: string;
  /**
   * Makes it a kept agent: what it begins with, at most 64 KiB of JSON, where the store keeps none of it yet. `conflict`
   * where another kept agent has its label.
   */
  readonly settings?: JsonObject;
  readonly model?: () => string | undefined;
  /** What can be attached to it; nothing where this is left out. */
  readonly capabilities?: CapabilityOptions;
  /** Its rules about calls of capabilities, asked for at each: defaults, keys that fail closed, or all of them. */
  readonly access?: AccessRules;
}

const noCapabilities: CapabilityOptions = {
  factories: [],
  resolver: { resolve: async () => ({ ok: true, auth: { kind: "none" } }) },
};

const weekMs = 7 * 86_400_000;
const defaultCapacity = 64;
const defaultPatienceMs = 3_000;
/** Beyond the patience: what stopping the rest may take. */
const longestCloseMs = 6_000;
/** What the connections of a removed agent may take to close. */
const longestRemovalMs = 15_000;

export class Owner {
  readonly #ground: Ground;
  readonly #house: House;
  readonly #rules: MetaRules;
  readonly #chores: Chores;
  readonly #agents = new Map<string, AgentHandle>();
  readonly #capabilities = new Map<number, CapabilityHost>();
  readonly #left: ReturnType<typeof leftOver>;
  #closing: Promise<void> | undefined;

  constructor(options: OwnerOptions) {
    const { sql, platform } = options;
    openSchema(sql);
    const writer = new Writer(sql, platform, nextGeneration(sql));
    const texts = new LongTexts({ sql, platform, writer });
    const ground: Ground = { sql, platform, writer, texts };
    const chores = new Chores(ground, [() => indexSlice(sql), () => purgeSlice(ground)]);
    const hub = new Hub(
      ground,
      new HostStream(
        platform.randomId(8),
        () => this.#hostBaseline(),
        () => writer.pending(),
        (error) => platform.report(error),
      ),
      (sid) => {
        const partial = coordinator.liveRun(sid)?.currentPartial;
        return partial && { type: "partial", data: partial };
      },
    );
    const sessions = new Sessions(ground, (row, entries) => {
      for (const entry of entries)
        if (entry.kind === "line") coordinator.liveRun(row.sid)?.noteLine(entry.seq);
      hub.publish(row, entries);
      chores.due();
    });
    const coordinator = new Coordinator(sessions, {
      capacity: options.capacity ?? defaultCapacity,
      approvalTtlMs: options.approvalTtlMs ?? weekMs,
      only: options.only,
      partialChanged: (sid) => hub.partialChanged(sid),
    });
    const made = (row: SessionRow): void => hub.host.created(row.sid, row.info);
    this.#ground = ground;
    this.#rules = options.meta ?? {};
    this.#chores = chores;
    this.#house = {
      ground,
      hub,
      coordinator,
      admission: new Admission(sessions, coordinator, made),
      directory: new Directory(sessions, made),
      kept: coordinator.kept,
      sessionDeleted: (row) => {
        const closed = coordinator.forget(row.sid);
        hub.deleted(row.sid, row.info.agent, row.id);
        chores.due();
        return closed;
      },
    };
    this.#left = leftOver(sql);
    coordinator.approvals.start();
    chores.due();
  }

  /** Gives an agent of this store its engine; work that an earlier process left goes on. */
  async attach(options: AgentOptions): Promise<Agent> {
    const agent = parsed(AgentName, options.agent);
    this.#mayAttach(agent);
    const { sql, writer } = this.#ground;
    const { engine, access, settings, model } = options;
    const label = options.name ?? agent;
    if (settings !== undefined) parsed(AgentLabel, label);
    const { aid } = await writer.commit((tx) =>
      openAgent(sql, tx.at, { agent, label, settings, engine: engine.name }),
    );
    this.#mayAttach(agent);
    const capabilities = await this.#openCapabilities(aid, agent, options.capabilities);
    this.#mayAttach(agent);
    if (agentByAid(sql, aid)?.name !== agent)
      throw new Fault("conflict", `Agent ${agent} was removed meanwhile: attach it again.`);
    const name = (): string => agentByAid(sql, aid)?.label ?? label;
    const whose = { aid, agent, name, model, capabilities };
    const handle = new AgentHandle(this.#house, whose, this.#rules);
    this.#agents.set(agent, handle);
    const left = this.#left.get(aid) ?? { running: [], queued: [] };
    this.#left.delete(aid);
    this.#house.coordinator.attach({ aid, engine, access }, left);
    return handle;
  }

  /** The agents whose settings this store keeps, attached or not, oldest first. */
  kept(): KeptAgent[] {
    return keptAgents(this.#ground.sql);
  }

  /**
   * Ends all sessions of an agent as `delete` does and forgets what is kept of it: its name is free for another. Its
   * engine's connections are closed first (within 15 s), so that no process of it outlives what the store knows. Also
   * succeeds when it is gone.
   */
  async remove(agent: string): Promise<void> {
    if (this.#closing) throw new Fault("unavailable", "The host is stopping.");
    const row = agentRow(this.#ground.sql, agent);
    if (!row) return;
    const { aid } = row;
    const { coordinator, directory } = this.#house;
    await this.#within(longestRemovalMs, (late) => Promise.race([coordinator.release(aid), late]));
    await this.#capabilities.get(aid)?.registry.close();
    this.#capabilities.delete(aid);
    for (let isGone = false; !isGone;) {
      const step = await directory.removeSome(aid);
      for (const ended of step.ended) void this.#house.sessionDeleted(ended);
      isGone = step.isGone;
    }
    this.#left.delete(aid);
    this.#agents.delete(agent);
  }

  async #openCapabilities(
    aid: number,
    agent: string,
    options: CapabilityOptions = noCapabilities,
  ): Promise<AgentCapabilities> {
    const { ground, hub } = this.#house;
    const host = new CapabilityHost(ground, aid, options, (event) =>
      hub.host.capabilities(aid, agent, event),
    );
    this.#capabilities.set(aid, host);
    await host.registry.start();
    const { platform } = ground;
    return new AgentCapabilities({ host, platform, authState: options.authState });
  }

  /**
   * A host's decisions about one session, for a program that holds no agent: the same as the session's own
   * `deliverGrants`, before any engine is attached.
   */
  async deliverGrants(
    address: { readonly agent: string; readonly session: string },
    delivery: GrantsDelivery,
  ): Promise<void> {
    const { sql } = this.#ground;
    const row = agentRow(sql, address.agent);
    if (!row) throw new Fault("unknown_agent", `There is no agent ${address.agent} in this store.`);
    const { sid } = requireSession(sql, row.aid, address.session);
    await this.#house.coordinator.grants.deliver(sid, delivery);
  }

  #mayAttach(agent: string): void {
    if (this.#closing) throw new Fault("unavailable", "The host is stopping.");
    if (this.#agents.has(agent))
      throw new Fault("conflict", `Agent ${agent} is attached already: detach it, or rename one.`);
  }

  /** The attached agents, by name. */
  agents(): Agent[] {
    return [...this.#agents.values()].sort((a, b) => (a.agent < b.agent ? -1 : 1));
  }

  agent(name: string): Agent | undefined {
    return this.#agents.get(name);
  }

  /** Everything that changes in this host, for readers who follow all of it. */
  observeHost(sink: Sink<HostFrame>, options: { after?: string } = {}): Subscription {
    return this.#house.hub.host.observe(sink, options.after);
  }

  /** How many runs are live now. */
  running(): number {
    return this.#house.coordinator.runningCount();
  }

  #hostBaseline(): HostBaseline {
    const { sql } = this.#ground;
    const rows = sql.all<Parameters<typeof toSessionRow>[0]>(
      `with shown as (
         select sid from (select sid from session where deleted = 0 and state <> 'idle' limit 200)
         union
         select sid from (select sid from session where deleted = 0 order by last_at desc, sid desc limit 200))
       select sid, aid, id, key, epoch, leaf, forked_from, info from session where sid in shown
       order by state = 'waiting' desc, state <> 'idle' desc, last_at desc limit 200`,
    );
    return {
      agents: [...this.#agents.values()].map((agent) => agent.summary()),
      sessions: rows.map((row): SessionInfo => toSessionRow(row).info),
    };
  }

  /**
   * Stops admitting and claiming, lets runs end by themselves for `patienceMs` (default 3 s), stops the rest (they go
   * on when the store is opened again), ends every watch. The caller closes the database afterwards.
   */
  close(options: { patienceMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(options.patienceMs ?? defaultPatienceMs);
    return this.#closing;
  }

  async #close(patienceMs: number): Promise<void> {
    // A disk that answers no more holds up neither the runs' end nor the last sync for ever.
    await this.#within(patienceMs + longestCloseMs, async (late) => {
      this.#chores.stop();
      await Promise.race([this.#house.coordinator.drain(patienceMs), late]);
      const hosts = [...this.#capabilities.values()];
      await Promise.race([Promise.all(hosts.map(({ registry }) => registry.close())), late]);
      this.#house.hub.close();
      await Promise.race([this.#ground.writer.idle(), late]);
    });
  }

  /** Does work that is told when its time is over. */
  async #within(ms: number, work: (late: Promise<void>) => Promise<void>): Promise<void> {
    const late = Promise.withResolvers<void>();
    const cancel = this.#ground.platform.after(ms, () => late.resolve());
    await work(late.promise);
    cancel();
  }
}

/** Opens the store behind `sql` as its owner. The host holds the lease. */
export function openOwner(options: OwnerOptions): Owner {
  return new Owner(options);
}
