import { expect } from "vitest";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { gate, prompt, refusal, run, sent, settled } from "./stage.ts";

const usage = (n: number) => ({
  input: n,
  output: 2 * n,
  cacheRead: 1,
  cacheWrite: 0,
  cost: n / 4,
});

/** What settlements promise on any host. */
export function settlementContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[T1] a settlement holds the terminal, the final answer, the usage and the number of calls, for ever",
    async (stage) => {
      const life = await stage.open({
        engine: [
          { calls: [{ name: "a" }, { name: "b" }], text: "let me see", usage: usage(1) },
          { say: "the answer", usage: usage(2) },
        ],
      });
      const session = life.session();
      const settlement = await run(session, "r1");
      expect(settlement).toEqual({
        commandId: settlement.commandId,
        terminal: "completed",
        answer: "the answer",
        usage: { input: 3, output: 6, cacheRead: 2, cacheWrite: 0, cost: 0.75 },
        toolCalls: 2,
        at: new Date(stage.clock.now()).toISOString(),
      });
      await session.restart();
      await run(session, "r2");
      expect((await session.info()).usage).toEqual({
        input: 6,
        output: 12,
        cacheRead: 4,
        cacheWrite: 0,
        cost: 1.5,
      });
      life.die();
      const next = await stage.open();
      expect(await next.session().readSettlement(settlement.commandId)).toEqual(settlement);
    },
  );

  check("[T1] an answer of any length and script is whole in its settlement", async (stage) => {
    const answers = ["", "é日本👩‍👩‍👧", "long ".repeat(300_000), "\u0000", "\ud800 half".repeat(9_000)];
    const life = await stage.open({ engine: (work) => [{ say: answers[Number(work.text)]! }] });
    for (const [n, answer] of answers.entries()) {
      const id = await sent(life.session(), prompt(`r${n}`, { text: `${n}` }));
      expect((await settled(life.session(), id)).answer).toBe(answer);
    }
  });

  check("[T1] usage that stands in no entry is counted too", async (stage) => {
    const life = await stage.open({
      engine: scriptedEngine([{ say: "ok", usage: usage(1) }], {
        onRun: (_, live) => live.addUsage(usage(3)),
      }),
    });
    expect((await run(life.session(), "r1")).usage).toMatchObject({ input: 4, output: 8 });
  });

  check(
    "[T2] a failure carries one bounded line of diagnostic and no answer; other ends carry none",
    async (stage) => {
      const life = await stage.open({
        engine: (work) =>
          work.text === "text of bad"
            ? [{ say: "half" }, { fail: `no\n  model ${"é".repeat(2_000)}` }]
            : [{ say: "ok" }],
      });
      const bad = await run(life.session(), "bad");
      expect(bad).toMatchObject({ terminal: "failed", answer: "" });
      expect(bad.diagnostic).toMatch(/^no model é+$/);
      expect(bad.diagnostic!.length).toBeLessThanOrEqual(1_024);
      expect(await run(life.session(), "good")).not.toHaveProperty("diagnostic");
    },
  );

  check(
    "[T2] a recorded cancellation settles cancelled with its metadata, though the engine says completed",
    async (stage) => {
      const held = gate();
      const life = await stage.open({
        engine: {
          ...scriptedEngine(),
          open: () => ({
            close: () => Promise.resolve(),
            run: async () => {
              await held.opened;
              return { terminal: "completed", answer: "I did it anyway" };
            },
          }),
        },
      });
      const id = await sent(life.session(), prompt("r1"));
      const by = life.agent.withMeta({ who: "ops" }).session("s");
      await by.send({ type: "cancel", requestId: "c", commandId: id });
      held.open();
      expect(await settled(life.session(), id)).toMatchObject({
        terminal: "cancelled",
        answer: "",
        meta: { who: "ops" },
      });
    },
  );

  check("[T3] what a run leaves open ends with it", async (stage) => {
    const held = gate();
    const life = await stage.open({
      engine: {
        ...scriptedEngine(),
        open: () => ({
          close: () => Promise.resolve(),
          run: async (_work, live) => {
            const [entry] = await live.append([
              {
                kind: "message.assistant",
                data: {
                  content: [{ type: "call", index: 0, callId: "c", name: "t", input: {} }],
                  stop: "calls",
                },
              },
            ]);
            const calling = live.call(
              {
                assistant: entry!.id,
                index: 0,
                callId: "c",
                name: "t",
                input: {},
                label: "write",
                replaySafe: false,
              },
              () => held.opened.then(() => ({ content: [], isError: false })),
            );
            calling.catch(() => {
              // The run has ended by then.
            });
            live.ask({ key: "q", kind: "question" }).catch(() => {
              // So has this.
            });
            await until(() => stage.sql.all("select 1 from approval").length > 0, "asked");
            await until(
              () => stage.sql.all("select 1 from call where started is not null").length > 0,
              "called",
            );
            return { terminal: "failed", diagnostic: "gone" };
          },
        }),
      },
    });
    const session = life.session();
    const id = await sent(session, prompt("r1"));
    expect((await settled(session, id)).terminal).toBe("failed");
    held.open();
    await turns(5);
    const { entries, session: info } = await session.read();
    const kinds = entries.map((it) => it.kind);
    expect(kinds.slice(-3).toSorted()).toEqual([
      "approval.withdrawn",
      "message.tool",
      "run.settled",
    ]);
    expect(kinds.at(-1)).toBe("run.settled");
    expect(info).toMatchObject({ state: "idle", approvals: 0, pending: 0 });
  });

  check(
    "[T4] a reader waits for the end and is woken by it, as often as it races it",
    async (stage) => {
      const life = await stage.open();
      for (let n = 0; n < 60; n++) {
        const session = life.session(`s${n % 7}`);
        const id = await sent(session, prompt(`r${n}`));
        await turns(n % 6);
        const all = await Promise.all(Array.from({ length: 3 }, () => settled(session, id)));
        expect(all.every((it) => it.terminal === "completed")).toBe(true);
      }
    },
  );

  check("[T4] no settlement is told before it is durable", async (stage) => {
    const held = gate();
    const life = await stage.open({ engine: [{ gate: held.opened }, { say: "ok" }] });
    const session = life.session();
    const id = await sent(session, prompt("r1"));
    await until(() => life.owner.running() === 1, "it runs");
    const release = life.holdSyncs();
    let told = 0;
    const waiting = settled(session, id).then(() => told++);
    held.open();
    await until(
      () => stage.sql.all("select 1 from entry where kind = 'run.settled'").length > 0,
      "its commit",
    );
    const asking = session.readSettlement(id).then(() => told++);
    const reading = session.read().then(() => told++);
    await turns(10);
    expect(told).toBe(0);
    release();
    await Promise.all([waiting, asking, reading]);
    expect(told).toBe(3);
  });

  check(
    "[T4] a wait ends at its deadline with nothing, is bounded to 30 s, and cancels nothing",
    async (stage) => {
      const held = gate();
      const life = await stage.open({ engine: [{ gate: held.opened }, { say: "ok" }] });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      expect(await session.readSettlement(id)).toBeUndefined();
      for (const timeoutMs of [0, -5, Number.NaN])
        expect(await session.readSettlement(id, { timeoutMs })).toBeUndefined();
      let answers = 0;
      for (const timeoutMs of [1_000, 30_000, 1e9, Number.POSITIVE_INFINITY])
        void session.readSettlement(id, { timeoutMs }).then((it) => (answers += it ? 100 : 1));
      await stage.clock.advance(999);
      expect(answers).toBe(0);
      await stage.clock.advance(1);
      expect(answers).toBe(1);
      await stage.clock.advance(29_000);
      expect(answers).toBe(4);
      const leaving = new AbortController();
      const left = session.readSettlement(id, { timeoutMs: 30_000, signal: leaving.signal });
      await turns(3);
      leaving.abort();
      expect(await left).toBeUndefined();
      expect(
        await session.readSettlement(id, { timeoutMs: 30_000, signal: leaving.signal }),
      ).toBeUndefined();
      held.open();
      expect((await settled(session, id)).terminal).toBe("completed");
    },
  );

  check(
    "[T4] an unknown command is refused, and a wait ends when its session or the host does",
    async (stage) => {
      const life = await stage.open({ engine: [{ hang: true }] });
      const id = await sent(life.session(), prompt("r1"));
      const other = await sent(life.session("other"), prompt("r1"));
      expect(await refusal(life.session("none").readSettlement(id))).toBe("unknown_session");
      for (const unknown of [other, "cmd_x_1", "", "nonsense", `${id}000000000`])
        expect(await refusal(life.session().readSettlement(unknown))).toBe("unknown_command");
      const waiting = refusal(life.session().readSettlement(id, { timeoutMs: 30_000 }));
      await life.session().delete();
      expect(await waiting).toBe("unknown_session");
      const last = life.session("other").readSettlement(other, { timeoutMs: 30_000 });
      await life.owner.close({ patienceMs: 0 });
      expect(await last).toBeUndefined();
    },
  );
}
