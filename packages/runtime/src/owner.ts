// The owner: the one holder of a store. It opens the schema, takes the store over, composes the parts and closes them.
//
//   S27  Opening a store again resumes what was accepted; nothing accepted is ever left without an end.
//   S28  A close is bounded: it stops admitting, lets runs end for a while, and leaves the rest to recovery.

import { AgentName, Fault, type GrantsDelivery, type SessionInfo } from "@lichen/wire";
import { Admission } from "./admission/admit.ts";
import type { MetaRules } from "./admission/meta.ts";
import type { Agent, HostBaseline, HostFrame, Sink, Subscription } from "./api.ts";
import { AgentCapabilities } from "./capability/agent-capabilities.ts";
import { CapabilityHost, type CapabilityOptions } from "./capability/capability-host.ts";
import type { Engine } from "./engine/port.ts";
import { indexSlice } from "./log/search.ts";
import { requireSession, type SessionRow, toSessionRow } from "./log/session-row.ts";
import { HostStream } from "./observe/host-stream.ts";
import { Hub } from "./observe/hub.ts";
import type { Platform } from "./platform.ts";
import { Coordinator } from "./queue/coordinator.ts";
import { leftOver } from "./queue/recovery.ts";
import { Sessions } from "./queue/sessions.ts";
import { AgentHandle } from "./session/agent-handle.ts";
import { Directory } from "./session/directory.ts";
import { purgeSlice } from "./session/purge.ts";
import type { AccessRules } from "./session/grants.ts";
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
  /** The label a person reads; the id where it is left out. */
  readonly name?: string;
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

export class Owner {
  readonly #ground: Ground;
  readonly #house: House;
  readonly #rules: MetaRules;
  readonly #chores: Chores;
  readonly #agents = new Map<string, AgentHandle>();
  readonly #capabilities: CapabilityHost[] = [];
  readonly #left: ReturnType<typeof leftOver>;
  #closing: Promise<void> | undefined;

  constructor(options: OwnerOptions) {
    const { sql, platform } = options;
    openSchema(sql);
    const writer = new Writer(sql, platform, nextGeneration(sql));
    const ground: Ground = { sql, platform, writer };
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
      sessionDeleted: (row) => {
        coordinator.forget(row.sid);
        hub.deleted(row.sid, row.info.agent, row.id);
        chores.due();
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
    const aid = await writer.commit((tx) => {
      const [row] = sql.all<{ aid: number }>("select aid from agent where name = ?", agent);
      if (row) return row.aid;
      return sql.all<{ aid: number }>(
        "insert into agent (name, created_at) values (?, ?) returning aid",
        agent,
        tx.at,
      )[0]!.aid;
    });
    this.#mayAttach(agent);
    const capabilities = await this.#openCapabilities(aid, agent, options.capabilities);
    this.#mayAttach(agent);
    const whose = { aid, agent, name: options.name ?? agent, model: options.model, capabilities };
    const handle = new AgentHandle(this.#house, whose, this.#rules);
    this.#agents.set(agent, handle);
    const left = this.#left.get(aid) ?? { running: [], queued: [] };
    this.#left.delete(aid);
    const { engine, access } = options;
    this.#house.coordinator.attach({ aid, engine, access }, left);
    return handle;
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
    this.#capabilities.push(host);
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
    const [row] = sql.all<{ aid: number }>("select aid from agent where name = ?", address.agent);
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
    const late = Promise.withResolvers<void>();
    const cancel = this.#ground.platform.after(patienceMs + longestCloseMs, () => late.resolve());
    this.#chores.stop();
    await Promise.race([this.#house.coordinator.drain(patienceMs), late.promise]);
    const closed = Promise.all(this.#capabilities.map(({ registry }) => registry.close()));
    await Promise.race([closed, late.promise]);
    this.#house.hub.close();
    await Promise.race([this.#ground.writer.idle(), late.promise]);
    cancel();
  }
}

/** Opens the store behind `sql` as its owner. The host holds the lease. */
export function openOwner(options: OwnerOptions): Owner {
  return new Owner(options);
}
