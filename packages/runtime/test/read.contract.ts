import { expect } from "vitest";
import { turns } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, line, refusal } from "./stage.ts";

const through = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

/** What reading a session promises on any host. */
export function readContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[O5] a baseline holds at most 200 entries and a mebibyte, the newest, oldest first",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      for (let n = 1; n <= 250; n++) await session.send(line(`l${n}`));
      const page = await session.read();
      expect(page.entries.map((it) => it.seq)).toEqual(through(51, 250));
      expect(page).toMatchObject({ head: 250, more: true });
      expect((await session.read({ before: 51 })).entries.map((it) => it.seq)).toEqual(
        through(1, 50),
      );
      expect((await session.read({ before: 51 })).more).toBe(false);
      expect((await session.read({ limit: 3, before: 10 })).entries.map((it) => it.seq)).toEqual([
        7, 8, 9,
      ]);
      expect((await session.read({ before: 1 })).entries).toEqual([]);
      expect((await session.read({ limit: 1 })).entries.map((it) => it.seq)).toEqual([250]);
      for (let n = 1; n <= 60; n++) await session.send(line(`big${n}`, `${n}`.padEnd(30_000, "x")));
      const large = await session.read();
      expect(JSON.stringify(large.entries).length).toBeLessThan(1_048_576 + 1_000);
      expect(large.entries.length).toBeGreaterThan(30);
      expect(large.more).toBe(true);
      expect((await entriesOf(session)).map((it) => it.seq)).toEqual(through(1, 310));
      for (const [limit, before] of [
        [0, 1],
        [201, 1],
        [1.5, 1],
        [Number.NaN, 1],
        [1, 0],
        [1, -1],
        [1, 1.5],
      ])
        expect(await refusal(session.read({ limit: limit!, before: before! }))).toBe("invalid");
    },
  );

  check(
    "[O5] a page never leaves its session, however large the number it asks below",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      for (const id of ["one", "two", "three"])
        for (let n = 0; n < 3; n++) await life.session(id).send(line(`${id}-${n}`));
      for (const before of [
        4,
        5,
        2 ** 30 - 1,
        2 ** 30,
        2 ** 30 + 2,
        2 ** 31,
        2 ** 32 + 1,
        2 ** 40,
        Number.MAX_SAFE_INTEGER,
      ])
        for (const id of ["one", "two", "three"])
          expect(
            (await life.session(id).read({ before })).entries.map((it) => it.requestId),
          ).toEqual([`${id}-0`, `${id}-1`, `${id}-2`]);
    },
  );

  check(
    "[O8] addressing a session does no I/O, and an absent one is refused by whatever reads it",
    async (stage) => {
      const life = await stage.open();
      const before = life.commits;
      life.trouble = () => new Error("no I/O was expected");
      const session = life.agent.session("absent");
      life.trouble = undefined;
      expect(life.commits).toBe(before);
      for (const reads of [
        session.read(),
        session.info(),
        session.search({ q: "x" }),
        session.latestPending(),
        session.blob("x"),
      ])
        expect(await refusal(reads)).toBe("unknown_session");
    },
  );

  check(
    "[O8] a read that meets the session's creation answers or refuses, never nothing",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      await life.session("other").send(line("l"));
      for (let n = 0; n < 20; n++) {
        const session = life.session(`s${n}`);
        const release = life.holdSyncs();
        const busy = life.session("other").send(line(`l${n}`));
        await turns(3);
        const reads = [session.info(), session.read()].map((it) =>
          it.then(
            (value) => typeof value,
            () => "refused",
          ),
        );
        const sending = Promise.all(
          Array.from({ length: 16 }, (_, k) => session.send(line(`m${k}`))),
        );
        await turns(n % 4);
        release();
        await Promise.all([busy, sending]);
        for (const read of reads) expect(["object", "refused"]).toContain(await read);
      }
    },
  );
}
