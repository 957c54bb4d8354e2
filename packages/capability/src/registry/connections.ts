// The connectors that are open: made from their rows when they are first needed, one at a time each, and ended here.

import type { AuthResolver } from "../auth/resolver.ts";
import { OperationError } from "../failure.ts";
import type { Operation } from "../operation.ts";
import type { CapabilityRow } from "./capability-row.ts";
import type { CapabilityFactory } from "./factory.ts";
import { LiveCapability } from "./live-capability.ts";
import { RegistryError } from "./registry-error.ts";
import { type After, ignore, within } from "./within.ts";

export interface ConnectionOptions {
  /** One for each kind. */
  readonly factories: readonly CapabilityFactory[];
  readonly resolver: AuthResolver;
  readonly after: After;
  /** How long a server may take to be opened and to list what it lends; default 30,000 ms. */
  readonly openMs?: number;
  /** Tells of a bug that has no caller. */
  report?(error: unknown): void;
}

const defaultOpenMs = 30_000;
/** How long the end of a connector waits for its beginning. */
const longestMakeMs = 5_000;

export class Connections {
  readonly #options: ConnectionOptions;
  readonly #factories: ReadonlyMap<string, CapabilityFactory>;
  readonly #changed: (id: string) => void;
  readonly #live = new Map<string, Promise<LiveCapability>>();
  /** Those of them that are there: a call takes no timer. */
  readonly #ready = new Map<string, LiveCapability>();
  #isClosed = false;

  /** `changed`: a connector tells that it lends something else. */
  constructor(options: ConnectionOptions, changed: (id: string) => void) {
    this.#options = options;
    this.#factories = new Map(options.factories.map((factory) => [factory.kind, factory]));
    this.#changed = changed;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  mustBeOpen(): void {
    if (this.#isClosed)
      throw new RegistryError("closed", "The host is stopping: try this again when it is back.");
  }

  factory(kind: string): CapabilityFactory {
    const factory = this.#factories.get(kind);
    if (factory) return factory;
    const kinds = [...this.#factories.keys()].sort().join(", ");
    throw new RegistryError(
      "unknown_kind",
      `There is no kind ${JSON.stringify(kind.slice(0, 100))} of capability here; the kinds are: ${kinds || "none"}.`,
    );
  }

  /** The open one; made anew after a restart, and where that failed before. */
  of(row: CapabilityRow, signal?: AbortSignal): LiveCapability | Promise<LiveCapability> {
    this.mustBeOpen();
    const ready = this.#ready.get(row.id);
    if (ready) return ready;
    let made = this.#live.get(row.id);
    if (!made) {
      const begun = this.#make(row);
      this.#live.set(row.id, begun);
      begun.then(
        (live) => {
          if (this.#live.get(row.id) === begun) this.#ready.set(row.id, live);
        },
        () => {
          if (this.#live.get(row.id) === begun) this.#live.delete(row.id);
        },
      );
      made = begun;
    }
    const wanted = made;
    return this.#bounded(
      row,
      signal,
      () => wanted,
      () => this.#giveUp(row.id, wanted),
    );
  }

  /** What was not made in time is not waited for by the next call. */
  #giveUp(id: string, made: Promise<LiveCapability>): void {
    if (this.#live.get(id) !== made || this.#ready.has(id)) return;
    this.#live.delete(id);
    void made.then((live) => this.drop(live), ignore);
  }

  /** Opens one that is not the capability's own yet, and lists what it lends. */
  async try(
    row: CapabilityRow,
    signal: AbortSignal,
  ): Promise<{ live: LiveCapability; operations: readonly Operation[] }> {
    const made = this.#make(row);
    try {
      return await this.#bounded(row, signal, async (inner) => {
        const live = await made;
        return { live, operations: await live.connector.operations(inner) };
      });
    } catch (error) {
      void made.then((live) => this.drop(live), ignore);
      throw error;
    }
  }

  list(row: CapabilityRow, live: LiveCapability): Promise<readonly Operation[]> {
    return this.#bounded(row, undefined, (signal) => live.connector.operations(signal));
  }

  /** From now on calls go to it. */
  keep(id: string, live: LiveCapability): void {
    this.#live.set(id, Promise.resolve(live));
    this.#ready.set(id, live);
  }

  /** Ends what is open of a capability; running calls have `patienceMs` to end by themselves. */
  async end(id: string, reason: OperationError, patienceMs: number): Promise<void> {
    const live = this.#live.get(id);
    if (!live) return;
    const { after } = this.#options;
    const late = (): Error => new Error(`the connector of ${id} was not made in time to be ended`);
    try {
      const it = await within({ after, ms: longestMakeMs, late }, () => live);
      await it.end(reason, patienceMs, (error) => this.report(error));
    } catch {
      void live.then((it) => this.drop(it), ignore);
    }
    if (this.#live.get(id) !== live) return;
    this.#live.delete(id);
    this.#ready.delete(id);
  }

  drop(live: LiveCapability): void {
    const reason = new OperationError("detached", detachedMessage(live.connector.id));
    void live.end(reason, 0, (error) => this.report(error));
  }

  async close(reason: OperationError): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#live.keys()].map((id) => this.end(id, reason, 0)));
  }

  report(error: unknown): void {
    this.#options.report?.(error);
  }

  async #make(row: CapabilityRow): Promise<LiveCapability> {
    const connector = await this.factory(row.kind).create(row, this.#options.resolver);
    return new LiveCapability(connector, this.#options.after, () => this.#changed(row.id));
  }

  #bounded<T>(
    row: CapabilityRow,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
    giveUp?: () => void,
  ): Promise<T> {
    const { after, openMs: ms = defaultOpenMs } = this.#options;
    const late = (): Error => {
      giveUp?.();
      return new OperationError(
        "unreachable",
        `${row.namespace} did not answer within ${Math.ceil(ms / 1_000)} s: see whether its server runs.`,
      );
    };
    return within({ after, ms, late, ...(signal ? { signal } : {}) }, work);
  }
}

export function detachedMessage(name: string): string {
  return `Capability ${name} is detached: nothing of it can be called.`;
}
