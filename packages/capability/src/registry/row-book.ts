// The book of rows: what is stored as it stands in memory, the surface made of it, and the one way to change both.
//
//   G6  A batch is written in one transaction or not at all, and tells one event; what changes nothing that can be
//       called tells none.
//   G7  An event is told after its commit. One that a crash kept from being told is told when the registry starts
//       again, the same and in its order.
//
// Changes take turns; memory follows once a commit has settled, so nothing is shown that is not stored.

import { buildSurface, surfaceOf } from "../surface/build-surface.ts";
import type { Surface } from "../surface/surface.ts";
import type { CapabilityRow } from "./capability-row.ts";
import { RegistryError } from "./registry-error.ts";
import type { RenameNotice, SurfaceEvent } from "./surface-event.ts";

/** Where events wait from their commit until they were told. Left out, those that a crash swallows are lost. */
export interface Outbox {
  /** Oldest first. */
  unsent(): readonly SurfaceEvent[];
  /** Called inside the transaction of the rows. */
  put(event: SurfaceEvent): void;
  /** The event of this revision was told. */
  sent(revision: number): void | Promise<void>;
}

export interface RowStorage {
  readRows(): readonly CapabilityRow[];
  /** Writes the row in place of `before`, which is the row that is stored now. */
  persistRow(row: CapabilityRow, before: CapabilityRow | undefined): void;
  /** Runs `body` (it may run twice, the first time undone) in a transaction, and settles once that is durable. Without it more than one row at once is refused. */
  transaction?<T>(body: () => T): T | Promise<T>;
  emitEvent(event: SurfaceEvent): void;
  readonly outbox?: Outbox;
  /** SHA-256 of UTF-8 text, as hex. */
  sha256(text: string): string;
  /** Tells of a bug that has no caller. */
  report?(error: unknown): void;
}

export class RowBook {
  readonly #storage: RowStorage;
  readonly #rows = new Map<string, CapabilityRow>();
  readonly #digests = new WeakMap<CapabilityRow, string>();
  #surface: Surface;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(storage: RowStorage) {
    this.#storage = storage;
    for (const row of storage.readRows()) this.#rows.set(row.id, row);
    this.#surface = buildSurface(this.#rows.values());
  }

  get(id: string): CapabilityRow | undefined {
    return this.#rows.get(id);
  }

  /** All rows, the released ones included. */
  rows(): CapabilityRow[] {
    return [...this.#rows.values()];
  }

  surface(): Surface {
    return this.#surface;
  }

  /** Tells what an earlier process committed and did not come to tell. */
  retell(): void {
    for (const event of this.#storage.outbox?.unsent() ?? []) this.#tell(event);
  }

  /** Runs `work` when the changes before it are over; nothing else changes the book meanwhile. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work, work);
    this.#turn = turn.catch(() => {
      // Whoever asked for that change was told.
    });
    return turn;
  }

  /** Writes rows; for use in `exclusive`. Answers them as they are stored. */
  async commit(
    changed: readonly CapabilityRow[],
    notices: readonly RenameNotice[] = [],
  ): Promise<CapabilityRow[]> {
    const { rows, surface, event } = this.#after(changed, notices);
    const write = (): void => {
      for (const row of rows) this.#storage.persistRow(row, this.#rows.get(row.id));
      if (event) this.#storage.outbox?.put(event);
    };
    if (this.#storage.transaction) await this.#storage.transaction(write);
    else if (rows.length > 1)
      throw new RegistryError(
        "no_transaction",
        `${rows.length} capabilities cannot change together here, since there is no transaction: change one at a time.`,
      );
    else write();
    for (const row of rows) this.#rows.set(row.id, row);
    this.#surface = surface;
    if (event) this.#tell(event);
    return rows;
  }

  #after(
    changed: readonly CapabilityRow[],
    notices: readonly RenameNotice[],
  ): { rows: CapabilityRow[]; surface: Surface; event?: SurfaceEvent } {
    const visible = changed.filter((row) => this.#changesSurface(row)).map(({ id }) => id);
    if (visible.length === 0) return { rows: [...changed], surface: this.#surface };
    const revision = this.#surface.revision + 1;
    const rows = changed.map((row) =>
      visible.includes(row.id) ? this.#revised(row, revision) : row,
    );
    const all = new Map([
      ...this.#rows,
      ...rows.map((row): [string, CapabilityRow] => [row.id, row]),
    ]);
    const surface = buildSurface(all.values());
    const digest = this.#storage.sha256(
      surface.namespaces.map(({ id }) => `${id} ${this.#seen(all.get(id))}`).join("\n"),
    );
    return { rows, surface, event: { revision, digest, changed: visible, notices } };
  }

  #revised(row: CapabilityRow, revision: number): CapabilityRow {
    const revised = { ...row, revision };
    const digest = this.#digests.get(row);
    if (digest !== undefined) this.#digests.set(revised, digest);
    return revised;
  }

  #changesSurface(row: CapabilityRow): boolean {
    const before = this.#rows.get(row.id);
    return this.#seen(before) !== this.#seen(row);
  }

  /** Digest of what the row adds to the surface; empty where that is nothing. Rows are large and never change. */
  #seen(row: CapabilityRow | undefined): string {
    const namespace = row && surfaceOf(row);
    if (!namespace) return "";
    const known = this.#digests.get(row);
    if (known !== undefined) return known;
    const text = JSON.stringify([namespace, row.formerNamespaces]);
    const digest = this.#storage.sha256(text);
    this.#digests.set(row, digest);
    return digest;
  }

  #tell(event: SurfaceEvent): void {
    const storage = this.#storage;
    try {
      storage.emitEvent(event);
      const done = storage.outbox?.sent(event.revision);
      if (done) void done.catch((error: unknown) => storage.report?.(error));
    } catch (error) {
      storage.report?.(error);
    }
  }
}
