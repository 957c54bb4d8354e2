// A store and its one owner: the lease, the database, the runtime on top; and their end in the opposite order.

import { openOwner, type Owner, type OwnerOptions, type Platform, type Sql } from "@lichen/runtime";
import { acquireLease, openSql } from "@lichen/runtime/node";

export interface StoreOptions extends Pick<
  OwnerOptions,
  "capacity" | "only" | "approvalTtlMs" | "meta"
> {
  readonly platform: Platform;
  /** Stands between the runtime and the database. */
  readonly aroundSql?: (sql: Sql) => Sql;
}

export interface OpenStore {
  readonly owner: Owner;
  /** Lets runs end by themselves for `patienceMs`, leaves the rest to the next opening, and gives the lease back. */
  close(options?: { patienceMs?: number }): Promise<void>;
}

/** Opens the store at `path` (`:memory:` keeps it in memory) as its owner; `unavailable` while another owner lives. */
export async function openStore(path: string, options: StoreOptions): Promise<OpenStore> {
  const { aroundSql = (sql: Sql) => sql, ...rest } = options;
  const lease = path === ":memory:" ? undefined : await acquireLease(path);
  try {
    const file = await openSql(path, {
      onSyncFailure: (error) => options.platform.lost(error),
    });
    try {
      const owner = openOwner({ sql: aroundSql(file.sql), ...rest });
      return {
        owner,
        close: async (closing) => {
          try {
            await owner.close(closing);
          } finally {
            await file.close();
            lease?.release();
          }
        },
      };
    } catch (error) {
      await file.close();
      throw error;
    }
  } catch (error) {
    lease?.release();
    throw error;
  }
}
