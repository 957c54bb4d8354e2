// A session of a host across the network.

import {
  AgentName,
  type Baseline,
  type Command,
  Fault,
  Found,
  type GrantsDelivery,
  Receipt,
  SessionId,
  SessionInfo,
  Settlement,
  Withdrawal,
} from "@lichen/wire";
import type { Frame, Session, WatchOptions } from "../api.ts";
import { Watch } from "../stream/watch.ts";
import { readBaseline } from "../stream/read-entry.ts";
import { SessionReader } from "../stream/session-reader.ts";
import type { Ask, Line } from "./line.ts";
import { named } from "./named.ts";
import { recordOf } from "./refusal.ts";

const longestWaitMs = 30_000;
/** Beyond the time that the host was asked to wait. */
const graceMs = 15_000;
/** Images may have a slow way up. */
const uploadMs = 120_000;

export class HttpSession implements Session {
  readonly id: string;
  readonly #line: Line;
  readonly #agent: string;

  constructor(line: Line, agent: string, id: string) {
    this.id = id;
    this.#line = line;
    this.#agent = agent;
  }

  async send(command: Command): Promise<Receipt> {
    const ask = { method: "POST", body: command, timeoutMs: uploadMs } as const;
    return (await this.#json("/commands", ask, (it) => Receipt.parse(it))).value;
  }

  async withdraw(requestId: string): Promise<Withdrawal> {
    const ask = { method: "POST", body: { requestId } } as const;
    return (await this.#json("/withdraw", ask, (it) => Withdrawal.parse(it))).value;
  }

  async readSettlement(
    commandId: string,
    options: { timeoutMs?: number; signal?: AbortSignal } = {},
  ): Promise<Settlement | undefined> {
    const timeoutMs = Math.trunc(Math.min(Math.max(options.timeoutMs ?? 0, 0), longestWaitMs));
    const ask: Ask = {
      query: { commandId, timeoutMs },
      timeoutMs: timeoutMs + graceMs,
      ...(options.signal ? { signal: options.signal } : {}),
    };
    try {
      return (
        (await this.#json("/settlement", ask, (it) => Settlement.nullable().parse(it))).value ??
        undefined
      );
    } catch (error) {
      if (options.signal?.aborted) return undefined;
      throw error;
    }
  }

  async info(): Promise<SessionInfo> {
    return (await this.read({ limit: 1 })).session;
  }

  async read(options: { limit?: number; before?: number } = {}): Promise<Baseline> {
    return (await this.#json("", { query: { ...options } }, readBaseline)).value;
  }

  watch(options: WatchOptions = {}): AsyncIterable<Frame> {
    const source = () => ({
      path: `${this.#path}/events`,
      reader: new SessionReader(options.after),
    });
    return new Watch<Frame>(this.#line, source, options.signal);
  }

  async change(changes: Parameters<Session["change"]>[0]): Promise<SessionInfo> {
    const ask = { method: "PATCH", body: changes } as const;
    return (await this.#json("", ask, (it) => SessionInfo.parse(it))).value;
  }

  async fork(
    options: Parameters<Session["fork"]>[0],
  ): Promise<{ info: SessionInfo; replay: boolean }> {
    const ask = { method: "POST", body: options } as const;
    const { value, status } = await this.#json("/fork", ask, (it) => SessionInfo.parse(it));
    return { info: value, replay: status === 200 };
  }

  delete(options: { epoch?: string } = {}): Promise<void> {
    return this.#line.none(this.#path, { method: "DELETE", query: { ...options } });
  }

  async deliverGrants(delivery: GrantsDelivery): Promise<void> {
    await this.#line.none(`${this.#path}/grants`, { method: "PUT", body: delivery });
  }

  async search(options: { q: string; limit?: number }): Promise<{ found: Found[] }> {
    const found = (it: unknown): { found: Found[] } => ({
      found: Found.array().parse(recordOf(it)?.["found"]),
    });
    return (await this.#json("/search", { query: { ...options } }, found)).value;
  }

  async blob(sha256: string): Promise<{ bytes: Uint8Array; mimeType: string } | undefined> {
    try {
      return await this.#line.bytes(`${this.#path}/blobs/${encodeURIComponent(sha256)}`);
    } catch (error) {
      if (Fault.is(error) && error.code === "unknown_entry") return undefined;
      throw error;
    }
  }

  async #json<T>(
    below: string,
    ask: Ask,
    parse: (value: unknown) => T,
  ): Promise<{ value: T; status: number }> {
    return this.#line.json(`${this.#path}${below}`, ask, parse);
  }

  get #path(): string {
    return `/agents/${named(AgentName, this.#agent)}/sessions/${named(SessionId, this.id)}`;
  }
}
