import { expect, test } from "vitest";
import type { Sql } from "../src/index.ts";
import { nextGeneration, openSchema } from "../src/store/schema.ts";
import { Writer } from "../src/store/writer.ts";
import { Clock, turns, until } from "./clock.ts";
import { Life } from "./life.ts";
import type { WithSql } from "./sql.contract.ts";
import { refusal } from "./stage.ts";

interface Bench {
  readonly clock: Clock;
  readonly life: Life;
  readonly writer: Writer;
  readonly reports: unknown[];
  readonly add: (n: number) => Promise<number>;
  readonly numbers: () => number[];
}

function bench(base: Sql): Bench {
  openSchema(base);
  base.run("create table item (n integer primary key)");
  const clock = new Clock();
  const reports: unknown[] = [];
  const life = new Life(
    base,
    clock,
    () => "x",
    (error) => reports.push(error),
  );
  const writer = new Writer(life.sql, life.platform, nextGeneration(base));
  return {
    clock,
    life,
    writer,
    reports,
    add: (n) =>
      writer.commit(() => {
        life.sql.run("insert into item values (?)", n);
        return n;
      }),
    numbers: () => base.all<{ n: number }>("select n from item order by n").map((it) => it.n),
  };
}

/** What the group writer promises on any host. */
export function writerContract(host: string, withSql: WithSql): void {
  const check = (name: string, body: (bench: Bench, sql: Sql) => Promise<void>): void =>
    test(`${name} (${host})`, () => withSql((sql) => body(bench(sql), sql)));

  check(
    "[S22] a member that throws leaves the others of its group untouched",
    async ({ add, writer, life, numbers }) => {
      const before = life.commits;
      const outcomes = await Promise.allSettled([
        add(1),
        add(2).then(() => add(1)),
        writer.commit(() => {
          life.sql.run("insert into item values (7)");
          throw new Error("no");
        }),
        add(3),
      ]);
      expect(outcomes.map((it) => it.status)).toEqual([
        "fulfilled",
        "rejected",
        "rejected",
        "fulfilled",
      ]);
      expect(numbers()).toEqual([1, 2, 3]);
      // The second 1 was alone in its group: nothing of that is left to commit.
      expect(life.commits - before).toBe(1);
    },
  );

  check(
    "[S22] what a member reserved in memory is given back when its writes are undone",
    async ({ writer, life }) => {
      let reserved = 0;
      const told: string[] = [];
      const reserve = (fails: boolean): Promise<void> =>
        writer.commit((tx) => {
          reserved++;
          tx.undo(() => void reserved--);
          tx.after(() => told.push("after"));
          tx.seal(() => {
            if (fails) throw new Error("sealed badly");
          });
        });
      await Promise.allSettled([reserve(false), reserve(true), reserve(false)]);
      expect(reserved).toBe(2);
      expect(told).toHaveLength(2);
      expect(life.commits).toBe(1);
    },
  );

  check(
    "[S23] nothing is told, resolved or refused before its group is durable",
    async ({ add, writer, life, numbers }) => {
      const release = life.holdSyncs();
      const told: string[] = [];
      const all: Promise<unknown>[] = [
        add(1).then(() => told.push("kept")),
        add(1).catch(() => told.push("refused")),
        writer.commit((tx) => tx.after(() => told.push("after"))),
      ];
      await until(() => numbers().length === 1, "the commit");
      await turns(10);
      expect(told).toEqual([]);
      release();
      await Promise.all(all);
      expect(told.toSorted((a, b) => a.localeCompare(b))).toEqual(["after", "kept", "refused"]);
    },
  );

  check(
    "[S23] listeners are told in the order of the commits, and one that throws harms no other",
    async ({ writer, life, reports }) => {
      const told: number[] = [];
      await Promise.all(
        Array.from({ length: 50 }, (_, n) =>
          writer.commit((tx) =>
            tx.after(() => {
              told.push(n);
              if (n === 7) throw new Error("a bug of a listener");
            }),
          ),
        ),
      );
      expect(told).toEqual(Array.from({ length: 50 }, (_, n) => n));
      expect(reports.splice(0)).toHaveLength(1);
      expect(life.isDead).toBe(false);
    },
  );

  check(
    "[S23] a full group does not wait for the sync before it, and is told after its own",
    async ({ add, life, numbers }) => {
      const release = life.holdSyncs();
      const first = add(0);
      await until(() => numbers().length === 1, "the first commit");
      const rest = Promise.all(Array.from({ length: 16 }, (_, n) => add(n + 1)));
      await until(() => numbers().length === 17, "the second commit");
      release();
      await Promise.all([first, rest]);
    },
  );

  check(
    "[S24] a group is at most 16 members, or 4 ms of them",
    async ({ add, writer, clock, life, numbers }) => {
      await Promise.all(Array.from({ length: 40 }, (_, n) => add(n)));
      expect(life.commits).toBe(3);
      const before = life.commits;
      await Promise.all(Array.from({ length: 6 }, () => writer.commit(() => clock.pass(2))));
      expect(life.commits - before).toBe(3);
      await Promise.all(Array.from({ length: 3 }, () => writer.commit(() => clock.pass(50))));
      expect(life.commits - before).toBe(6);
      expect(numbers()).toHaveLength(40);
    },
  );

  check(
    "[S25] where the whole transaction is lost every member is tried again alone",
    async ({ writer, life, numbers }) => {
      const tries = new Map<number, number>();
      let lost = 0;
      const kept: number[] = [];
      const add = (n: number): Promise<void> =>
        writer.commit((tx) => {
          tries.set(n, (tries.get(n) ?? 0) + 1);
          life.sql.run("insert into item values (?)", n);
          tx.undo(() => void lost++);
          tx.after(() => kept.push(n));
        });
      life.losesCommits = 1;
      await Promise.all([1, 2, 3, 4].map(add));
      expect(numbers()).toEqual([1, 2, 3, 4]);
      expect([...tries.values()]).toEqual([2, 2, 2, 2]);
      expect(lost).toBe(4);
      expect(kept).toEqual([1, 2, 3, 4]);
      life.losesCommits = 3;
      const outcomes = await Promise.allSettled([5, 6, 7, 8].map(add));
      expect(outcomes.map((it) => it.status)).toEqual([
        "rejected",
        "rejected",
        "fulfilled",
        "fulfilled",
      ]);
      expect(numbers()).toEqual([1, 2, 3, 4, 7, 8]);
      expect(kept).toEqual([1, 2, 3, 4, 7, 8]);
    },
  );

  check(
    "[S26] a writer whose generation is over writes nothing and faults stale",
    async ({ add, life, numbers }, sql) => {
      await add(1);
      nextGeneration(sql);
      expect(await Promise.all([2, 3, 4].map((n) => refusal(add(n))))).toEqual([
        "stale",
        "stale",
        "stale",
      ]);
      expect(await refusal(add(5))).toBe("stale");
      expect(numbers()).toEqual([1]);
      expect(life.isDead).toBe(false);
    },
  );

  check(
    "[S26] a waiting writer ends when all is written, and at once when a sync has failed",
    async ({ add, writer, life, reports }) => {
      const adding = Promise.all([1, 2, 3].map(add));
      await writer.idle();
      await adding;
      life.failSyncs(new Error("gone"));
      const failing = refusal(add(4));
      await writer.idle();
      expect(await failing).toContain("gone");
      expect(await refusal(add(5))).toContain("gone");
      expect(await refusal(writer.pending() ?? Promise.resolve())).toContain("gone");
      expect(reports.splice(0)).toHaveLength(1);
    },
  );
}
