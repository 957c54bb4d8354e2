import type { Json, JsonObject } from "@lichen/wire";
import { expect } from "vitest";
import type { Program, ProgramNames } from "../src/index.ts";
import { scriptedEngine, type EngineScript, type Move } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import type { GuestCall } from "./guest.ts";
import { onStage } from "./on-stage.ts";
import { programThat, guestThat, make, inProgram, outcomes, never } from "./program-kit.ts";
import type { WithSql } from "./sql.contract.ts";
import { gate, kindsOf, prompt, run, sent, settled } from "./stage.ts";

/** What the calls of a program promise on any host. */
export function programCallsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  for (const [what, answer] of [
    ["nested too deeply", deep(100_000)],
    ["no JSON", 1n as unknown as Json],
    ["nothing that JSON knows", (() => 1) as unknown as Json],
  ] as const)
    check(`[J14] a call that took effect and answered ${what} says that it did`, async (stage) => {
      let effects = 0;
      const engine = guestThat([
        {
          operation: "a.b",
          label: "write",
          effect: () => (effects++, answer),
          then: [{ operation: "a.c" }],
        },
      ]);
      const life = await stage.open({ engine });
      const { terminal } = await run(life.session(), "r1");
      expect(terminal).toBe("completed");
      expect(effects).toBe(1);
      const [outcome, next] = await outcomes(life.session());
      expect(outcome).toMatchObject({
        ok: false,
        code: "invalid_outcome",
        message: expect.stringContaining("a.b ran to its end, and what it answered cannot be kept"),
      });
      expect(next).toMatchObject({ ok: true });
    });

  check(
    "[J1] a program's call is durable before its effect begins, and its outcome before the program has it",
    async (stage) => {
      const seen: string[] = [];
      const life = await stage.open({
        engine: programThat(async (program) => {
          const release = life.holdSyncs();
          const calling = make(program, 0, {
            operation: "files.read",
            effect: () => void seen.push("effect"),
          });
          await until(
            () => stage.sql.all("select 1 from entry where kind = 'program.call'").length > 0,
            "the intent's commit",
          );
          await turns(5);
          expect(seen).toEqual([]);
          release();
          await until(() => seen.length > 0, "the effect");
          const hold = life.holdSyncs();
          const told = calling.then((outcome) => {
            seen.push("told");
            expect(program.order).toEqual([0]);
            return outcome;
          });
          await turns(10);
          expect(seen).toEqual(["effect"]);
          expect(program.order).toEqual([]);
          hold();
          expect(await told).toEqual({ ok: true });
        }),
      });
      expect((await run(life.session(), "r1")).answer).toBe("null");
      expect(seen).toEqual(["effect", "told"]);
      expect(await kindsOf(life.session())).toEqual([
        "command.queued",
        "run.started",
        "message.user",
        "message.assistant",
        "call.started",
        "program.started",
        "program.call",
        "program.outcome",
        "message.tool",
        "message.assistant",
        "run.settled",
      ]);
    },
  );

  check(
    "[J1] calls of a program run side by side, and the beginning of a program costs no commit of its own",
    async (stage) => {
      const both = gate();
      let begun = 0;
      let before = 0;
      const life = await stage.open({
        engine: programThat(async (program) => {
          before = life.commits;
          const effect = async (): Promise<string> => {
            if (++begun === 2) both.open();
            await both.opened;
            return "met";
          };
          const met = await Promise.all([
            make(program, 0, { operation: "a.b", effect }),
            make(program, 1, { operation: "a.c", effect }),
          ]);
          before = life.commits - before;
          return met as unknown as Json;
        }),
      });
      const { answer } = await run(life.session(), "r1");
      expect(JSON.parse(answer)).toEqual([
        { ok: true, value: "met" },
        { ok: true, value: "met" },
      ]);
      expect(before).toBe(2);
    },
  );

  check(
    "[J1] what an operation throws is a failed outcome, with its own code where it has one",
    async (stage) => {
      const life = await stage.open({
        engine: guestThat([
          {
            operation: "a.b",
            effect: () => {
              throw Object.assign(new Error("no such page"), { code: "http_404" });
            },
          },
          { operation: "a.c", effect: () => Promise.reject(new Error("plain")) },
        ]),
      });
      await run(life.session(), "r1");
      expect(await outcomes(life.session())).toMatchObject([
        { ordinal: 0, operation: "a.b", ok: false, code: "http_404", message: "no such page" },
        { ordinal: 1, operation: "a.c", ok: false, code: "failed", message: "plain" },
      ]);
    },
  );

  check("[J1] a call that is handed in twice at once runs once", async (stage) => {
    let effects = 0;
    const life = await stage.open({
      engine: programThat(async (program) => {
        const call: GuestCall = { operation: "a.b", label: "write", effect: () => ++effects };
        const [first, second] = await Promise.allSettled([
          make(program, 0, call),
          make(program, 0, call),
        ]);
        expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
        return (await make(program, 0, call)) as unknown as Json;
      }),
    });
    expect(JSON.parse((await run(life.session(), "r1")).answer)).toEqual({ ok: true, value: 1 });
    expect(effects).toBe(1);
  });

  check("[J1] only a call that runs can be a program, and it is one program", async (stage) => {
    const life = await stage.open({
      engine: scriptedEngine(
        programThat(async (program) => {
          const live = lives.at(-1)!;
          const [last] = live.transcript().slice(-1);
          expect(await live.program({ assistant: last!.id, index: 0 })).toBe(program);
          await expect(live.program({ assistant: last!.id, index: 1 })).rejects.toThrow(
            "does not run",
          );
          await expect(live.program({ assistant: "ent_x_1", index: 0 })).rejects.toThrow();
        }),
        { onRun: (_, live) => void lives.push(live) },
      ),
    });
    const lives: Parameters<
      NonNullable<NonNullable<Parameters<typeof scriptedEngine>[1]>["onRun"]>
    >[1][] = [];
    expect((await run(life.session(), "r1")).answer).toBe("null");
  });

  check(
    "[J2] a program finds its seed, its beginning, its outcomes, their order and their times after a crash as they were",
    async (stage) => {
      const effects: string[] = [];
      const met: JsonObject[] = [];
      const engine = (isLast: boolean): EngineScript =>
        programThat(async (program) => {
          const slow = gate<string>();
          const calls = [
            make(program, 0, {
              operation: "a.slow",
              label: "write",
              effect: () => (effects.push("slow"), slow.opened),
            }),
            make(program, 1, {
              operation: "a.quick",
              label: "write",
              effect: () => (effects.push("quick"), { nested: [1, { x: "é" }], "-0": -0 }),
            }),
          ];
          await calls[1];
          stage.clock.pass(1_234);
          slow.open("late");
          const told = await Promise.all(calls);
          met.push({
            ...{ seed: program.seed, startedAt: program.startedAt, order: [...program.order] },
            at: program.order.map((ordinal) => program.recordedAt(ordinal)),
            told: told as unknown as Json,
          });
          if (!isLast) await never();
        });
      let life = await stage.open({ engine: engine(false) });
      const id = await sent(life.session(), prompt("r1"));
      await until(() => met.length === 1, "both calls");
      stage.clock.pass(60_000);
      life.die();
      life = await stage.open({ engine: engine(true) });
      await settled(life.session(), id);
      expect(met[1]).toEqual(met[0]);
      expect(met[0]).toMatchObject({
        order: [1, 0],
        seed: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
      const [quick, late] = met[0]!.at as number[];
      expect(late! - quick!).toBe(1_234);
      expect(effects.toSorted()).toEqual(["quick", "slow"]);
      expect(await inProgram(life.session())).toHaveLength(5);
    },
  );

  for (const [how, count] of [
    ["a few", 2],
    ["a thousand", 1_000],
  ] as const)
    check(
      `[J12] ${how} names of a program are those of its beginning in each life`,
      async (stage) => {
        const names = { api: Array.from({ length: count }, (_, at) => `operation${at}é`) };
        const met: ProgramNames[] = [];
        const engine = (now: ProgramNames, isLast: boolean): readonly Move[] =>
          programThat(async (program) => {
            met.push(program.names(now));
            await make(program, 0, { operation: "a.b", label: "read", effect: () => 1 });
            met.push(program.names(now));
            if (!isLast) await never();
          });
        let life = await stage.open({ engine: engine(names, false) });
        const id = await sent(life.session(), prompt("r1"));
        await until(() => met.length === 2, "the names");
        life.die();
        life = await stage.open({ engine: engine({ other: ["it"] }, true) });
        await settled(life.session(), id);
        expect(met).toEqual([names, names, names, names]);
      },
    );

  check("[J2] two programs of one message have a seed and ordinals of their own", async (stage) => {
    const seeds: string[] = [];
    const call = {
      name: "execute",
      replaySafe: true,
      program: async (program: Program) => {
        seeds.push(program.seed);
        await make(program, 0, { operation: "a.b", input: { n: seeds.length } });
        return "ok";
      },
    };
    const life = await stage.open({ engine: [{ calls: [call, call] }, { say: "ok" }] });
    await run(life.session(), "r1");
    expect(new Set(seeds).size).toBe(2);
    expect(
      (await outcomes(life.session())).map((it) => `${it.index}/${it.ordinal}`).toSorted(),
    ).toEqual(["0/0", "1/0"]);
  });
}

function deep(levels: number): Json {
  let value: Json = 1;
  for (let level = 0; level < levels; level++) value = [value];
  return value;
}
