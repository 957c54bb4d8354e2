// The registry: what an agent may call, from the wish to have it to its end.
//
//   requested ──▶ active ──▶ releasing ──▶ released
//       └───────────────────────────────────▲           denied, or not to be reached
//
//   G1  A row moves in this order; every other move is refused and nothing is stored.
//   G2  Opening again gives the same list and the same surface, without asking any server.
//   G5  Kinds are the factories'; one without a factory is refused.
//   G9  What a crash left half done is finished when the registry starts: releasing ends released.
//
// It owns no storage, no clock and no network: all of that is handed in.

import { hint } from "../connectors/nearest.ts";
import { OperationError } from "../failure.ts";
import type { JsonObject } from "../json.ts";
import type { CapabilitySource, SourceContext } from "../surface/source.ts";
import type { Surface, SurfaceOperation } from "../surface/surface.ts";
import { activeRow } from "./attach-plan.ts";
import { attachFailed, Attaching, type AttachingOptions, problemOf } from "./attaching.ts";
import type {
  AttachRequest,
  CapabilityChanges,
  CapabilityRow,
  CapabilityState,
  Problem,
} from "./capability-row.ts";
import { changedRow } from "./changed-row.ts";
import { type ConnectionOptions, Connections, detachedMessage } from "./connections.ts";
import { moved } from "./lifecycle.ts";
import { emptied, listedOperations } from "./listed-operations.ts";
import { RegistryError } from "./registry-error.ts";
import { Retries } from "./retries.ts";
import { RowBook, type RowStorage } from "./row-book.ts";
import { renameNotice } from "./surface-event.ts";

export interface RegistryOptions extends RowStorage, ConnectionOptions, AttachingOptions {
  /** How long running calls may take to end once their capability is detached; default 5,000 ms. */
  readonly releaseMs?: number;
}

const defaultReleaseMs = 5_000;

export class Registry implements CapabilitySource {
  readonly #options: RegistryOptions;
  readonly #book: RowBook;
  readonly #connections: Connections;
  readonly #attaching: Attaching;
  readonly #retries: Retries;
  readonly #operations = new WeakMap<object, Map<string, SurfaceOperation>>();

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#book = new RowBook(options);
    this.#connections = new Connections(options, (id) => this.#retries.changed(id));
    this.#attaching = new Attaching(options, this.#book, this.#connections);
    this.#retries = new Retries(options.after, async (id) => {
      const { state } = this.#book.get(id)!;
      if (state === "requested" || state === "active") await this.refresh(id);
    });
  }

  /** Finishes what a crash left half done, tells the events it kept from being told, and tries what is to be kept again. */
  async start(): Promise<void> {
    this.#book.retell();
    await this.#book.exclusive(async () => {
      const left = this.#book.rows().flatMap((row): CapabilityRow[] => {
        if (row.state === "releasing") return [moved(emptied(row), "released")];
        if (row.state !== "requested" || row.keep) return [];
        const message = "Its host stopped while it was being attached: attach it again.";
        return [{ ...moved(row, "released"), problem: { code: "interrupted", message } }];
      });
      for (const row of left) await this.#book.commit([row]);
    });
    this.#watchRequested();
  }

  /** What is attached, or on its way in or out, by namespace. */
  list(): CapabilityRow[] {
    return this.#book
      .rows()
      .filter((row) => row.state !== "released")
      .sort((a, b) => (a.namespace < b.namespace ? -1 : 1));
  }

  /** One of them, by its id or what code calls it; a name of before is refused with what it is called now. */
  show(name: string): CapabilityRow {
    const row = this.#find(name);
    if (!row || row.state === "released")
      throw new RegistryError("unknown_capability", this.#absent(name, row));
    const notice = formerNotice(row, name);
    if (notice !== undefined) throw new RegistryError("unknown_capability", notice);
    return row;
  }

  surface(): Surface {
    return this.#book.surface();
  }

  /** Attaches one, or several: all of them or none. Settles once it can be called, which is durable then. */
  async attach(request: AttachRequest): Promise<CapabilityRow>;
  async attach(requests: readonly AttachRequest[]): Promise<CapabilityRow[]>;
  async attach(
    given: AttachRequest | readonly AttachRequest[],
  ): Promise<CapabilityRow | CapabilityRow[]> {
    const ids = await this.#attaching.attach(isMany(given) ? given : [given]);
    this.#watchRequested();
    const rows = ids.map((id) => this.show(id));
    return isMany(given) ? rows : rows[0]!;
  }

  /** Stops new calls at once, lets running ones end for a while, then aborts them; settles once it is released. */
  async detach(given: string | readonly string[]): Promise<void> {
    const ids = [...new Set(isMany(given) ? given : [given])];
    await this.#book.exclusive(async () => {
      const rows = ids.map((id) => this.#known(id)).filter(({ state }) => state !== "releasing");
      if (rows.length > 0)
        await this.#book.commit(
          rows.map((row) => moved(row, row.state === "requested" ? "released" : "releasing")),
        );
    });
    await this.#release(ids);
  }

  async #release(ids: readonly string[]): Promise<void> {
    const { releaseMs = defaultReleaseMs } = this.#options;
    await Promise.all(ids.map((id) => this.#end(id, releaseMs)));
    await this.#book.exclusive(async () => {
      const rows = ids
        .map((id) => this.#book.get(id)!)
        .filter(({ state }) => state === "releasing")
        .map((row) => moved(emptied(row), "released"));
      if (rows.length > 0) await this.#book.commit(rows);
    });
  }

  async #end(id: string, patienceMs: number): Promise<void> {
    const reason = new OperationError("detached", detachedMessage(id));
    this.#retries.forget(id);
    this.#attaching.abort(id, reason);
    await this.#connections.end(id, reason, patienceMs);
  }

  /** One move of the lifecycle: to `active` its server is asked, out of `releasing` its calls end first. */
  async transition(id: string, to: CapabilityState): Promise<CapabilityRow> {
    const row = this.#known(id);
    moved(row, to);
    if (to === "active") return this.refresh(id);
    if (row.state === "releasing") await this.#release([id]);
    else {
      await this.#book.exclusive(() => this.#book.commit([moved(this.#known(id), to)]));
      if (to === "released") await this.#end(id, 0);
    }
    return this.#book.get(id)!;
  }

  /** Lists its operations anew; one that is only requested is tried again. Rejects where its server cannot be reached. */
  async refresh(name: string): Promise<CapabilityRow> {
    const row = this.show(name);
    if (row.state !== "requested") return this.#list(row.id);
    await this.#attaching.tryAgain(row);
    const now = this.show(row.id);
    if (now.state === "requested" && now.problem) throw attachFailed(now, now.problem);
    return now;
  }

  async #list(id: string): Promise<CapabilityRow> {
    let failed: { problem: Problem; cause: unknown } | undefined;
    const listed = await this.#ask(this.#callable(id)).catch((error: unknown) => {
      failed = { problem: problemOf(error), cause: error };
    });
    const row = await this.#book.exclusive(async () => {
      const before = this.#callable(id);
      if (!listed) return this.#put(before, { ...before, problem: failed!.problem });
      const { live, operations } = listed;
      const after = { ...before, ...listedOperations(operations, before) };
      return this.#put(before, activeRow(after, live.connector, this.#book.rows()));
    });
    if (failed) throw attachFailed(row, failed.problem, failed.cause);
    return row;
  }

  async #ask(row: CapabilityRow) {
    const live = await this.#connections.of(row);
    return { live, operations: await this.#connections.list(row, live) };
  }

  async #put(before: CapabilityRow, after: CapabilityRow): Promise<CapabilityRow> {
    if (isSameRow(before, after)) return before;
    return (await this.#book.commit([after]))[0]!;
  }

  /** Calls it something else: the answer's `namespace` says what. The old name is answered with a notice from now on. */
  rename(name: string, namespace: string): Promise<CapabilityRow> {
    return this.change(name, { namespace });
  }

  change(name: string, changes: CapabilityChanges): Promise<CapabilityRow> {
    return this.#book.exclusive(async () => {
      const before = this.show(name);
      const { row, notices } = changedRow(before, changes, this.#book.rows());
      if (isSameRow(before, row)) return before;
      return (await this.#book.commit([row], notices))[0]!;
    });
  }

  /** `id`: the capability's, or what code calls it; `operation`: the connector's name for it, or its property. */
  async call(
    id: string,
    operation: string,
    input: JsonObject,
    context: SourceContext,
  ): Promise<unknown> {
    const row = this.#callable(id);
    const called = this.#operation(row, operation);
    if (!called) throw unknownOperation(row, operation);
    const live = await this.#connections.of(row, context.signal);
    // It may have been detached, or lend something else, meanwhile.
    const now = this.#callable(row.id);
    if (now !== row && !this.#operation(now, called.name)) throw unknownOperation(now, operation);
    return live.call(called.name, input, {
      ...context,
      resolve: async () => {
        this.#callable(row.id);
        return this.#options.resolver.resolve({ id: row.id }, context.signal);
      },
    });
  }

  /** By its own name, or else its property. */
  #operation({ operations }: CapabilityRow, called: string): SurfaceOperation | undefined {
    let known = this.#operations.get(operations);
    if (!known) {
      known = new Map(operations.map((it) => [it.property, it]));
      for (const it of operations) known.set(it.name, it);
      this.#operations.set(operations, known);
    }
    return known.get(called);
  }

  /** The attached one of this name, or what is said to who calls it. */
  #callable(name: string): CapabilityRow {
    if (this.#connections.isClosed) throw stopping();
    const row = this.#find(name);
    if (row?.state !== "active") throw new OperationError("detached", this.#absent(name, row));
    const notice = formerNotice(row, name);
    if (notice !== undefined) throw new OperationError("renamed", notice);
    return row;
  }

  #known(id: string): CapabilityRow {
    const row = this.#book.get(id);
    if (row && row.state !== "released") return row;
    throw new RegistryError("unknown_capability", this.#absent(id, row));
  }

  #find(name: string): CapabilityRow | undefined {
    const rows = this.#book.rows();
    return (
      this.#book.get(name) ??
      rows.find((row) => row.namespace === name) ??
      rows.find((row) => row.formerNamespaces.includes(name))
    );
  }

  #absent(name: string, row: CapabilityRow | undefined): string {
    if (row?.state === "requested")
      return `Capability ${name} is not attached yet${row.problem ? `: ${row.problem.message}` : "."}`;
    if (row) return detachedMessage(name);
    const names = this.list().map(({ namespace }) => namespace);
    return `There is no capability ${name.slice(0, 200)}.${hint(name, names)}`;
  }

  #watchRequested(): void {
    for (const { id, state } of this.list()) if (state === "requested") this.#retries.failed(id);
  }

  /** Ends all calls and closes all connectors; what is attached stays so in the rows. */
  async close(): Promise<void> {
    this.#retries.close();
    this.#attaching.close(stopping());
    await this.#connections.close(stopping());
  }
}

/** What a row lends is large: it is another one only where it was made anew. */
function isSameRow(
  { operations, formerProperties, ...a }: CapabilityRow,
  { operations: lent, formerProperties: former, ...b }: CapabilityRow,
): boolean {
  if (operations !== lent || formerProperties !== former) return false;
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted(row: object): [string, unknown][] {
  return Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1));
}

function isMany<T>(given: T | readonly T[]): given is readonly T[] {
  return Array.isArray(given);
}

function stopping(): OperationError {
  return new OperationError(
    "detached",
    "The host is stopping: nothing can be called until it is back.",
  );
}

/** What is said to who calls a capability as it was called before. */
function formerNotice(row: CapabilityRow, name: string): string | undefined {
  const isFormer = row.id !== name && row.namespace !== name;
  return isFormer ? renameNotice(row.id, name, row.namespace).message : undefined;
}

function unknownOperation(row: CapabilityRow, operation: string): OperationError {
  const names = row.operations.map(({ property }) => property);
  return new OperationError(
    "unknown_operation",
    `${row.namespace} has no operation ${operation.slice(0, 200)}.${hint(operation, names)}`,
  );
}
