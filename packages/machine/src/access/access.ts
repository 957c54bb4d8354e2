// Who comes to a machine and how: its owner's devices, the processes of its agents, and machines of its meshes; with the
// routes that admit them and the listeners that they reach it by.
//
//   DV31  Loopback is no credential, and neither is a mesh: who is not admitted does what the table of rights gives a
//         peer, and an address that nobody can name is nobody.

import { join } from "node:path";
import type { Platform } from "@lichen/runtime";
import {
  type Arrival,
  demand,
  json,
  type Mount,
  pathOf,
  type Principal,
  readQuery,
  type Visitors,
} from "@lichen/server/door";
import type { DoorFetch } from "@lichen/server/node";
import { Fault, type Peer } from "@lichen/wire";
import { Hono } from "hono";
import * as z from "zod";
import { claimRoute, deviceRoutes } from "../devices/device-routes.ts";
import { Devices } from "../devices/devices.ts";
import { Pairing } from "../devices/pairing.ts";
import { pairPage } from "../pair-page/pair-page.ts";
import { MeshListeners } from "../mesh/listeners.ts";
import { Meshes, type NearNode } from "../mesh/meshes.ts";
import type { MeshProvider } from "../mesh/provider.ts";
import { type DoorEnv, machineRoute, refuse } from "../routes/route.ts";
import { SessionSockets } from "./session-sockets.ts";

export interface AccessOptions {
  /** The machine's state, made already. */
  readonly stateDir: string;
  readonly platform: Pick<Platform, "now" | "randomId" | "after" | "report">;
  readonly providers: readonly MeshProvider[];
  /** The labels of the meshes to serve; all of them where it is left out. */
  readonly only?: readonly string[];
}

/** What a machine's door is known by once it listens. */
export interface Reached {
  readonly fetch: DoorFetch;
  readonly url: string;
  /** The port to listen on in meshes. */
  readonly port: number;
  /** The address that stands in front, where there is one. */
  readonly publicUrl?: string | undefined;
  /** Whether the host itself listens at this address and port. */
  readonly isCovered: (address: string, port: number) => boolean;
}

export class Access {
  readonly devices: Devices;
  readonly meshes: Meshes;
  readonly sockets: SessionSockets;
  /** For the machine's door, before the machine's own. */
  readonly mounts: readonly Mount[];
  readonly visitors: Visitors;
  readonly #pairing: Pairing;
  readonly #platform: AccessOptions["platform"];
  readonly #drained = new AbortController();
  #reached: Reached | undefined;
  #listeners: MeshListeners | undefined;
  readonly #stopWatching: () => void;
  #closing: Promise<void> | undefined;

  private constructor(devices: Devices, sockets: SessionSockets, options: AccessOptions) {
    const { platform, providers, only } = options;
    this.devices = devices;
    this.sockets = sockets;
    this.#platform = platform;
    this.#pairing = new Pairing({ devices, platform });
    this.meshes = new Meshes({ providers, ...(only === undefined ? {} : { only }) });
    this.visitors = {
      keys: () => devices.keys(),
      enter: (device, arrival) => devices.enter(device, arrival),
      ofLine: (arrival) => this.#ofLine(arrival),
    };
    this.mounts = this.#createMounts();
    this.#stopWatching = this.meshes.watch(() => {
      this.#recheck().catch((error: unknown) => platform.report(error));
    });
  }

  /** Opens `devices.db` and the folder of sockets. The providers are closed with it, also where this throws. */
  static async open(options: AccessOptions): Promise<Access> {
    const { stateDir, platform, providers } = options;
    let devices: Devices | undefined;
    try {
      devices = await Devices.open({ path: join(stateDir, "devices.db"), platform });
      const report = (error: unknown) => platform.report(error);
      return new Access(devices, new SessionSockets({ stateDir, report }), options);
    } catch (error) {
      devices?.close();
      for (const provider of providers) provider.close();
      throw error;
    }
  }

  /** The machine listens: sockets are answered, and its addresses in meshes are listened on from now on. */
  async begin(reached: Reached): Promise<void> {
    this.#reached = reached;
    this.sockets.serve(reached.fetch);
    const { fetch, port, isCovered } = reached;
    this.#listeners = new MeshListeners({
      meshes: this.meshes,
      platform: this.#platform,
      ...{ fetch, port, isCovered },
    });
    await this.#listeners.follow();
  }

  /** The `host:port` pairs at which it listens beside its host. */
  *listensToo(): Iterable<string> {
    if (this.#listeners) yield* this.#listeners.names();
  }

  /** The addresses at which machines of its meshes reach it. */
  urls(): string[] {
    return this.#listeners?.urls() ?? [];
  }

  /** What is not as it should be with meshes and their addresses, as sentences. */
  problems(): string[] {
    return [...this.meshes.problems(), ...(this.#listeners?.problems() ?? [])];
  }

  /** Ends its listeners; requests under way have a moment. Safe to call twice. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#drained.abort();
    this.#stopWatching();
    this.#pairing.close();
    await this.#listeners?.close();
    this.meshes.close();
    this.sockets.close();
    this.devices.close();
  }

  async #ofLine(arrival: Arrival): Promise<Principal | undefined> {
    const behind = await this.meshes.behind(arrival);
    if (behind.kind !== "node") return undefined;
    const { id, title, network } = behind.node;
    const device = this.devices.ofPeer(id);
    if (device !== undefined) return this.devices.principalOf(device);
    return { kind: "peer", id, name: title, network };
  }

  /** What a mesh proves no more ends: connections of devices whose address is another's, or nobody's, by now. */
  #recheck(): Promise<void> {
    return this.devices.recheck(async (peer, arrival) => {
      const behind = await this.meshes.behind(arrival);
      return behind.kind === "node" && behind.node.id === peer;
    });
  }

  /** Where devices reach it: as its owner says, else over a mesh, else as it listens. */
  #address(): string {
    const { publicUrl, url } = this.#reached ?? {};
    const address = publicUrl ?? this.urls()[0] ?? url;
    if (address === undefined) throw new Fault("unavailable", "The machine is starting.");
    return address.replace(/\/+$/, "");
  }

  #createMounts(): Mount[] {
    const arrivals = new WeakMap<Request, Arrival>();
    const options = {
      devices: this.devices,
      pairing: this.#pairing,
      platform: this.#platform,
      arrivalOf: (request: Request) => arrivals.get(request),
      address: () => this.#address(),
      peer: (id: string) => this.meshes.find(id),
      drained: this.#drained.signal,
    };
    const app = appOf([deviceRoutes(options), this.#meshRoutes()]);
    const claim = appOf([claimRoute(options)]);
    const mount = (prefix: string, isOpen = false): Mount => ({
      prefix,
      ...(isOpen ? { isOpen } : {}),
      refuse,
      run: (request, principal, arrival) => {
        if (arrival) arrivals.set(request, arrival);
        return (isOpen ? claim : app).fetch(request, { principal });
      },
      drain: () => this.#drained.abort(),
    });
    return [
      pairPage(),
      mount("v1/pair/claim", true),
      ...["v1/pair", "v1/devices", "v1/peers", "v1/meshes"].map((prefix) => mount(prefix)),
    ];
  }

  #meshRoutes(): Hono<DoorEnv> {
    const app = new Hono<DoorEnv>();
    /** A peer is shown its own mesh alone. Answers that; undefined for who may see all of them. */
    const meshOf = (principal: Principal): string | undefined => {
      const network = principal.kind === "peer" ? principal.network : undefined;
      demand(principal, "near", network === undefined ? undefined : { network });
      return network;
    };
    machineRoute(app, "/v1/peers", {
      GET: {
        run: ({ request, principal }) => {
          const near = this.meshes.near(meshOf(principal));
          readQuery(request, NoQuery);
          const isOwner = principal.kind === "owner";
          return json({ peers: near.flatMap((node) => this.#peers(node, isOwner)) });
        },
      },
    });
    machineRoute(app, "/v1/meshes", {
      GET: {
        run: ({ request, principal }) => {
          const network = meshOf(principal);
          readQuery(request, NoQuery);
          const labels =
            network === undefined ? this.meshes.labels() : this.meshes.labelOf(network);
          return json({ meshes: labels });
        },
      },
    });
    return app;
  }

  /** What a mesh tells of a peer; who may admit devices is told its key too. */
  #peers({ id, name, label, addrs, online }: NearNode, isOwner: boolean): Peer[] {
    const overlay = addrs.find((address) => address.includes(":")) ?? addrs[0];
    if (overlay === undefined) return [];
    const device = isOwner ? this.devices.ofPeer(id) : undefined;
    return [
      {
        name,
        mesh: label,
        overlay,
        ...(isOwner ? { id } : {}),
        ...(online === undefined ? {} : { online }),
        ...(device === undefined ? {} : { device }),
      },
    ];
  }
}

const NoQuery = z.strictObject({});

function appOf(routers: readonly Hono<DoorEnv>[]): Hono<DoorEnv> {
  const app = new Hono<DoorEnv>({ getPath: (request) => pathOf(request.url) });
  for (const router of routers) app.route("/", router);
  app.notFound(() => {
    throw new Fault("unknown_route", "There is no such route on this machine.");
  });
  app.onError((error) => {
    throw error;
  });
  return app;
}
