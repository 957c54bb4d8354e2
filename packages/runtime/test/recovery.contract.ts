import { expect } from "vitest";
import { type EngineScript, type Move, scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, kindsOf, prompt, sent, settled } from "./stage.ts";

type Label = "read" | "write";

/** A call whose effect never ends in its first life, and answers in any later one. */
function stuckOnce(effects: string[], label: Label, replaySafe: boolean): EngineScript {
  return [
    {
      calls: [
        {
          name: "tool",
          label,
          replaySafe,
          effect: () => {
            effects.push("effect");
            return effects.length === 1 ? new Promise<never>(() => {}) : "done at last";
          },
        },
      ],
    },
    { say: ({ outcomes }) => JSON.stringify(outcomes[0]?.content) },
  ];
}

/** What recovery promises on any host. */
export function recoveryContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check("[R1] a run goes on from its last committed step", async (stage) => {
    const works: object[] = [];
    const engine = (moves: readonly Move[]) =>
      scriptedEngine(moves, { onRun: (work) => void works.push(work) });
    const life = await stage.open({ engine: engine([{ say: "one" }, { hang: true }]) });
    const id = await sent(life.session(), prompt("r1"));
    await until(
      async () => (await kindsOf(life.session())).includes("message.assistant"),
      "a step",
    );
    life.die();
    const next = await stage.open({ engine: engine([{ say: "one" }, { say: "two" }]) });
    expect((await settled(next.session(), id)).answer).toBe("two");
    expect(works).toMatchObject([
      { recoveries: 0, resumed: false },
      { recoveries: 1, resumed: true, commandId: id },
    ]);
    const entries = await entriesOf(next.session());
    expect(entries.filter((it) => it.kind === "message.assistant")).toHaveLength(2);
    expect(entries.filter((it) => it.kind === "message.user")).toHaveLength(1);
    expect(entries.find((it) => it.kind === "run.recovered")!.data).toEqual({ recoveries: 1 });
  });

  check(
    "[R1] an engine that cannot go on ends its run as interrupted, and the queue goes on",
    async (stage) => {
      const can = { resume: false };
      const life = await stage.open({ engine: scriptedEngine([{ hang: true }], { can }) });
      const id = await sent(life.session(), prompt("r1"));
      const second = await sent(life.session(), prompt("r2"));
      life.die();
      const next = await stage.open({ engine: scriptedEngine([{ say: "ok" }], { can }) });
      expect(await settled(next.session(), id)).toMatchObject({
        terminal: "interrupted",
        diagnostic: expect.stringContaining("cannot go on"),
      });
      expect((await settled(next.session(), second)).terminal).toBe("completed");
    },
  );

  check(
    "[S27] what was queued when the process died runs in its order when the store is opened",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const ids: string[] = [];
      for (let n = 0; n < 10; n++) ids.push(await sent(life.session(`s${n % 3}`), prompt(`r${n}`)));
      life.die();
      const next = await stage.open({ capacity: 2 });
      for (const [n, id] of ids.entries())
        expect((await settled(next.session(`s${n % 3}`), id)).terminal).toBe("completed");
      for (let s = 0; s < 3; s++) {
        const entries = await entriesOf(next.session(`s${s}`));
        const of = (kind: string) =>
          entries.filter((it) => it.kind === kind).map((it) => it.commandId);
        expect(of("run.started")).toEqual(of("command.queued"));
      }
    },
  );

  for (const [label, replaySafe, runs] of [
    ["read", false, 2],
    ["write", true, 2],
    ["write", false, 1],
  ] as const)
    check(
      `[R2] a call left open runs ${runs === 1 ? "never" : "once"} more where it is labelled ${label}${replaySafe ? " and replay-safe" : ""}`,
      async (stage) => {
        const effects: string[] = [];
        const life = await stage.open({ engine: stuckOnce(effects, label, replaySafe) });
        const id = await sent(life.session(), prompt("r1"));
        await until(() => effects.length === 1, "the effect");
        life.die();
        const next = await stage.open({ engine: stuckOnce(effects, label, replaySafe) });
        const settlement = await settled(next.session(), id);
        expect(settlement).toMatchObject({ terminal: "completed", toolCalls: 1 });
        expect(effects).toHaveLength(runs);
        expect(settlement.answer).toContain(runs === 1 ? "effect is unknown" : "done at last");
        const outcomes = (await entriesOf(next.session())).filter(
          (it) => it.kind === "message.tool",
        );
        expect(outcomes).toHaveLength(1);
        expect(outcomes[0]!.data.interrupted).toBe(runs === 1 ? true : undefined);
      },
    );

  check(
    "[R2] a label that was lowered between two lives does not make a call run again",
    async (stage) => {
      const effects: string[] = [];
      const life = await stage.open({ engine: stuckOnce(effects, "write", false) });
      const id = await sent(life.session(), prompt("r1"));
      await until(() => effects.length === 1, "the effect");
      life.die();
      const next = await stage.open({ engine: stuckOnce(effects, "read", true) });
      await settled(next.session(), id);
      expect(effects).toHaveLength(1);
    },
  );

  check("[R3] three recoveries without a step are the budget; a step renews it", async (stage) => {
    const engine: EngineScript = [{ say: "step" }, { hang: true }];
    let life = await stage.open({ engine: [{ hang: true }] });
    const id = await sent(life.session(), prompt("r1"));
    for (let n = 0; n < 3; n++) {
      life.die();
      life = await stage.open({ engine: n === 0 ? [{ hang: true }] : engine });
      await until(() => life.owner.running() === 1, "it goes on");
      await turns(8);
    }
    for (let n = 0; n < 2; n++) {
      life.die();
      life = await stage.open({ engine });
      await until(() => life.owner.running() === 1, "it goes on");
    }
    expect(await life.session().readSettlement(id)).toBeUndefined();
    life.die();
    const last = await stage.open({ engine });
    expect(await settled(last.session(), id)).toMatchObject({ terminal: "interrupted" });
    expect((await last.session().info()).state).toBe("idle");
    const recovered = (await entriesOf(last.session())).filter((it) => it.kind === "run.recovered");
    expect(recovered.map((it) => it.data.recoveries)).toEqual([1, 2, 1, 2, 3]);
  });

  check(
    "[R3] the budget is counted before the run goes on, so that one that kills its host at once ends",
    async (stage) => {
      let life = await stage.open({ engine: [{ hang: true }] });
      const id = await sent(life.session(), prompt("r1"));
      let lives = 0;
      for (;;) {
        life.die();
        lives++;
        life = await stage.open({
          engine: scriptedEngine([{ hang: true }], { onRun: () => life.die() }),
        });
        await turns(8);
        if (!life.isDead) break;
        expect(lives).toBeLessThan(10);
      }
      expect(lives).toBe(4);
      expect((await settled(life.session(), id)).terminal).toBe("interrupted");
    },
  );

  check("[R3] usage that is counted in no entry is no step", async (stage) => {
    const engine = scriptedEngine([{ hang: true }], {
      onRun: (_, live) => live.addUsage({ input: 1, output: 1, cacheRead: 0, cacheWrite: 0 }),
    });
    let life = await stage.open({ engine });
    const id = await sent(life.session(), prompt("r1"));
    for (let n = 0; n < 4; n++) {
      await turns(10);
      life.die();
      life = await stage.open({ engine });
    }
    expect(await settled(life.session(), id)).toMatchObject({
      terminal: "interrupted",
      usage: { input: 4, output: 4 },
    });
  });

  check(
    "[R1] a run that waits for a place after a crash ends at once where it is cancelled",
    async (stage) => {
      const life = await stage.open({ engine: [{ hang: true }] });
      const ids: string[] = [];
      for (const of of ["one", "two", "three"])
        ids.push(await sent(life.session(of), prompt("r1")));
      const queued = await sent(life.session("two"), prompt("r2"));
      await turns(6);
      life.die();
      const next = await stage.open({ engine: [{ hang: true }], capacity: 1 });
      await until(() => next.owner.running() === 1, "the first goes on");
      await next.session("two").send({ type: "cancel", requestId: "c", commandId: ids[1]! });
      expect((await settled(next.session("two"), ids[1]!)).terminal).toBe("cancelled");
      await next.session("three").send({ type: "abort", requestId: "x" });
      expect((await settled(next.session("three"), ids[2]!)).terminal).toBe("cancelled");
      await next.session("one").send({ type: "abort", requestId: "x" });
      expect((await settled(next.session("one"), ids[0]!)).terminal).toBe("cancelled");
      await until(
        async () => (await next.session("two").info()).state === "running",
        "the queued one",
      );
      await next.session("two").send({ type: "cancel", requestId: "c2", commandId: queued });
      expect((await settled(next.session("two"), queued)).terminal).toBe("cancelled");
    },
  );

  check(
    "[R3] a stop by drain costs nothing, however often and however soon the host is stopped",
    async (stage) => {
      let life = await stage.open({ engine: [{ hang: true }] });
      const id = await sent(life.session(), prompt("r1"));
      await until(() => life.owner.running() === 1, "it runs");
      for (let n = 0; n < 16; n++) {
        await life.owner.close({ patienceMs: 0 });
        life.die();
        life = await stage.open({ engine: [{ hang: true }] });
        await turns(n % 8);
      }
      await life.owner.close({ patienceMs: 0 });
      life.die();
      const last = await stage.open({ engine: [{ say: "still there" }] });
      expect(await settled(last.session(), id)).toMatchObject({ answer: "still there" });
      const recovered = (await entriesOf(last.session())).filter(
        (it) => it.kind === "run.recovered",
      );
      for (const entry of recovered) expect(entry.data.recoveries).toBe(1);
    },
  );

  check(
    "[R3] a command that is claimed while the host stops is left to the next life at no cost",
    async (stage) => {
      for (let n = 0; n < 8; n++) {
        const session = `s${n}`;
        let life = await stage.open({ engine: [{ hang: true }] });
        const sending = life.session(session).send(prompt("r1"));
        await turns(n % 4);
        await life.owner.close({ patienceMs: 0 });
        const { commandId } = await sending;
        life.die();
        const works: { recoveries: number }[] = [];
        life = await stage.open({
          engine: scriptedEngine([{ say: "ok" }], { onRun: (work) => void works.push(work) }),
        });
        expect((await settled(life.session(session), commandId!)).terminal).toBe("completed");
        expect(works.filter((it) => it.recoveries > 0)).toEqual([]);
        await life.owner.close();
        life.die();
      }
    },
  );

  for (const [label, terminal] of [
    ["write", "outcome_unknown"],
    ["read", "interrupted"],
  ] as const)
    check(
      `[R4] past the budget a command with an open ${label} call settles ${terminal}`,
      async (stage) => {
        const engine: EngineScript = [
          {
            calls: [
              { name: "tool", label, replaySafe: true, effect: () => new Promise<never>(() => {}) },
            ],
          },
        ];
        let life = await stage.open({ engine });
        const id = await sent(life.session(), prompt("r1"));
        await until(
          async () => (await kindsOf(life.session())).includes("call.started"),
          "the call",
        );
        for (let n = 0; n < 4; n++) {
          life.die();
          life = await stage.open({ engine });
          await turns(8);
        }
        const settlement = await settled(life.session(), id);
        expect(settlement).toMatchObject({
          terminal,
          toolCalls: 1,
          diagnostic: expect.stringContaining("died"),
        });
        const outcome = (await entriesOf(life.session())).find((it) => it.kind === "message.tool")!;
        expect(outcome.data).toMatchObject({ isError: true, interrupted: true });
      },
    );

  check("[S27] a thousand sessions killed in mid-run are all driven to an end", async (stage) => {
    const life = await stage.open({ engine: [{ hang: true }], capacity: 2_000 });
    const ids = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => sent(life.session(`s${n}`), prompt("r"))),
    );
    await until(() => life.owner.running() === 1_000, "all run");
    life.die();
    const next = await stage.open();
    const ends = await Promise.all(ids.map((id, n) => settled(next.session(`s${n}`), id)));
    expect(ends.every((it) => it.terminal === "completed" && it.answer === "ok")).toBe(true);
  });

  check(
    "[S28] a close waits for runs that end by themselves and stops the others, which go on later",
    async (stage) => {
      const held = gate();
      const life = await stage.open({
        engine: (work) =>
          work.text === "text of ends"
            ? [{ gate: held.opened }, { say: "ended" }]
            : [{ hang: true }],
      });
      const ends = await sent(life.session("one"), prompt("ends"));
      const hangs = await sent(life.session("two"), prompt("hangs"));
      const queued = await sent(life.session("one"), prompt("queued"));
      await until(() => life.owner.running() === 2, "both run");
      const closing = life.owner.close({ patienceMs: 1_000 });
      await turns(5);
      held.open();
      await turns(10);
      let isClosed = false;
      void closing.then(() => (isClosed = true));
      await turns(5);
      expect(isClosed).toBe(false);
      await stage.clock.advance(1_000);
      await closing;
      life.die();
      const next = await stage.open();
      expect((await next.session("one").readSettlement(ends))!.answer).toBe("ended");
      expect((await settled(next.session("two"), hangs)).terminal).toBe("completed");
      expect((await settled(next.session("one"), queued)).terminal).toBe("completed");
    },
  );

  check("[S28] a close is bounded though the disk never answers", async (stage) => {
    const life = await stage.open({ engine: [{ hang: true }] });
    await life.session().send(prompt("r"));
    life.holdSyncs();
    let isClosed = false;
    const closing = life.owner.close({ patienceMs: 0 }).then(() => (isClosed = true));
    await stage.clock.advance(5_500);
    expect(isClosed).toBe(false);
    await stage.clock.advance(1_000);
    await closing;
  });

  check("[S28] a close is bounded though an engine never ends", async (stage) => {
    const life = await stage.open({
      engine: {
        ...scriptedEngine(),
        open: () => ({
          close: () => new Promise<never>(() => {}),
          run: () => new Promise<never>(() => {}),
        }),
      },
    });
    await sent(life.session(), prompt("r1"));
    await until(() => life.owner.running() === 1, "it runs");
    let isClosed = false;
    void life.owner.close().then(() => (isClosed = true));
    for (let n = 0; n < 10 && !isClosed; n++) await stage.clock.advance(1_000);
    expect(isClosed).toBe(true);
  });
}
