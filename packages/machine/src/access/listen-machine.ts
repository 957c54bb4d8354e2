// A machine that listens: its door on a port of loopback, on its addresses in meshes, and on its agents' sockets.

import { type BugLog, type Mount } from "@lichen/server/door";
import { defaultPort, type Listening, listenHost, urlsBeyond } from "@lichen/server/node";
import type { Machine } from "../open-machine.ts";
import type { Access } from "./access.ts";

export interface ListenMachineOptions {
  readonly machine: Machine;
  /** Closed with the machine. */
  readonly access: Access;
  readonly log: BugLog;
  /** 7387 unless told otherwise; 0 takes any free one. */
  readonly port?: number;
  readonly bind?: string;
  readonly publicUrl?: string;
  readonly allowedHosts?: readonly string[];
  readonly features?: readonly string[];
  /** Routes of further rooms. */
  readonly mounts?: readonly Mount[];
}

/** Listens for the machine; its `drain` ends all of its listeners and closes the machine. */
export async function listenMachine(options: ListenMachineOptions): Promise<Listening> {
  const { machine, access, log, port = defaultPort, publicUrl, mounts = [] } = options;
  const { bind, allowedHosts, features } = options;
  const host = await listenHost({
    owner: machine.owner,
    stateDir: machine.stateDir,
    platform: machine.platform,
    log,
    port,
    mounts: [...access.mounts, machine.mount, ...mounts],
    visitors: access.visitors,
    listensToo: () => access.listensToo(),
    close: async (closing) => {
      try {
        await machine.close(closing);
      } finally {
        // The sockets of processes outlast them.
        await access.close();
      }
    },
    ...(bind === undefined ? {} : { bind }),
    ...(publicUrl === undefined ? {} : { publicUrl }),
    ...(allowedHosts === undefined ? {} : { allowedHosts }),
    ...(features === undefined ? {} : { features }),
  });
  try {
    await access.begin({
      fetch: host.door.app.fetch,
      // Devices are elsewhere: bound to every address, the machine is shown to them at one that is no loopback.
      url: urlsBeyond(host.boundTo)[0] ?? host.url,
      // A machine that had to take another port is still where its peers look for it in its meshes.
      port: port === 0 ? Number(new URL(host.url).port) : port,
      publicUrl,
      isCovered: (address, wanted) => {
        const isV6 = address.includes(":");
        const isAny = bind === "::" || (bind === "0.0.0.0" && !isV6);
        const authority = `${isV6 ? `[${address}]` : address}:${wanted}`;
        return host.boundTo.has(authority) || (isAny && host.url.endsWith(`:${wanted}`));
      },
    });
    return host;
  } catch (error) {
    await host.drain({ graceMs: 0 });
    throw error;
  }
}
