import { expect } from "vitest";
import type { Engine } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, kindsOf, prompt, refusal, run, sent, settled } from "./stage.ts";

/** An engine that counts what runs at once, and holds every run until the test lets it go. */
function counted(): { engine: Engine; most: number; order: string[]; free: () => void } {
  const held = gate();
  let now = 0;
  const seen = {
    most: 0,
    order: [] as string[],
    free: () => held.open(),
    engine: scriptedEngine([{ gate: held.opened }, { say: "ok" }]),
  };
  const inner = seen.engine;
  seen.engine = {
    ...inner,
    open: (session, host) => {
      const connection = inner.open(session, host);
      return {
        close: () => connection.close(),
        async run(work, live) {
          now++;
          seen.most = Math.max(seen.most, now);
          seen.order.push(session.session);
          try {
            return await connection.run(work, live);
          } finally {
            now--;
          }
        },
      };
    },
  };
  return seen;
}

/** What the queue and the coordinator promise on any host. */
export function queueContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check("[Q1] a session runs one command at a time, sessions run side by side", async (stage) => {
    const seen = counted();
    const life = await stage.open({ engine: seen.engine });
    const ids = await Promise.all(
      ["one", "two", "three"].flatMap((id) =>
        [1, 2, 3].map(async (n) => [id, await sent(life.session(id), prompt(`r${n}`))] as const),
      ),
    );
    await until(() => seen.order.length === 3, "one of each session runs");
    await turns(10);
    expect(seen.order.toSorted()).toEqual(["one", "three", "two"]);
    seen.free();
    for (const [id, command] of ids)
      expect((await settled(life.session(id), command)).terminal).toBe("completed");
    expect(seen.most).toBe(3);
  });

  check(
    "[Q2] commands of a session run in the order of their admission, each after the end of the one before",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      const ids = await Promise.all(
        Array.from({ length: 30 }, (_, n) => sent(session, prompt(`r${n}`))),
      );
      for (const id of ids) await settled(session, id);
      const entries = await entriesOf(session);
      const of = (kind: string) =>
        entries.filter((it) => it.kind === kind).map((it) => it.commandId);
      expect(of("run.started")).toEqual(ids);
      expect(of("run.settled")).toEqual(ids);
      const running = entries.filter((it) => /^run\./.test(it.kind)).map((it) => it.kind);
      expect(running).toEqual(ids.flatMap(() => ["run.started", "run.settled"]));
    },
  );

  check("[Q3] no more than the capacity run at once, and all get their turn", async (stage) => {
    const seen = counted();
    const life = await stage.open({ engine: seen.engine, capacity: 3 });
    const ids = await Promise.all(
      Array.from({ length: 30 }, async (_, n) => {
        const session = life.session(`s${n}`);
        return [session, await sent(session, prompt("r"))] as const;
      }),
    );
    await until(() => life.owner.running() === 3, "three run");
    seen.free();
    for (const [session, id] of ids) await settled(session, id);
    expect(seen.most).toBe(3);
    await until(() => life.owner.running() === 0, "all ended");
    expect((await run(life.session("later"), "r")).terminal).toBe("completed");
  });

  check(
    "[Q3] places go to sessions in turn: one with a long queue does not hold up another",
    async (stage) => {
      const seen = counted();
      const life = await stage.open({ engine: seen.engine, capacity: 1 });
      const last: string[] = [];
      for (let n = 0; n < 10; n++) last.push(await sent(life.session("busy"), prompt(`r${n}`)));
      const other = await sent(life.session("other"), prompt("r"));
      seen.free();
      await settled(life.session("other"), other);
      await settled(life.session("busy"), last.at(-1)!);
      expect(seen.order.indexOf("other")).toBeLessThanOrEqual(2);
    },
  );

  check(
    "[Q3] runs that wait for a person give their place to others and take it back, however many they ask",
    async (stage) => {
      const seen = counted();
      const asking = scriptedEngine([
        {
          calls: [1, 2, 3].map((n) => ({ name: `tool${n}`, label: "write" as const, confirm: {} })),
        },
        { say: "ok" },
      ]);
      const life = await stage.open({
        capacity: 1,
        engine: {
          ...seen.engine,
          open: (session, host) =>
            (session.session === "asks" ? asking : seen.engine).open(session, host),
        },
      });
      const asked = await sent(life.session("asks"), prompt("r"));
      await until(async () => (await life.session("asks").info()).approvals === 3, "it asks");
      const ids = await Promise.all(
        Array.from({ length: 6 }, (_, n) => sent(life.session(`s${n}`), prompt("r"))),
      );
      await until(() => seen.order.length > 0, "another runs");
      await turns(20);
      expect(seen.order).toHaveLength(1);
      for (const [n, { approvalId }] of (await life.session("asks").read()).approvals.entries())
        await life
          .session("asks")
          .send({ type: "answer", requestId: `a${n}`, approvalId, allow: true });
      expect((await settled(life.session("asks"), asked)).terminal).toBe("completed");
      seen.free();
      for (const [n, id] of ids.entries()) await settled(life.session(`s${n}`), id);
      expect(seen.most).toBe(1);
    },
  );

  check(
    "[Q3] an engine that ends while its question is open keeps no place and loses none",
    async (stage) => {
      const seen = counted();
      const careless: Engine = {
        ...seen.engine,
        open: (session, host) =>
          session.session === "asks"
            ? {
                close: () => Promise.resolve(),
                run: async (_work, live) => {
                  live.ask({ key: "q", kind: "question" }).catch(() => {
                    // It does not wait for the answer.
                  });
                  await until(() => stage.sql.all("select 1 from approval").length > 0, "asked");
                  return { terminal: "completed", answer: "never mind" };
                },
              }
            : seen.engine.open(session, host),
      };
      const life = await stage.open({ capacity: 1, engine: careless });
      expect((await run(life.session("asks"), "r")).answer).toBe("never mind");
      expect((await life.session("asks").info()).approvals).toBe(0);
      expect(await kindsOf(life.session("asks"))).toContain("approval.withdrawn");
      const ids = await Promise.all(
        Array.from({ length: 4 }, (_, n) => sent(life.session(`s${n}`), prompt("r"))),
      );
      await until(() => seen.order.length > 0, "another runs");
      await turns(20);
      expect(seen.order).toHaveLength(1);
      seen.free();
      for (const [n, id] of ids.entries()) await settled(life.session(`s${n}`), id);
      expect(seen.most).toBe(1);
    },
  );

  check(
    "[Q4] a run that does not end after its cancellation is settled without it, and writes no more",
    async (stage) => {
      const late = gate();
      let writing: Promise<string[]> | undefined;
      const life = await stage.open({
        engine: {
          ...scriptedEngine(),
          open: () => ({
            close: () => Promise.resolve(),
            run: async (_work, live) => {
              await late.opened;
              const append = live.append([
                { kind: "message.assistant", data: { content: [], stop: "stop" } },
              ]);
              writing ??= Promise.all([
                refusal(append),
                refusal(live.ask({ key: "q", kind: "question" })),
              ]);
              return { terminal: "completed" };
            },
          }),
        },
      });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const other = await sent(session, prompt("r2"));
      await session.send({ type: "cancel", requestId: "c", commandId: id });
      await turns(10);
      expect(await session.readSettlement(id)).toBeUndefined();
      await stage.clock.advance(10_000);
      expect((await settled(session, id)).terminal).toBe("cancelled");
      late.open();
      expect((await settled(session, other)).terminal).toBe("completed");
      expect(await writing).toEqual(["stale", expect.any(String)]);
      const entries = await entriesOf(session);
      const end = entries.findIndex((it) => it.kind === "run.settled" && it.commandId === id);
      expect(entries.slice(end + 1).filter((it) => it.commandId === id)).toEqual([]);
      expect((await session.info()).approvals).toBe(0);
    },
  );

  check(
    "[Q4] what an engine still writes beside its result is refused once the command is settled",
    async (stage) => {
      const late: Promise<string>[] = [];
      const life = await stage.open({
        engine: {
          ...scriptedEngine(),
          open: () => ({
            close: () => Promise.resolve(),
            run: async (_work, live) => {
              // In the very turn in which the settlement is written, and in the ones after.
              for (let n = 0; n < 6; n++)
                late.push(
                  turns(n).then(() =>
                    refusal(
                      n % 2
                        ? live.ask({ key: `q${n}`, kind: "question" })
                        : live.append([
                            { kind: "message.assistant", data: { content: [], stop: "stop" } },
                          ]),
                    ),
                  ),
                );
              return { terminal: "completed", answer: "done" };
            },
          }),
        },
      });
      const session = life.session();
      const release = life.holdSyncs();
      const sending = sent(session, prompt("r1"));
      await until(
        () => late.length > 0 || stage.sql.all("select 1 from request").length > 0,
        "begun",
      );
      release();
      const id = await sending;
      await settled(session, id);
      await Promise.all(late);
      const entries = await entriesOf(session);
      const end = entries.findIndex((it) => it.kind === "run.settled");
      expect(entries.slice(end + 1)).toEqual([]);
      expect((await session.info()).approvals).toBe(0);
    },
  );

  check("[Q5] a settlement that could not be written is tried until it is", async (stage) => {
    const held = gate();
    const life = await stage.open({ engine: [{ gate: held.opened }, { say: "done" }] });
    const session = life.session();
    const id = await sent(session, prompt("r1"));
    await until(() => life.owner.running() === 1, "it runs");
    let tries = 0;
    life.trouble = (statement) =>
      statement.startsWith("insert into entry") && ++tries > 0
        ? Object.assign(new Error("the disk is full"), { name: "Fault", code: "unavailable" })
        : undefined;
    held.open();
    await until(() => tries === 1, "the first try");
    await turns(10);
    await stage.clock.advance(500);
    await stage.clock.advance(1_000);
    expect(tries).toBe(3);
    expect(await session.readSettlement(id)).toBeUndefined();
    life.trouble = undefined;
    await stage.clock.advance(30_000);
    expect(await settled(session, id)).toMatchObject({ terminal: "completed", answer: "done" });
    expect(stage.reports.splice(0)).toHaveLength(3);
  });

  check(
    "[Q5] a result that cannot be written, whatever the disk does, settles failed",
    async (stage) => {
      const life = await stage.open({
        engine: {
          ...scriptedEngine(),
          open: () => ({
            close: () => Promise.resolve(),
            run: async () => ({
              terminal: "completed",
              entries: [
                {
                  kind: "message.tool",
                  data: {
                    assistant: "ent_none_1",
                    index: 0,
                    callId: "c",
                    name: "n",
                    content: [],
                    isError: false,
                  },
                },
              ],
            }),
          }),
        },
      });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      await until(() => stage.reports.length > 0, "it is reported");
      await stage.clock.advance(60_000);
      expect((await settled(session, id)).terminal).toBe("failed");
      stage.reports.splice(0);
      expect((await session.info()).state).toBe("idle");
    },
  );

  check(
    "[Q8] an engine that throws at once, rejects, or answers nonsense settles failed and runs the next",
    async (stage) => {
      const life = await stage.open({
        engine: {
          ...scriptedEngine(),
          open: (session) => {
            if (session.session === "open") throw new Error("cannot open");
            return {
              close: () => {
                throw new Error("cannot close");
              },
              run: (work) => {
                if (work.text === "text of throws") throw new Error("thrown\nin the face");
                if (work.text === "text of rejects")
                  return Promise.reject(new Error("x".repeat(5_000)));
                if (work.text === "text of nothing") return undefined as never;
                return Promise.resolve({ terminal: "completed", answer: "fine" });
              },
            };
          },
        },
      });
      const open = await sent(life.session("open"), prompt("r"));
      expect(await settled(life.session("open"), open)).toMatchObject({
        terminal: "failed",
        diagnostic: "cannot open",
      });
      const session = life.session();
      const ids = [];
      for (const r of ["throws", "rejects", "nothing", "fine"])
        ids.push(await sent(session, prompt(r)));
      const ends = [];
      for (const id of ids) ends.push(await settled(session, id));
      expect(ends.map((it) => it.terminal)).toEqual(["failed", "failed", "failed", "completed"]);
      expect(ends[0]!.diagnostic).toBe("thrown in the face");
      expect(ends[1]!.diagnostic).toHaveLength(1_024);
      expect(stage.reports.splice(0).length).toBeGreaterThan(0);
    },
  );

  check(
    "[Q9] an engine opens a run that nobody admitted, labelled with its source",
    async (stage) => {
      const works: unknown[] = [];
      let wake: ((text: string) => Promise<{ commandId: string }>) | undefined;
      const inner = scriptedEngine([{ say: "ok" }], { onRun: (work) => void works.push(work) });
      const life = await stage.open({
        engine: {
          ...inner,
          open: (session, house) => {
            wake = (text) => house.outside({ source: "cron", text });
            return { ...inner.open(session, house), stays: true };
          },
        },
      });
      const session = life.session();
      await run(session, "r1");
      const { commandId } = await wake!("time to look");
      expect((await settled(session, commandId)).terminal).toBe("completed");
      expect(works.at(-1)).toMatchObject({ type: "outside", source: "cron", text: "time to look" });
      expect((await entriesOf(session)).find((it) => it.commandId === commandId)).toMatchObject({
        kind: "command.queued",
        data: { type: "outside", source: "cron", text: "time to look" },
      });
      await session.delete();
      expect(await refusal(wake!("gone"))).toBe("closed");
    },
  );
}
