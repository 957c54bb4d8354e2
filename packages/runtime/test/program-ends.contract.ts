import { expect } from "vitest";
import type { Program, Run } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import type { GuestCall } from "./guest.ts";
import { onStage } from "./on-stage.ts";
import { programThat, guestThat, make, outcomes, never, asked, bytes } from "./program-kit.ts";
import type { WithSql } from "./sql.contract.ts";
import { gate, kindsOf, prompt, refusal, run, sent, settled, type Stage } from "./stage.ts";

/** How programs end, on any host. */
export function programEndsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[J6] what a program leaves open when its call ends is closed as interrupted, and it writes nothing more",
    async (stage) => {
      const late = gate<string>();
      const refused: Promise<string>[] = [];
      const kept: Program[] = [];
      const life = await stage.open({
        engine: [
          {
            calls: [
              {
                name: "execute",
                replaySafe: true,
                program: async (program) => {
                  kept.push(program);
                  refused.push(
                    refusal(
                      make(program, 0, {
                        ...{ operation: "a.late", label: "write", effect: () => late.opened },
                      }),
                    ),
                    refusal(make(program, 1, { operation: "a.ask", confirm: {} })),
                  );
                  await asked(life.session());
                  await until(() => program.order.length === 0, "nothing ended");
                  await program.save({ engine: "e", delivered: 0, bytes: bytes(10) });
                  return "gave up";
                },
              },
            ],
          },
          {
            gate: async () => {
              late.open("too late");
              await Promise.allSettled(refused.slice(0, 1));
            },
          },
          { say: "ok" },
        ],
      });
      const { terminal } = await run(life.session(), "r1");
      expect(terminal).toBe("completed");
      expect(await refused[0]).toBe("stale");
      expect(await refusal(make(kept[0]!, 2, { operation: "a.b" }))).toBe("stale");
      expect(await refusal(kept[0]!.save({ engine: "e", delivered: 0, bytes: bytes(1) }))).toBe(
        "stale",
      );
      expect(stage.sql.all("select 1 from program_snapshot")).toEqual([]);
      const kinds = await kindsOf(life.session());
      const end = kinds.indexOf("message.tool");
      expect(kinds.slice(end - 2, end).toSorted()).toEqual([
        "approval.withdrawn",
        "program.outcome",
      ]);
      expect(await outcomes(life.session())).toMatchObject([
        { ordinal: 0, ok: false, code: "interrupted", interrupted: true },
      ]);
      expect((await life.session().info()).approvals).toBe(0);
    },
  );

  for (const [label, terminal] of [
    ["write", "outcome_unknown"],
    ["read", "interrupted"],
  ] as const)
    check(
      `[J6] past the budget a run with an open ${label} call of a program settles ${terminal}`,
      async (stage) => {
        let effects = 0;
        const engine = guestThat([
          { operation: "a.b", label, replaySafe: true, effect: () => (effects++, never()) },
        ]);
        let life = await stage.open({ engine });
        const id = await sent(life.session(), prompt("r1"));
        for (let n = 1; n <= 3; n++) {
          await until(() => effects === n, "the effect");
          life.die();
          life = await stage.open({ engine });
        }
        await until(() => effects === 4, "the effect");
        life.die();
        life = await stage.open({ engine });
        expect((await settled(life.session(), id)).terminal).toBe(terminal);
        const kinds = await kindsOf(life.session());
        expect(kinds.slice(-3)).toEqual(["program.outcome", "message.tool", "run.settled"]);
      },
    );

  check("[J6] a cancelled run closes its programs and withdraws what they ask", async (stage) => {
    const life = await stage.open({
      engine: guestThat([
        { operation: "a.b", label: "write", effect: never },
        { operation: "a.ask", confirm: {} },
      ]),
    });
    const id = await sent(life.session(), prompt("r1"));
    await asked(life.session());
    await life.session().send({ type: "cancel", requestId: "c", commandId: id });
    await stage.clock.advance(10_001);
    expect((await settled(life.session(), id)).terminal).toBe("cancelled");
    const kinds = await kindsOf(life.session());
    for (const kind of ["approval.withdrawn", "program.outcome", "message.tool"])
      expect(kinds.filter((it) => it === kind)).toHaveLength(1);
    expect((await life.session().info()).approvals).toBe(0);
  });

  check(
    "[J6] an abort leaves a program's call open for the process that goes on",
    async (stage) => {
      let effects = 0;
      const engine = guestThat([
        {
          operation: "a.b",
          effect: (_, signal) =>
            ++effects > 1
              ? "ok"
              : new Promise<never>((_resolve, reject) =>
                  signal.addEventListener("abort", () => reject(signal.reason as Error)),
                ),
        },
      ]);
      const life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      await until(() => effects === 1, "the effect");
      await life.owner.close({ patienceMs: 0 });
      expect((await inProgramOf(stage)).map((it) => it.kind)).toEqual([
        "program.started",
        "program.call",
      ]);
      const next = await stage.open({ engine });
      expect((await settled(next.session(), id)).answer).toContain("ok");
    },
  );

  check(
    "[J6] a commit that fails stops the run, and the calls beside it begin nothing more",
    async (stage) => {
      const seen: string[] = [];
      const life = await stage.open({
        engine: programThat(async (program, signal) => {
          life.trouble = (statement) =>
            statement.startsWith("insert into program_call")
              ? new Error("the disk is full")
              : undefined;
          const [first, second] = await Promise.allSettled([
            make(program, 0, { operation: "a.b", effect: () => void seen.push("effect") }),
            make(program, 1, { operation: "a.c", effect: () => void seen.push("effect") }),
          ]);
          expect([first.status, second.status]).toEqual(["rejected", "rejected"]);
          expect(signal.aborted).toBe(true);
          life.trouble = undefined;
          await refusal(
            make(program, 2, { operation: "a.d", effect: () => void seen.push("late") }),
          );
        }),
      });
      expect((await run(life.session(), "r1")).terminal).not.toBe("completed");
      expect(seen).toEqual([]);
    },
  );

  check(
    "[J13] a host that stops lets a program's calls end while another waits for a person, and then waits no longer",
    async (stage) => {
      const writing = gate<string>();
      let written = 0;
      const engine = guestThat([
        { operation: "a.pay", label: "write", confirm: {}, effect: () => "paid" },
        { operation: "a.write", label: "write", effect: () => (written++, writing.opened) },
      ]);
      const life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      await until(() => written === 1, "the effect");
      const [approval] = await asked(life.session());
      const began = stage.clock.now();
      let isClosed = false;
      const closed = life.owner.close({ patienceMs: 60_000 }).then(() => (isClosed = true));
      await turns(20);
      expect(isClosed).toBe(false);
      writing.open("written");
      await closed;
      expect(stage.clock.now()).toBe(began);
      const next = await stage.open({ engine });
      const { approvalId } = approval!;
      await next.session().send({ type: "answer", requestId: "a", approvalId, allow: true });
      expect((await settled(next.session(), id)).terminal).toBe("completed");
      expect(written).toBe(1);
      expect(await outcomes(next.session())).toMatchObject([
        { operation: "a.write", ok: true, value: "written" },
        { operation: "a.pay", ok: true, value: "paid" },
      ]);
    },
  );

  check(
    "[J13] a call that asks a person itself, in a program or not, holds up no host that stops",
    async (stage) => {
      let live: Run | undefined;
      const ask = (key: string) => async () => {
        await live!.ask({ key, kind: "question", questions: [key] });
        return "told";
      };
      const engine = scriptedEngine(
        [
          {
            calls: [
              { name: "plain", effect: ask("plain") },
              {
                name: "execute",
                replaySafe: true,
                program: async (program) => {
                  await make(program, 0, { operation: "a.ask", effect: ask("within") });
                  return "done";
                },
              },
            ],
          },
        ],
        { onRun: (_, run) => void (live = run) },
      );
      const life = await stage.open({ engine });
      await sent(life.session(), prompt("r1"));
      await asked(life.session(), 2);
      await turns(10);
      const began = stage.clock.now();
      await life.owner.close({ patienceMs: 60_000 });
      expect(stage.clock.now()).toBe(began);
    },
  );

  check(
    "[J10] calls of programs count in the settlement, and each renews the budget of recoveries",
    async (stage) => {
      let hangs = true;
      const steps: number[] = [];
      const engine = guestThat([
        {
          operation: "a.b",
          then: [0, 1, 2, 3, 4, 5].reduceRight<readonly GuestCall[]>(
            (then, n) => [
              {
                operation: `a.n${n}`,
                effect: () => (
                  steps.push(n),
                  hangs && steps.filter((it) => it === n).length < 3 ? never() : n
                ),
                then,
              },
            ],
            [],
          ),
        },
      ]);
      let life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      for (let n = 0; n < 12; n++) {
        await until(() => steps.length > n + Math.floor(n / 2), "a step");
        life.die();
        life = await stage.open({ engine });
      }
      hangs = false;
      expect(await settled(life.session(), id)).toMatchObject({
        terminal: "completed",
        toolCalls: 8,
      });
    },
  );
}

/** Of a database that nobody owns just now. */
async function inProgramOf(stage: Stage): Promise<{ kind: string }[]> {
  return stage.sql.all<{ kind: string }>(
    "select kind from entry where kind like 'program.%' order by eid",
  );
}
