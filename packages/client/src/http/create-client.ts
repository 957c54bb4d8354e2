// A client of one host across the network: in Node, in browsers and in workerd alike.

import { AgentInfo } from "@lichen/wire";
import type { Agent, Client, HostFrame, WatchOptions } from "../api.ts";
import { type ClientPlatform, webPlatform } from "../platform.ts";
import { HostReader } from "../stream/host-reader.ts";
import { Watch } from "../stream/watch.ts";
import { HttpAgent } from "./http-agent.ts";
import { type Fetch, Line } from "./line.ts";
import { noHost, recordOf } from "./refusal.ts";

export interface ClientOptions {
  /** Where the host listens: `http://127.0.0.1:7387`. What answers there is told the token, and does not have to prove itself. */
  readonly url: string;
  /** The owner's token or a device's; left out where `fetch` brings another credential. A function is asked before every request. */
  readonly token?: string | (() => string | Promise<string>);
  /** The way out, where it is not the platform's own `fetch`. */
  readonly fetch?: Fetch;
  /** Time and chance, where they are not the platform's own. */
  readonly platform?: Partial<ClientPlatform>;
}

/** What a host says of itself. A client leaves out what is not among the features. */
export interface Health {
  readonly status: string;
  readonly wire: number;
  readonly features: readonly string[];
}

export interface HttpClient extends Client {
  health(): Promise<Health>;
  /** The network is back, as far as the caller knows: watches that wait to connect again do it now. */
  wake(): void;
}

/**
 * A client of the host at `url`, which is told the token with every request: the program that gives both knows that the
 * address is the host's. `GET /health?challenge=` is how it can find out first (see the guide Talk to a host).
 */
export function createClient(options: ClientOptions): HttpClient {
  const line = new Line({
    url: options.url,
    token: options.token,
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    platform: { ...webPlatform, ...options.platform },
  });
  const agents = async (): Promise<AgentInfo[]> => {
    const parse = (it: unknown) => AgentInfo.array().parse(recordOf(it)?.["agents"]);
    return (await line.json("/agents", {}, parse)).value;
  };
  return {
    agents,
    agent: (name): Agent => new HttpAgent(line, name, agents),
    watchHost: (watching: WatchOptions = {}): AsyncIterable<HostFrame> => {
      const source = () => ({ path: "/events", reader: new HostReader(watching.after) });
      return new Watch<HostFrame>(line, source, watching.signal);
    },
    health: async () => (await line.json("/health", {}, healthOf)).value,
    wake: () => line.wake(),
  };
}

function healthOf(value: unknown): Health {
  const { status, wire, features } = recordOf(value) ?? {};
  if (typeof status !== "string" || typeof wire !== "number" || !Array.isArray(features))
    throw noHost(undefined);
  return { status, wire, features: features.filter((it) => typeof it === "string") };
}
