import { foldBaseline } from "@lichen/wire";
import { expect } from "vitest";
import type { Frame } from "../src/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import { reading } from "./reader.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, line, prompt, refusal, run, sent, settled } from "./stage.ts";

const through = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

/** What reading and watching promise on any host. */
export function watchContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[O1] a watch gives its baseline and then every later entry once, in order",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      await run(session, "r0");
      const readers = [reading(session)];
      for (let n = 1; n < 20; n++) {
        readers.push(reading(session));
        await run(session, `r${n}`);
      }
      const head = (await session.info()).head;
      for (const reader of readers) {
        const [first] = reader.frames;
        expect(first!.type).toBe("baseline");
        const from = first!.type === "baseline" ? first!.data.head : -1;
        expect(reader.seqs).toEqual(through(from + 1, head));
      }
    },
  );

  check(
    "[O1] a watch that begins in the middle of many writes misses and repeats nothing",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      await session.send(line("first"));
      const readers: ReturnType<typeof reading>[] = [];
      const writes: Promise<unknown>[] = [];
      for (let n = 0; n < 60; n++) {
        writes.push(session.send(n % 3 ? line(`l${n}`) : prompt(`p${n}`)));
        if (n % 2) readers.push(reading(session));
        if (n % 5 === 0) await turns(1);
      }
      await Promise.all(writes);
      await until(async () => (await session.info()).state === "idle", "the end of all runs");
      const entries = await entriesOf(session);
      for (const reader of readers) {
        const [first] = reader.frames;
        if (first?.type !== "baseline") throw new Error("no baseline first");
        const seen = [...first.data.entries.map((it) => it.seq), ...reader.seqs];
        expect(seen).toEqual(entries.map((it) => it.seq));
        expect(reader.frames.flatMap((it) => (it.type === "entry" ? [it.data] : []))).toEqual(
          entries.slice(first.data.head),
        );
      }
    },
  );

  check(
    "[O1] nothing is shown before it is durable, whichever way the reader comes by it",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      await session.send(line("l1"));
      const { epoch } = await session.info();
      const even = reading(session);
      const slow = reading(session);
      slow.takes = 1;
      await session.send(line("l2"));
      const release = life.holdSyncs();
      const sending = session.send(line("l3"));
      await until(() => stage.sql.all("select 1 from entry").length === 3, "the commit");
      const fresh = reading(session);
      const back = reading(session, `${epoch}.1`);
      slow.resume();
      const iterated: Frame[] = [];
      const leaving = new AbortController();
      const iterating = (async () => {
        for await (const frame of session.watch({ after: `${epoch}.0`, signal: leaving.signal }))
          iterated.push(frame);
      })();
      let read: unknown;
      const asking = session.read().then((it) => (read = it));
      await turns(10);
      for (const reader of [even, slow, fresh, back]) expect(reader.seqs).not.toContain(3);
      for (const frame of fresh.frames)
        expect(frame.type === "baseline" && frame.data.head).not.toBe(3);
      expect(iterated.filter((it) => it.type === "entry" && it.data.seq === 3)).toEqual([]);
      expect(read).toBeUndefined();
      release();
      await sending;
      await asking;
      await turns(10);
      for (const reader of [even, slow, back]) expect(reader.seqs.at(-1)).toBe(3);
      expect(fresh.frames[0]).toMatchObject({ type: "baseline", data: { head: 3 } });
      expect(iterated.at(-1)).toMatchObject({ type: "entry", data: { seq: 3 } });
      leaving.abort();
      await iterating;
    },
  );

  check(
    "[O2] a reader that stalls is caught up from the log, in order, or gets one reset when it is far behind",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      await session.send(line("l0"));
      const near = reading(session);
      const far = reading(session);
      near.takes = 1;
      far.takes = 1;
      for (let n = 1; n <= 400; n++) await session.send(line(`l${n}`));
      expect(near.frames.length).toBeLessThanOrEqual(2);
      near.resume();
      expect(near.seqs).toEqual(through(2, 401));
      for (let n = 401; n <= 1_200; n++) await session.send(line(`l${n}`));
      far.resume();
      await turns(2);
      expect(far.types.filter((it) => it === "reset")).toHaveLength(1);
      expect(far.frames.findLast((it) => it.type === "reset")).toMatchObject({
        data: { head: 1_201 },
      });
      await session.send(line("last"));
      expect(far.seqs.at(-1)).toBe(1_202);
      expect(near.seqs).toEqual(through(2, 1_202));
    },
  );

  check("[O2] a reader that stalls at every frame still gets each once", async (stage) => {
    const life = await stage.open();
    const session = life.session();
    await run(session, "r0");
    const reader = reading(session);
    const from = reader.frames[0]!.type === "baseline" ? reader.frames[0]!.data.head : 0;
    let isRunning = true;
    const pumping = (async () => {
      while (isRunning) {
        reader.takes = 1;
        const before = reader.frames.length;
        await turns(1);
        if (reader.frames.length > before) reader.takes = 1;
        const { takes } = reader;
        reader.resume();
        reader.takes = Math.min(takes, 1);
      }
      reader.resume();
    })();
    for (let n = 1; n < 25; n++) await run(session, `r${n}`);
    isRunning = false;
    await pumping;
    expect(reader.seqs).toEqual(through(from + 1, (await session.info()).head));
  });

  check(
    "[O3] a cursor of this epoch resumes exactly; another, a future or a far one gets a reset",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      for (let n = 1; n <= 1_100; n++) await session.send(line(`l${n}`));
      const { epoch, head } = await session.info();
      for (const seq of [head, head - 1, head - 1_000])
        expect(reading(session, `${epoch}.${seq}`).seqs).toEqual(
          seq === head ? [] : through(seq + 1, head),
        );
      const others = [
        `${epoch}.${head - 1_001}`,
        `${epoch}.${head + 1}`,
        `other.${head}`,
        `${epoch}.9999999999`,
        "nonsense",
        "",
      ];
      for (const after of others) {
        const reader = reading(session, after);
        await turns(1);
        expect(reader.types).toEqual(["reset"]);
      }
      life.die();
      const next = await stage.open({ capacity: 0 });
      expect(reading(next.session(), `${epoch}.${head - 2}`).seqs).toEqual([head - 1, head]);
    },
  );

  check(
    "[O3] a cursor of a deleted session's epoch gets a reset in the one that took its name",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      await session.send(line("l1"));
      const { epoch } = await session.info();
      const reader = reading(session);
      await session.delete();
      expect(reader.ended).toBe("deleted");
      expect(await refusal(Promise.resolve().then(() => reading(session)))).toBe("unknown_session");
      await session.send(line("l2"));
      const again = reading(session, `${epoch}.1`);
      await turns(1);
      expect(again.types).toEqual(["reset"]);
      expect((await session.info()).epoch).not.toBe(epoch);
      expect(reader.seqs).toEqual([]);
    },
  );

  check(
    "[O7] a reader that throws, or leaves while it is told, disturbs no other",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      await session.send(line("l1"));
      const before = reading(session);
      let told = 0;
      session.observe({
        frame: (frame) => {
          told++;
          if (frame.type === "entry") throw new Error("a bug of a reader");
          return true;
        },
        end: () => {},
      });
      const leaving: string[] = [];
      const subscription = session.observe({
        frame: (frame) => {
          leaving.push(frame.type);
          if (frame.type === "entry") subscription.close();
          return true;
        },
        end: () => {},
      });
      let hostTold = 0;
      life.owner.observeHost({
        frame: () => {
          if (++hostTold === 2) throw new Error("a bug of a reader of the host");
          return true;
        },
        end: () => {},
      });
      const after = reading(session);
      await Promise.all(Array.from({ length: 5 }, (_, n) => session.send(line(`m${n}`))));
      await session.send(line("last"));
      expect(before.seqs).toEqual(through(2, 7));
      expect(after.seqs).toEqual(through(2, 7));
      expect(told).toBe(2);
      expect(hostTold).toBe(2);
      expect(leaving).toEqual(["baseline", "entry"]);
      expect(stage.reports.splice(0)).toHaveLength(2);
    },
  );

  check("[O7] closing a watch, or leaving its iterator, cancels no work", async (stage) => {
    const held = gate();
    const life = await stage.open({ engine: [{ gate: held.opened }, { say: "ok" }] });
    const session = life.session();
    const id = await sent(session, prompt("r1"));
    const reader = reading(session);
    reader.close();
    const count = reader.frames.length;
    for await (const frame of session.watch()) {
      expect(frame.type).toBe("baseline");
      break;
    }
    const aborted = AbortSignal.abort();
    for await (const frame of session.watch({ signal: aborted })) throw new Error(frame.type);
    held.open();
    expect((await settled(session, id)).terminal).toBe("completed");
    expect(reader.frames).toHaveLength(count);
  });

  check(
    "[O8] an iterated watch of a reader that is slow folds to what is read, and ends with its session or host",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      await run(session, "r0");
      const watching = (async () => {
        let folded;
        for await (const frame of session.watch()) {
          if (frame.type === "baseline" || frame.type === "reset") folded = frame.data;
          if (frame.type === "entry") folded = foldBaseline(folded!, frame.data);
          await turns(3);
        }
        return folded;
      })();
      for (let n = 1; n < 12; n++) await run(session, `r${n}`);
      await turns(300);
      const read = await session.read();
      await life.owner.close();
      expect(await watching).toEqual(read);
      expect(await refusal(Promise.resolve().then(() => reading(session)))).toBe("unavailable");
    },
  );

  check(
    "[O9] a sync that failed lets nothing out: neither answers nor reads nor frames",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      await session.send(line("l1"));
      const reader = reading(session);
      life.failSyncs(new Error("the disk is gone"));
      expect(await refusal(session.send(line("l2")))).toContain("disk is gone");
      for (const reads of [session.read(), session.info(), life.agent.sessions()])
        expect(await refusal(reads)).toContain("disk is gone");
      expect(await refusal(session.send(line("l3")))).toContain("disk is gone");
      expect(reader.seqs).toEqual([]);
      await life.owner.close();
      expect(stage.reports.splice(0)).toHaveLength(1);
    },
  );
}
