// An agent of a host across the network.

import {
  type AgentInfo,
  AgentName,
  Fault,
  ModelPage,
  type ModelQuery,
  SessionInfo,
} from "@lichen/wire";
import type { Agent, Session } from "../api.ts";
import type { Capabilities } from "../capabilities.ts";
import { HttpCapabilities } from "./http-capabilities.ts";
import { HttpSession } from "./http-session.ts";
import type { Line } from "./line.ts";
import { named } from "./named.ts";
import { recordOf } from "./refusal.ts";

export class HttpAgent implements Agent {
  readonly agent: string;
  readonly capabilities: Capabilities;
  readonly #line: Line;
  readonly #agents: () => Promise<AgentInfo[]>;

  constructor(line: Line, agent: string, agents: () => Promise<AgentInfo[]>) {
    this.agent = agent;
    this.#line = line;
    this.#agents = agents;
    this.capabilities = new HttpCapabilities(line, agent);
  }

  async info(): Promise<AgentInfo> {
    const found = (await this.#agents()).find((it) => it.agent === this.agent);
    if (found) return found;
    throw new Fault("unknown_agent", `There is no agent "${this.agent}" on this host.`);
  }

  session(id: string): Session {
    return new HttpSession(this.#line, this.agent, id);
  }

  async sessions(
    page: { limit?: number; before?: string } = {},
  ): Promise<{ sessions: SessionInfo[]; next?: string }> {
    const { value } = await this.#line.json(this.#path("sessions"), { query: { ...page } }, pageOf);
    return value;
  }

  async create(
    options: Parameters<Agent["create"]>[0],
  ): Promise<{ info: SessionInfo; replay: boolean }> {
    const ask = { method: "POST", body: options } as const;
    const { value, status } = await this.#line.json(this.#path("sessions"), ask, (it) =>
      SessionInfo.parse(it),
    );
    return { info: value, replay: status === 200 };
  }

  async models(query: ModelQuery = {}): Promise<ModelPage> {
    const parse = (it: unknown) => ModelPage.parse(it);
    return (await this.#line.json(this.#path("models"), { query: { ...query } }, parse)).value;
  }

  #path(below: string): string {
    return `/agents/${named(AgentName, this.agent)}/${below}`;
  }
}

function pageOf(value: unknown): { sessions: SessionInfo[]; next?: string } {
  const { sessions, next } = recordOf(value) ?? {};
  return {
    sessions: SessionInfo.array().parse(sessions),
    ...(typeof next === "string" ? { next } : {}),
  };
}
