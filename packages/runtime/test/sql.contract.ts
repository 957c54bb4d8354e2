import { expect, test } from "vitest";
import type { Sql } from "../src/store/sql.ts";

/** Hands `body` one empty database of this host, wherever that host lets a database be touched. */
export type WithSql = (body: (sql: Sql) => void | Promise<void>) => void | Promise<void>;

const values = (sql: Sql): number[] =>
  sql.all<{ n: number }>("select n from item order by n").map((row) => row.n);
const add = (sql: Sql, n: number): void => sql.run("insert into item (n) values (?)", n);

/** What the storage port promises on any host. Run once per host. */
export function sqlContract(host: string, withSql: WithSql): void {
  const check = (name: string, body: (sql: Sql) => void | Promise<void>): void =>
    test(`${name} (${host})`, () =>
      withSql((sql) => {
        sql.run("create table item (n integer primary key, bytes blob, text text)");
        return body(sql);
      }));

  check("[S1] a transaction that returns keeps what it wrote and hands out its result", (sql) => {
    expect(sql.inTransaction()).toBe(false);
    const result = sql.transact(() => {
      add(sql, 1);
      expect(sql.inTransaction()).toBe(true);
      return "done";
    });
    expect(result).toBe("done");
    expect(sql.inTransaction()).toBe(false);
    expect(values(sql)).toEqual([1]);
  });

  check("[S1] a transaction that throws undoes all it wrote and throws the same error", (sql) => {
    const refusal = new Error("no");
    const attempt = (): void =>
      sql.transact(() => {
        add(sql, 1);
        sql.transact(() => add(sql, 2));
        throw refusal;
      });
    expect(attempt).toThrow(refusal);
    expect(values(sql)).toEqual([]);
    expect(sql.inTransaction()).toBe(false);
  });

  check("[S2] a nested transaction that throws undoes only itself", (sql) => {
    sql.transact(() => {
      add(sql, 1);
      expect(() =>
        sql.transact(() => {
          add(sql, 2);
          sql.transact(() => add(sql, 3));
          throw new Error("inner");
        }),
      ).toThrow("inner");
      expect(sql.inTransaction()).toBe(true);
      sql.transact(() => add(sql, 4));
    });
    expect(values(sql)).toEqual([1, 4]);
  });

  check("[S2] a statement that a constraint refuses leaves its transaction usable", (sql) => {
    sql.transact(() => {
      add(sql, 1);
      expect(() => sql.transact(() => add(sql, 1))).toThrow(/UNIQUE|constraint/i);
      add(sql, 2);
    });
    expect(values(sql)).toEqual([1, 2]);
  });

  check("[S3] bytes come back as Uint8Array, equal, also empty and half a MiB of them", (sql) => {
    const large = new Uint8Array(524_288).map((_, index) => index % 251);
    sql.run("insert into item (n, bytes) values (1, ?), (2, ?)", large, new Uint8Array());
    const rows = sql.all<{ bytes: Uint8Array }>("select bytes from item order by n");
    expect(rows[0]!.bytes).toBeInstanceOf(Uint8Array);
    expect(rows[0]!.bytes.length).toBe(large.length);
    expect(rows[0]!.bytes.every((byte, index) => byte === index % 251)).toBe(true);
    expect(rows[1]!.bytes).toEqual(new Uint8Array());
  });

  check("[S3] integers up to 2^53 - 1, fractions, text of any script and null come back", (sql) => {
    const most = Number.MAX_SAFE_INTEGER;
    const text = "Grüße, 日本, 👩‍👩‍👧, \u0301";
    sql.run("insert into item (n, text) values (?, ?), (?, ?)", most, text, -most, null);
    expect(
      sql.all<{ n: number; text: string | null }>("select n, text from item order by n"),
    ).toEqual([
      { n: -most, text: null },
      { n: most, text },
    ]);
    expect(sql.all<{ x: number }>("select ? as x", 0.5)[0]!.x).toBe(0.5);
  });

  check("[S3] a hundred parameters fit in one statement", (sql) => {
    const many = Array.from({ length: 100 }, (_, index) => index);
    sql.run(`insert into item (n) values ${many.map(() => "(?)").join(", ")}`, ...many);
    expect(values(sql)).toEqual(many);
  });

  check("[S3] a parameter that hosts store differently is refused by all of them", (sql) => {
    const loose: readonly unknown[] = [true, undefined, 1n];
    for (const value of loose)
      expect(() => sql.run("insert into item (text) values (?)", value as string)).toThrow(
        TypeError,
      );
    expect(values(sql)).toEqual([]);
  });

  check("[S4] durable settles after commits, however many ask at once", async (sql) => {
    await sql.durable();
    for (let n = 1; n <= 3; n++) add(sql, n);
    await Promise.all([sql.durable(), sql.durable(), sql.durable()]);
    expect(values(sql)).toEqual([1, 2, 3]);
  });

  check("[S1] full-text tables, triggers and recursive queries work inside transactions", (sql) => {
    sql.transact(() => {
      sql.run(
        "create virtual table words using fts5(text, content='', contentless_delete=1, tokenize='trigram remove_diacritics 1')",
      );
      sql.run("insert into words (rowid, text) values (7, 'grüße')");
    });
    expect(sql.all("select rowid from words where words match ?", '"RUSS" OR "rüß"')).toEqual([
      { rowid: 7 },
    ]);
  });
}
