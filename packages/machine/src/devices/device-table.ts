// `devices.db`: the devices of a machine's owner, each with the digest of its key. A key itself is never kept.

import { openPrivateDb, type PrivateDb } from "@lichen/server/node";
import type { DeviceKind } from "@lichen/wire";
import * as z from "zod";

export interface DeviceRow {
  readonly id: string;
  readonly name: string;
  readonly look: string;
  readonly kind: DeviceKind;
  /** SHA-256 of its key in hex; null where a mesh's proof is its credential. */
  readonly sha256: string | null;
  /** The mesh peer that it is. */
  readonly peer: string | null;
  /** Epoch milliseconds. */
  readonly created: number;
  readonly seen: number | null;
}

const version = 1;
const schema = `
  create table if not exists device (
    id text primary key, name text not null, look text not null, kind text not null, sha256 text, peer text,
    created integer not null, seen integer, revoked integer
  ) strict;
  create unique index if not exists device_look on device (look) where revoked is null;
  create unique index if not exists device_peer on device (peer) where revoked is null;
`;
/** Devices that were sent away and are still on record. */
const keptRevoked = 200;

const Row = z.object({
  id: z.string(),
  name: z.string(),
  look: z.string(),
  kind: z.enum(["owner", "viewer"]),
  sha256: z.string().nullable(),
  peer: z.string().nullable(),
  created: z.number(),
  seen: z.number().nullable(),
});

export class DeviceTable {
  readonly #file: PrivateDb;

  private constructor(file: PrivateDb) {
    this.#file = file;
  }

  static async open(path: string): Promise<DeviceTable> {
    return new DeviceTable(
      await openPrivateDb({ path, schema, version, again: "pair your devices again" }),
    );
  }

  /** All that were not revoked, oldest first. */
  all(): DeviceRow[] {
    const file = this.#file;
    return file.look(() =>
      file.db
        .prepare(
          "select id, name, look, kind, sha256, peer, created, seen from device where revoked is null order by created, id",
        )
        .all()
        .map((row) => Row.parse(row)),
    );
  }

  add(row: DeviceRow): void {
    this.#run(
      "insert into device (id, name, look, kind, sha256, peer, created, seen) values (?, ?, ?, ?, ?, ?, ?, ?)",
      ...[row.id, row.name, row.look, row.kind, row.sha256, row.peer, row.created, row.seen],
    );
  }

  change({ id, name, look, kind }: DeviceRow): void {
    this.#run("update device set name = ?, look = ?, kind = ? where id = ?", name, look, kind, id);
  }

  saw(id: string, at: number): void {
    this.#run("update device set seen = ? where id = ?", at, id);
  }

  /** Its key is gone from the file when this returns; that it was here stays on record for a while. */
  revoke(id: string, at: number): void {
    const file = this.#file;
    const { db } = file;
    file.change(() => {
      db.prepare("update device set revoked = ?, sha256 = null where id = ?").run(at, id);
      db.prepare(
        `delete from device where revoked is not null and id not in
         (select id from device where revoked is not null order by revoked desc limit ?)`,
      ).run(keptRevoked);
    });
  }

  close(): void {
    this.#file.close();
  }

  #run(sql: string, ...values: (string | number | null)[]): void {
    const file = this.#file;
    file.change(() => file.db.prepare(sql).run(...values));
  }
}
