// What the log keeps of a coding agent: its state, its lines, and the numbers of the machine API's events.

import { isMachineEvent } from "@lichen/wire";
import { expect } from "vitest";
import type { Engine, EngineHost, Frame, HarnessDraft, Run, Session } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import type { Life } from "./life.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, kindsOf, line, prompt, refusal, run, sent, settled } from "./stage.ts";

const heard = (text: string): HarnessDraft => ({
  kind: "harness.line",
  data: { harness: "scripted", line: { type: "said", text } },
});
const process = (group: number): HarnessDraft => ({
  kind: "harness.process",
  data: { group, startedAt: "2026-01-02T03:04:05.000Z", boot: "b1" },
});
const conversation = (id: string): HarnessDraft => ({
  kind: "harness.conversation",
  data: { conversation: id, file: `/tmp/${id}.jsonl` },
});
const stopped: HarnessDraft = { kind: "harness.stopped", data: { reason: "finished" } };

/** A scripted engine whose connections stay, and the host that its newest connection was lent. */
export function harnessed(inner: Engine = scriptedEngine()) {
  const houses: EngineHost[] = [];
  const engine: Engine = {
    ...inner,
    open: (session, house) => {
      houses.push(house);
      return { ...inner.open(session, house), stays: true };
    },
  };
  return { engine, house: () => houses.at(-1)! };
}

export async function numberedSession(life: Life): Promise<Session> {
  await life.agent.create({ requestId: "made", session: "s", events: true });
  return life.session();
}

/** The numbers that the log itself gives: its events, counted. */
export async function countedOf(session: Session): Promise<{ n: number; seq: number }[]> {
  const events = (await entriesOf(session)).filter(isMachineEvent);
  return events.map(({ seq }, at) => ({ n: at + 1, seq }));
}

export async function shownOf(session: Session): Promise<{ n: number; seq: number }[]> {
  const shown: { n: number; seq: number }[] = [];
  for (;;) {
    const page = await session.events({ after: shown.at(-1)?.n ?? 0, limit: 3 });
    shown.push(...page.events.map(({ n, entry }) => ({ n, seq: entry.seq })));
    if (page.events.length === 0) {
      expect(page.last).toBe(shown.length);
      return shown;
    }
  }
}

/** What sessions of coding agents promise of their log on any host. */
export function harnessContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[RH1] the state of a coding agent is the newest word of its log, the same after a restart",
    async (stage) => {
      const first = harnessed();
      const life = await stage.open({ engine: first.engine });
      const session = await numberedSession(life);
      await session.connect();
      const { house } = first;
      expect(house().harness()).toEqual({});
      await house().record([process(7), conversation("c1"), conversation("c2")]);
      const state = {
        conversation: { id: "c2", file: "/tmp/c2.jsonl" },
        process: { group: 7, startedAt: "2026-01-02T03:04:05.000Z", boot: "b1" },
      };
      expect(house().harness()).toEqual(state);
      life.die();

      const second = harnessed();
      const next = await stage.open({ engine: second.engine });
      await next.session().connect();
      expect(second.house().harness()).toEqual(state);
      await next.session().restart();
      expect(second.house().harness()).toEqual({ process: state.process });
      await second.house().record([{ kind: "harness.conversation", data: { conversation: "c3" } }]);
      await second.house().record([stopped]);
      expect(second.house().harness()).toEqual({ conversation: { id: "c3" } });
      await next.session().delete();
      expect(await refusal(second.house().record([heard("late")]))).toBe("closed");
    },
  );

  check(
    "[RH1] what a run writes of its coding agent counts like what is written outside of one",
    async (stage) => {
      const { engine, house } = harnessed(
        scriptedEngine([
          { append: [process(9), conversation("c"), heard("one")] },
          { say: "done" },
        ]),
      );
      const life = await stage.open({ engine });
      const session = await numberedSession(life);
      const { commandId } = await session.send(prompt("p"));
      await settled(session, commandId!);
      expect(house().harness()).toMatchObject({ conversation: { id: "c" }, process: { group: 9 } });
      const lines = (await entriesOf(session)).filter((it) => it.kind.startsWith("harness."));
      expect(lines.map((it) => it.commandId)).toEqual([commandId, commandId, commandId]);
    },
  );

  check(
    "[RH2] events are numbered without a gap: exactly those kinds, in the order of the log, over restarts",
    async (stage) => {
      const script = [
        { append: [process(1), heard("one"), heard("two")] },
        { ask: { kind: "question" as const, questions: [{ question: "which?" }] } },
        { say: "done" },
      ];
      const engine = (): Engine => harnessed(scriptedEngine(script)).engine;
      const life = await stage.open({ engine: engine() });
      const session = await numberedSession(life);
      const command = await sent(session, prompt("p"));
      await until(async () => (await session.info()).approvals === 1, "it asks");
      life.die();

      const next = await stage.open({ engine: engine() });
      const later = next.session();
      const [approval] = (await later.read()).approvals;
      await later.send({
        type: "answer",
        requestId: "a",
        approvalId: approval!.approvalId,
        allow: true,
        answers: { "which?": "this" },
      });
      await settled(later, command);
      await later.send(line("l"));
      await later.record([stopped, { kind: "harness.restarted", data: {} }], "phone");
      await later.restart();
      const counted = await countedOf(later);
      const kinds = new Map((await entriesOf(later)).map((it) => [it.seq, it.kind]));
      expect(new Set(counted.map(({ seq }) => kinds.get(seq)))).toEqual(
        new Set([
          ...["message.user", "harness.line", "approval.answered", "harness.stopped"],
          ...["harness.restarted", "conversation.started"],
        ]),
      );
      expect(await shownOf(later)).toEqual(counted);
      expect((await later.info()).events).toBe(counted.length);
      expect((await entriesOf(later)).find((it) => it.kind === "harness.stopped")!.by).toBe(
        "phone",
      );
    },
  );

  check("[RH2] no crash leaves a gap in the numbers, nor a number twice", async (stage) => {
    for (let crash = 1; crash <= 12; crash++) {
      const name = `s${crash}`;
      const script = [{ append: [heard("one")] }, { append: [heard("two")] }, { say: "done" }];
      const life = await stage.open({ engine: harnessed(scriptedEngine(script)).engine });
      life.dieAfterCommits(crash);
      void (async () => {
        await life.agent.create({ requestId: name, session: name, events: true });
        await life.session(name).send(prompt("p"));
        await life.session(name).record([heard("outside"), stopped]);
      })().catch(() => {});
      await until(
        async () => (await turns(1), life.isDead || life.owner.running() === 0),
        "a rest",
      );
      await turns(10);
      life.die();
      const next = await stage.open({ engine: harnessed(scriptedEngine(script)).engine });
      await next.agent.create({ requestId: name, session: name, events: true });
      const session = next.session(name);
      const { commandId } = await session.send(prompt("p"));
      await settled(session, commandId!);
      expect(await shownOf(session)).toEqual(await countedOf(session));
      next.die();
    }
    stage.reports.length = 0;
  });

  check(
    "[RH2] watchers are told each event with its number, live, from a cursor and after a pause",
    async (stage) => {
      const { engine, house } = harnessed();
      const life = await stage.open({ engine });
      const session = await numberedSession(life);
      await session.connect();
      const frames: Frame[] = [];
      let takes = true;
      const sink = {
        frame: (frame: Frame) => (frames.push(frame), takes),
        end: () => {},
      };
      const watch = session.observe(sink);
      await house().record([process(1), heard("one")]);
      await house().record([heard("two"), conversation("c"), heard("three")]);
      await run(session, "p");
      takes = false;
      await house().record([heard("four")]);
      await house().record([heard("five"), stopped]);
      takes = true;
      watch.resume();
      await until(() => frames.some((it) => it.type === "entry" && it.n === 7), "it caught up");
      const counted = await countedOf(session);
      const numbers = (from: readonly Frame[]): object[] =>
        from.flatMap((it) =>
          it.type === "entry" && it.n !== undefined ? [{ n: it.n, seq: it.data.seq }] : [],
        );
      expect(numbers(frames)).toEqual(counted);
      const { epoch, head } = await session.info();
      for (let from = 0; from <= head; from++) {
        const again: Frame[] = [];
        session.observe(
          { frame: (frame) => (again.push(frame), true), end: () => {} },
          { after: `${epoch}.${from}` },
        );
        expect(numbers(again)).toEqual(counted.filter(({ seq }) => seq > from));
      }
    },
  );

  check(
    "[RH2] a page of events ends at its limit or at 1 MiB; any other session has no numbers",
    async (stage) => {
      const { engine, house } = harnessed();
      const life = await stage.open({ engine });
      const session = await numberedSession(life);
      await session.connect();
      for (let n = 0; n < 6; n++)
        await house().record([
          { kind: "harness.line", data: { harness: "scripted", line: numbersOf(60_000) } },
        ]);
      const { events, last } = await session.events({ after: 0, limit: 1_000 });
      expect(last).toBe(6);
      expect(events.map(({ n }) => n)).toEqual([1, 2, 3]);
      expect((await session.events({ after: 3, limit: 2 })).events.map(({ n }) => n)).toEqual([
        4, 5,
      ]);
      expect((await session.events({ after: 6, limit: 1 })).events).toEqual([]);
      for (const wrong of [
        { after: -1, limit: 1 },
        { after: 0, limit: 0 },
        { after: 0, limit: 1_001 },
        { after: 0.5, limit: 1 },
      ])
        expect(await refusal(session.events(wrong))).toBe("invalid");
      await life.session("plain").send(line("l"));
      expect(await refusal(life.session("plain").events({ after: 0, limit: 1 }))).toBe("invalid");
      expect((await life.session("plain").info()).events).toBeUndefined();
      await run(session, "p");
      const { info } = await session.fork({ requestId: "f", session: "fork" });
      expect(info.events).toBeUndefined();
      await life.session("fork").send(line("l"));
      expect(stage.sql.all("select distinct sid from event")).toHaveLength(1);
    },
  );

  check(
    "[RH3] what is recorded outside of a run is told once it is durable, all of it or nothing",
    async (stage) => {
      const { engine, house } = harnessed();
      const life = await stage.open({ engine });
      const session = await numberedSession(life);
      await session.connect();
      const told: string[] = [];
      session.observe({
        frame: (frame) => (frame.type === "entry" && told.push(frame.data.kind), true),
        end: () => {},
      });
      const release = life.holdSyncs();
      let isDone = false;
      const recording = house()
        .record([process(1), heard("one")])
        .then(() => (isDone = true));
      await turns(10);
      expect([told, isDone]).toEqual([[], false]);
      release();
      await recording;
      expect(told).toEqual(["harness.process", "harness.line"]);
      let tries = 0;
      life.trouble = (statement) =>
        statement.startsWith("insert into entry") && ++tries === 2 ? new Error("no") : undefined;
      await expect(house().record([stopped, heard("lost")])).rejects.toThrow("no");
      life.trouble = undefined;
      expect(house().harness().process).toMatchObject({ group: 1 });
      expect(await shownOf(session)).toEqual([{ n: 1, seq: 2 }]);
    },
  );

  check(
    "[RH3] lines of a coding agent are neither the model's transcript nor what search finds, and large ones come back whole",
    async (stage) => {
      const seen: Run[] = [];
      const transcripts: string[][] = [];
      const large = { text: "needle ".repeat(20_000), blob: { blob: "a".repeat(64) } };
      const lookalike = { blob: "b".repeat(64), mimeType: "application/json", bytes: 2 };
      const { engine } = harnessed(
        scriptedEngine(
          [
            {
              append: [large, lookalike].map((it): HarnessDraft => ({
                kind: "harness.line",
                data: { harness: "scripted", line: it },
              })),
            },
            { say: "done" },
          ],
          {
            onRun: (_, live) => {
              seen.push(live);
              transcripts.push(live.transcript().map((it) => it.kind));
            },
          },
        ),
      );
      const life = await stage.open({ engine });
      const session = await numberedSession(life);
      await run(session, "p1");
      await run(session, "p2");
      expect(transcripts).toEqual([
        ["message.user"],
        ["message.user", "message.assistant", "message.user"],
      ]);
      expect(seen[0]!.lines()).toEqual([large, lookalike]);
      await stage.clock.advance(1_000);
      expect((await session.search({ q: "needle" })).found).toEqual([]);
      const [stored] = stage.sql.all<{ data: string }>(
        "select data from entry where kind = 'harness.line'",
      );
      expect(stored!.data.length).toBeLessThan(2_000);
    },
  );

  check("[RH4] an engine is called when there are steers or lines to take", async (stage) => {
    const begun = gate<Run>();
    const go = gate();
    const base = scriptedEngine();
    const life = await stage.open({
      engine: {
        ...base,
        open: () => ({
          run: async (_work, live) => {
            begun.open(live);
            await go.opened;
            return { terminal: "completed", answer: "done" };
          },
          close: async () => {},
        }),
      },
    });
    const session = life.session();
    const command = await sent(session, prompt("p"));
    const live = await begun.opened;
    const calls = [0, 0];
    const arrived = (): void => void calls[0]!++;
    const leave = live.onSteer(arrived);
    live.onSteer(() => void calls[1]!++);
    await turns(5);
    expect(calls).toEqual([0, 0]);
    await session.send(prompt("s1", { delivery: "steer" }));
    expect(calls).toEqual([1, 1]);
    expect((await live.steers()).map((it) => it.requestId)).toEqual(["s1"]);
    await session.send(line("l1"));
    expect(calls).toEqual([2, 2]);
    leave();
    // Whoever comes later hears at once of what waits.
    live.onSteer(arrived);
    expect(calls).toEqual([3, 2]);
    expect((await live.steers()).map((it) => it.requestId)).toEqual(["l1"]);
    await session.send(prompt("f"));
    expect(calls).toEqual([3, 2]);
    go.open();
    await settled(session, command);
    await session.send(prompt("s2", { delivery: "steer" }));
    live.onSteer(arrived);
    expect(calls).toEqual([3, 2]);
  });

  check(
    "[RH5] a driver that goes on after a crash knows which steers its run has, and is called only for those it has not",
    async (stage) => {
      const steered = gate();
      const life = await stage.open({
        engine: harnessed(
          scriptedEngine([{ gate: steered.opened }, { steers: true }, { hang: true }]),
        ).engine,
      });
      const session = life.session();
      const command = await sent(session, prompt("p"));
      const joined = await sent(session, prompt("s1", { delivery: "steer" }));
      steered.open();
      await until(async () => (await session.info()).pending === 0, "it joined");
      life.die();

      const calls: number[] = [];
      const engineOf = (seen: (live: Run) => void): Engine =>
        harnessed(
          scriptedEngine([{ hang: true }], {
            onRun: (_, live) => {
              calls.push(0);
              live.onSteer(() => void calls.push(calls.pop()! + 1));
              seen(live);
            },
          }),
        ).engine;
      let own: unknown[] = [];
      const second = await stage.open({
        engine: engineOf((live) => {
          own = live
            .transcript()
            .filter((it) => it.kind === "message.user")
            .filter((it) => it.data.steers === live.commandId || it.commandId === live.commandId)
            .map((it) => it.commandId);
        }),
      });
      await until(() => calls.length === 1, "it goes on");
      await turns(5);
      expect(own).toEqual([command, joined]);
      expect(calls).toEqual([0]);
      await second.session().send(prompt("s2", { delivery: "steer" }));
      expect(calls).toEqual([1]);
      second.die();

      const third = await stage.open({ engine: engineOf(() => {}) });
      await until(() => calls.length === 2, "it goes on again");
      expect(calls).toEqual([1, 1]);
      third.die();
    },
  );

  check(
    "[RH7] a host that stops waits for its connections to close, and what they record then stands",
    async (stage) => {
      const opened: string[] = [];
      const base = scriptedEngine([{ hang: true }]);
      const life = await stage.open({
        engine: {
          ...base,
          open: (of, house) => ({
            ...base.open(of, house),
            stays: true,
            close: async () => {
              await turns(20);
              await house.record([stopped]);
              opened.push(of.session);
            },
          }),
        },
      });
      await life.agent.create({ requestId: "made", session: "idle", events: true });
      await life.session("idle").connect();
      await sent(life.session("busy"), prompt("p"));
      await until(() => life.owner.running() === 1, "it runs");
      await life.owner.close({ patienceMs: 0 });
      expect(opened.toSorted((a, b) => a.localeCompare(b))).toEqual(["busy", "idle"]);
      const next = await stage.open({ capacity: 0 });
      for (const of of ["busy", "idle"])
        expect(await kindsOf(next.session(of))).toContain("harness.stopped");
    },
  );
}

/** JSON of many values, none of which is large. */
function numbersOf(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}
