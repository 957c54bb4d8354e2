// One agent's registry in its own database: rows and events are written in the owner's transactions, listeners are told
// once that is durable.

import {
  type AuthConfig,
  type AuthResolver,
  type CapabilityFactory,
  Registry,
  type SurfaceEvent,
} from "@lichen/capability";
import type { CapabilityAuth } from "@lichen/wire";
import type { Ground } from "../store/ground.ts";
import {
  dropEvent,
  putEvent,
  readCapabilities,
  unsentEvents,
  writeCapability,
} from "./capability-rows.ts";

export interface CapabilityOptions {
  /** One for each kind that can be attached. */
  readonly factories: readonly CapabilityFactory[];
  /** Where credentials come from, asked at every call. */
  readonly resolver: AuthResolver;
  /** Told of each change, and first of those that an earlier process committed and did not come to tell. */
  readonly changed?: (event: SurfaceEvent) => void;
  /** How a capability's auth stands, for lists; `unknown` where this is left out. */
  readonly authState?: (id: string, auth: AuthConfig) => Promise<CapabilityAuth>;
  /** How long a server may take to be opened and to list what it lends; default 30,000 ms. */
  readonly openMs?: number;
  /** How long running calls may take to end once their capability is detached; default 5,000 ms. */
  readonly releaseMs?: number;
}

export class CapabilityHost {
  readonly registry: Registry;
  readonly #listeners = new Set<(event: SurfaceEvent) => void>();
  readonly #report: (error: unknown) => void;

  constructor(
    { sql, platform, writer }: Ground,
    aid: number,
    { factories, resolver, openMs, releaseMs, changed: first }: CapabilityOptions,
    changed: (event: SurfaceEvent) => void,
  ) {
    this.#report = (error) => platform.report(error);
    this.#listeners.add(changed);
    if (first) this.#listeners.add(first);
    this.registry = new Registry({
      factories,
      resolver,
      ...(openMs === undefined ? {} : { openMs }),
      ...(releaseMs === undefined ? {} : { releaseMs }),
      now: () => platform.now(),
      randomId: (length) => platform.randomId(length),
      sha256: (text) => platform.sha256(text),
      after: (ms, wake) => platform.after(ms, wake),
      report: this.#report,
      readRows: () => readCapabilities(sql, aid),
      persistRow: (row, before) => writeCapability(sql, aid, row, before),
      transaction: (body) => writer.commit(() => body()),
      emitEvent: (event) => this.#tell(event),
      outbox: {
        unsent: () => unsentEvents(sql, aid),
        put: (event) => putEvent(sql, aid, event),
        sent: (revision) => writer.commit(() => dropEvent(sql, aid, revision)),
      },
    });
  }

  observe(listener: (event: SurfaceEvent) => void): () => void {
    const own = (event: SurfaceEvent): void => listener(event);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  #tell(event: SurfaceEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#report(error);
      }
    }
  }
}
