// A host that listens: the door of an open store, on a port, findable through its state directory until it drains.

import type { Platform } from "@lichen/runtime";
import type { BugLog } from "../door/answer.ts";
import type { Visitors } from "../door/credentials.ts";
import { createDoor, type Door, type DoorOwner, type Mount } from "../door/door.ts";
import { drainHost } from "./drain.ts";
import { writeHostFile } from "./host-file.ts";
import { type Served, serveHost } from "./serve.ts";
import { HostTokens } from "./token.ts";

export interface ListenOptions {
  /** Whose store is open: the lease is held, so that the state directory is this host's alone. */
  readonly owner: DoorOwner;
  readonly stateDir: string;
  readonly platform: Pick<Platform, "now" | "after">;
  readonly log: BugLog;
  readonly features?: readonly string[];
  /** 7387 unless told otherwise; 0 takes any free one. */
  readonly port?: number;
  readonly bind?: string;
  readonly publicUrl?: string;
  readonly allowedHosts?: readonly string[];
  /** Routes of other rooms on the same listener. */
  readonly mounts?: readonly Mount[];
  /** Who may come in beside the holders of tokens. */
  readonly visitors?: Visitors;
  /** The `host:port` pairs of further listeners for the same door, as they come and go. */
  readonly listensToo?: () => Iterable<string>;
  /** Closes the owner and its store. */
  readonly close: (options: { patienceMs: number }) => Promise<void>;
}

export interface Listening {
  readonly url: string;
  /** The owner's token. */
  readonly token: string;
  readonly tokens: HostTokens;
  /** The port that was asked for and is taken, and by whom where the system says. */
  readonly taken: Served["taken"];
  readonly door: Door;
  /** The `host:port` pairs of the addresses that it is bound to. */
  readonly boundTo: ReadonlySet<string>;
  /** Goes down: see `drainHost`. */
  drain(options?: { graceMs?: number }): Promise<void>;
}

export async function listenHost(options: ListenOptions): Promise<Listening> {
  const { owner, stateDir, platform, log, publicUrl, allowedHosts, listensToo } = options;
  const tokens = new HostTokens(stateDir, platform.now);
  let names: ReadonlySet<string> = new Set();
  let addresses: ReadonlySet<string> = new Set();
  const door = createDoor({
    owner: () => owner,
    tokens,
    features: options.features ?? [],
    platform,
    log,
    listensAs: () => (listensToo ? [...names, ...listensToo()] : names),
    boundTo: () => (listensToo ? [...addresses, ...listensToo()] : addresses),
    ...(options.visitors === undefined ? {} : { visitors: options.visitors }),
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
    ...(options.mounts === undefined ? {} : { mounts: options.mounts }),
  });
  const served = await serveHost({
    fetch: door.app.fetch,
    ...(options.port === undefined ? {} : { port: options.port }),
    ...(options.bind === undefined ? {} : { bind: options.bind }),
  });
  names = served.listensAs;
  addresses = served.boundTo;
  const forget = writeHostFile(stateDir, { url: served.url, pid: process.pid });
  let draining: Promise<void> | undefined;
  return {
    url: served.url,
    token: tokens.owner,
    tokens,
    taken: served.taken,
    door,
    boundTo: served.boundTo,
    drain: ({ graceMs } = {}) =>
      (draining ??= drainHost({
        door,
        served,
        closeOwner: options.close,
        forget,
        ...(graceMs === undefined ? {} : { graceMs }),
      })),
  };
}
