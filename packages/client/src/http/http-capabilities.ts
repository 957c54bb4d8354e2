// The capabilities of an agent of a host across the network.

import {
  AgentName,
  type AttachRequest,
  CallAnswer,
  type CallRequest,
  type CapabilityChanges,
  CapabilityDetail,
  CapabilityId,
  CapabilityInfo,
  CapabilityList,
} from "@lichen/wire";
import type { Capabilities } from "../capabilities.ts";
import type { Line } from "./line.ts";
import { named } from "./named.ts";

/** Attaching asks the other side what it lends. */
const attachMs = 120_000;
/** More than any operation may take. */
const callMs = 960_000;

export class HttpCapabilities implements Capabilities {
  readonly #line: Line;
  readonly #agent: string;

  constructor(line: Line, agent: string) {
    this.#line = line;
    this.#agent = agent;
  }

  async list(): Promise<CapabilityList> {
    return (await this.#line.json(this.#all, {}, (it) => CapabilityList.parse(it))).value;
  }

  async attach(request: AttachRequest): Promise<{ info: CapabilityInfo; replay: boolean }> {
    const ask = { method: "POST", body: request, timeoutMs: attachMs } as const;
    const { value, status } = await this.#line.json(this.#all, ask, infoOf);
    return { info: value, replay: status === 200 };
  }

  async read(id: string, page: { limit?: number; after?: string } = {}): Promise<CapabilityDetail> {
    const parse = (it: unknown) => CapabilityDetail.parse(it);
    return (await this.#line.json(this.#one(id), { query: { ...page } }, parse)).value;
  }

  async change(id: string, changes: CapabilityChanges): Promise<CapabilityInfo> {
    const ask = { method: "PATCH", body: changes } as const;
    return (await this.#line.json(this.#one(id), ask, infoOf)).value;
  }

  async detach(id: string): Promise<void> {
    await this.#line.none(this.#one(id), { method: "DELETE" });
  }

  async refresh(id: string): Promise<CapabilityInfo> {
    const ask = { method: "POST", timeoutMs: attachMs } as const;
    return (await this.#line.json(`${this.#one(id)}/refresh`, ask, infoOf)).value;
  }

  async call(
    id: string,
    request: CallRequest,
    { signal }: { signal?: AbortSignal } = {},
  ): Promise<CallAnswer> {
    const ask = { method: "POST", body: request, timeoutMs: callMs } as const;
    const parse = (it: unknown) => CallAnswer.parse(it);
    const options = signal === undefined ? ask : { ...ask, signal };
    return (await this.#line.json(`${this.#one(id)}/call`, options, parse)).value;
  }

  get #all(): string {
    return `/agents/${named(AgentName, this.#agent)}/capabilities`;
  }

  #one(id: string): string {
    return `${this.#all}/${named(CapabilityId, id)}`;
  }
}

function infoOf(value: unknown): CapabilityInfo {
  return CapabilityInfo.parse(value);
}
