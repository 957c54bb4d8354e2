// A host for registries: rows in memory as they would come back from storage, a clock that stands still, and connectors
// that answer what a test says.

import {
  type AttachRequest,
  type CallContext,
  type CapabilityFactory,
  type CapabilityRow,
  type Connector,
  type JsonObject,
  type Operation,
  OperationError,
  Registry,
  type RegistryOptions,
  type SourceContext,
  type SurfaceEvent,
} from "../../src/index.ts";
import { createHash } from "node:crypto";

/** What a test's server lends, and how it behaves. */
export class Server {
  operations: readonly Operation[];
  /** Thrown in place of an answer. */
  down: Error | undefined;
  readonly calls: { operation: string; input: JsonObject }[] = [];
  answer: (operation: string, input: JsonObject, context: CallContext) => Promise<unknown> = async (
    operation,
  ) => `did ${operation}`;
  hint: string;
  opened = 0;
  listed = 0;
  closed = 0;
  readonly listeners = new Set<() => void>();

  constructor(hint: string, operations: readonly Operation[] = [write("act"), read("look")]) {
    this.hint = hint;
    this.operations = operations;
  }

  connector(id: string): Connector {
    this.opened++;
    return {
      id,
      kind: "test",
      namespace: this.hint,
      description: `lends ${this.hint}`,
      operations: async () => {
        this.listed++;
        if (this.down) throw this.down;
        return this.operations;
      },
      call: async (operation, input, context) => {
        this.calls.push({ operation, input });
        return this.answer(operation, input, context);
      },
      onChanged: (listener) => {
        this.listeners.add(listener);
        return () => void this.listeners.delete(listener);
      },
      close: async () => void this.closed++,
    };
  }

  tellChanged(): void {
    for (const listener of this.listeners) listener();
  }
}

export function read(name: string): Operation {
  return { name, description: `${name} it`, input: { type: "object" }, label: "read" };
}

export function write(name: string): Operation {
  return { ...read(name), label: "write" };
}

export const away = new OperationError("unreachable", "The server is not there: start it.");

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Storage, servers by the name in `config.server`, and the registries that follow each other on them. */
export class Host {
  readonly servers = new Map<string, Server>();
  readonly stored = new Map<string, string>();
  readonly outbox = new Map<number, string>();
  readonly events: SurfaceEvent[] = [];
  readonly reports: unknown[] = [];
  /** Asked before each write; may throw. */
  trouble: (() => void) | undefined;
  writes = 0;
  at = 1_000;
  #ids = 0;
  readonly timers: { at: number; wake: () => void }[] = [];

  named(name: string): Server {
    return this.servers.get(JSON.stringify(name))!;
  }

  server(name: string, server = new Server(name)): Server {
    this.servers.set(JSON.stringify(name), server);
    return server;
  }

  rows(): CapabilityRow[] {
    return [...this.stored.values()].map((text) => JSON.parse(text) as CapabilityRow);
  }

  async open(options: Partial<RegistryOptions> = {}): Promise<Registry> {
    const registry = new Registry(this.options(options));
    await registry.start();
    return registry;
  }

  options(options: Partial<RegistryOptions> = {}): Mutable<RegistryOptions> {
    return {
      factories: [this.factory()],
      resolver: { resolve: async () => ({ ok: true, auth: { kind: "none" } }) },
      now: () => this.at++,
      randomId: (length) => String(++this.#ids).padStart(length, "0"),
      sha256: (text) => createHash("sha256").update(text).digest("hex"),
      after: (ms, wake) => {
        const timer = { at: this.at + ms, wake };
        this.timers.push(timer);
        return () => {
          if (this.timers.includes(timer)) this.timers.splice(this.timers.indexOf(timer), 1);
        };
      },
      report: (error) => this.reports.push(error),
      readRows: () => this.rows(),
      persistRow: (row) => {
        this.trouble?.();
        this.writes++;
        this.stored.set(row.id, JSON.stringify(row));
      },
      transaction: async (body) => {
        const before = [new Map(this.stored), new Map(this.outbox)] as const;
        try {
          return body();
        } catch (error) {
          this.stored.clear();
          for (const [id, text] of before[0]) this.stored.set(id, text);
          this.outbox.clear();
          for (const [revision, text] of before[1]) this.outbox.set(revision, text);
          throw error;
        }
      },
      emitEvent: (event) => this.events.push(event),
      outbox: {
        unsent: () => [...this.outbox.values()].map((text) => JSON.parse(text) as SurfaceEvent),
        put: (event) => void this.outbox.set(event.revision, JSON.stringify(event)),
        sent: (revision) => void this.outbox.delete(revision),
      },
      ...options,
    };
  }

  factory(kind = "test"): CapabilityFactory {
    return {
      kind,
      create: ({ id, config }) => {
        const server = this.servers.get(JSON.stringify(config["server"]));
        if (!server) throw new OperationError("unreachable", "There is no such server.");
        return server.connector(id);
      },
    };
  }

  /** Lets time pass: what falls due is woken in its order. */
  async pass(ms: number): Promise<void> {
    const until = this.at + ms;
    for (;;) {
      const [due] = this.timers.toSorted((a, b) => a.at - b.at);
      if (!due || due.at > until) break;
      this.timers.splice(this.timers.indexOf(due), 1);
      this.at = Math.max(this.at, due.at);
      due.wake();
      await settle();
    }
    this.at = until;
    await settle();
  }
}

/** A request for the server of that name. */
export function wish(server: string, more: Partial<AttachRequest> = {}): AttachRequest {
  return { kind: "test", config: { server }, ...more };
}

export const context: SourceContext = {
  signal: new AbortController().signal,
  image: () => ({ image: 1, mediaType: "image/png", bytes: 0 }),
  progress: () => {},
  display: () => {},
};

/** Every promise that can settle by itself has settled. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++)
    await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** The code that a promise is refused with. */
export function codeOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => "no refusal",
    (error: unknown) =>
      error instanceof Error && "code" in error ? String(error.code) : `a bug: ${String(error)}`,
  );
}
