// An agent as a program holds it: its sessions, and the same agent on behalf of somebody.

import {
  type AgentInfo,
  Fault,
  type JsonObject,
  type ModelPage,
  type ModelQuery,
  type Reasoning,
  RequestId,
  SessionId,
  type SessionInfo,
  SessionSettings,
} from "@lichen/wire";
import { bindMeta, type Bound, type MetaRules } from "../admission/meta.ts";
import type { Agent, Session } from "../api.ts";
import type { Capabilities } from "../capability/capabilities.ts";
import { modelPage } from "./model-page.ts";
import { parsed } from "./parsed.ts";
import { checkSettings, type House, SessionHandle } from "./session-handle.ts";

export interface Whose {
  readonly aid: number;
  readonly agent: string;
  /** The label a person reads now. */
  readonly name: () => string;
  /** The model in use, where the engine has one. */
  readonly model?: (() => string | undefined) | undefined;
  readonly capabilities: Capabilities;
}

export class AgentHandle implements Agent {
  readonly agent: string;
  readonly capabilities: Capabilities;
  readonly #house: House;
  readonly #whose: Whose;
  readonly #rules: MetaRules;
  readonly #bound: Bound | undefined;

  constructor(house: House, whose: Whose, rules: MetaRules, bound?: Bound) {
    this.agent = whose.agent;
    this.capabilities = whose.capabilities;
    this.#house = house;
    this.#whose = whose;
    this.#rules = rules;
    this.#bound = bound;
  }

  get name(): string {
    return this.#whose.name();
  }

  async info(): Promise<AgentInfo> {
    const info = this.summary();
    await this.#house.ground.writer.pending();
    return info;
  }

  /** The agent as the store shows it now. */
  summary(): AgentInfo {
    const { sql } = this.#house.ground;
    const { aid, agent } = this.#whose;
    const [row] = sql.all<{ sessions: number }>(
      "select count(*) as sessions from session where aid = ? and deleted = 0",
      aid,
    );
    const states = new Set(
      sql
        .all<{ state: AgentInfo["state"] }>(
          "select distinct state from session where aid = ? and deleted = 0 and state <> 'idle'",
          aid,
        )
        .map((it) => it.state),
    );
    const state = (["waiting", "running", "queued"] as const).find((it) => states.has(it));
    const model = this.#whose.model?.();
    return {
      agent,
      name: this.name,
      engine: this.#house.coordinator.engineOf(aid)?.name ?? "none",
      ...(model === undefined ? {} : { model }),
      state: state ?? "idle",
      sessions: row!.sessions,
    };
  }

  session(id: string): Session {
    const { aid, agent } = this.#whose;
    return new SessionHandle(this.#house, { aid, agent, session: id }, this.#bound);
  }

  async sessions(
    page: { limit?: number; before?: string } = {},
  ): Promise<{ sessions: SessionInfo[]; next?: string }> {
    const { rows, next } = this.#house.directory.list(this.#whose, page);
    await this.#house.ground.writer.pending();
    return { sessions: rows.map((row) => row.info), ...(next === undefined ? {} : { next }) };
  }

  async create(options: {
    requestId: string;
    session?: string;
    title?: string;
    model?: string;
    reasoning?: Reasoning;
    events?: true;
  }): Promise<{ info: SessionInfo; replay: boolean }> {
    parsed(RequestId, options.requestId);
    if (options.session !== undefined) parsed(SessionId, options.session);
    parsed(SessionSettings, options);
    if (this.#house.coordinator.isDraining)
      throw new Fault("unavailable", "The host is stopping: try this again in a moment.");
    // A replay answers as before, whatever models there are by now.
    if (!this.#house.directory.knows(this.#whose, options.requestId))
      await checkSettings(this.#house, this.#whose.aid, options);
    const { row, replay } = await this.#house.directory.create(this.#whose, options);
    return { info: row.info, replay };
  }

  async models(query: ModelQuery = {}): Promise<ModelPage> {
    return modelPage(this.#house.coordinator.engineOf(this.#whose.aid), query);
  }

  withMeta(meta: JsonObject, options?: { readonly stopsAll?: boolean }): Agent {
    const bound = bindMeta(this.#house.ground.sql, this.#rules, meta, options);
    return new AgentHandle(this.#house, this.#whose, this.#rules, bound);
  }
}
