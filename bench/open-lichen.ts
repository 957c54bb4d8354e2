// A Lichen owner on a store file, as a host opens it, for measuring without a host around it.

import { type Agent, type Engine, openOwner, type Owner, type Sql } from "@lichen/runtime";
import { acquireLease, nodePlatform, openSql } from "@lichen/runtime/node";
import { scriptedEngine } from "@lichen/runtime/testing";

export interface OpenLichen {
  readonly owner: Owner;
  readonly agent: Agent;
  readonly close: () => Promise<void>;
}

export interface OpenLichenOptions {
  /** A scripted engine that answers one delta unless given. */
  readonly engine?: Engine;
  readonly capacity?: number;
  /** Stands between the owner and its database. */
  readonly around?: (sql: Sql) => Sql;
}

/** What a run says at once: one delta, then the whole message. */
export function oneDelta(): Engine {
  return scriptedEngine([{ partials: ["Here you are."] }, { say: "Here you are." }]);
}

export async function openLichen(
  path: string,
  options: OpenLichenOptions = {},
): Promise<OpenLichen> {
  const lease = await acquireLease(path);
  const file = await openSql(path);
  const platform = nodePlatform({
    report: (error) => {
      throw error;
    },
  });
  const sql = options.around?.(file.sql) ?? file.sql;
  const { capacity } = options;
  const owner = openOwner({ sql, platform, ...(capacity === undefined ? {} : { capacity }) });
  const agent = await owner.attach({ agent: "bench", engine: options.engine ?? oneDelta() });
  return {
    owner,
    agent,
    close: async () => {
      await owner.close({ patienceMs: 0 });
      await file.close();
      lease.release();
    },
  };
}
