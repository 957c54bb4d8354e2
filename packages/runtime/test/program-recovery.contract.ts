import type { Json, JsonObject } from "@lichen/wire";
import { expect } from "vitest";
import type { Run } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import { programThat, guestThat, make, outcomes, never, asked } from "./program-kit.ts";
import type { WithSql } from "./sql.contract.ts";
import { prompt, refusal, sent, settled } from "./stage.ts";

/** What becomes of a program whose process died, on any host. */
export function programRecoveryContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  for (const [what, other] of [
    ["another operation", { operation: "a.other", input: { n: 1 } }],
    ["another input", { operation: "a.b", input: { n: 2 } }],
  ] as const)
    for (const state of ["an outcome", "an open call", "a question"] as const)
      check(
        `[J3] ${what} than the record holds, where there is ${state}, is refused as diverged and runs nothing`,
        async (stage) => {
          let effects = 0;
          let tries = 0;
          const life = await stage.open({
            engine: programThat(async (program) => {
              tries++;
              await make(program, 0, {
                operation: "a.b",
                input: { n: 1 },
                ...(state === "a question" ? { confirm: {} } : {}),
                effect: () => (effects++, state === "an open call" ? never() : "ok"),
              });
              await never();
            }),
          });
          const id = await sent(life.session(), prompt("r1"));
          if (state === "a question") await asked(life.session());
          else await until(() => effects === 1, "the effect");
          await turns(12);
          life.die();
          const refused: string[] = [];
          const next = await stage.open({
            engine: programThat(async (program) => {
              refused.push(await refusal(make(program, 0, { ...other, effect: () => ++effects })));
            }),
          });
          await settled(next.session(), id);
          expect(refused).toEqual(["diverged"]);
          expect(tries).toBe(1);
          expect(effects).toBe(state === "a question" ? 0 : 1);
          expect((await next.session().info()).approvals).toBe(0);
        },
      );

  for (const [label, replaySafe, runs] of [
    ["read", false, 2],
    ["write", true, 2],
    ["write", false, 1],
  ] as const)
    check(
      `[J4] a program's call left open runs ${runs === 1 ? "never" : "once"} more where it is labelled ${label}${replaySafe ? " and replay-safe" : ""}`,
      async (stage) => {
        const inputs: JsonObject[] = [];
        const engine = guestThat([
          {
            operation: "a.b",
            ...{ label, replaySafe, input: { text: "x".repeat(40_000) } },
            effect: (input) => (inputs.push(input), inputs.length === 1 ? never() : "at last"),
          },
        ]);
        const life = await stage.open({ engine });
        const id = await sent(life.session(), prompt("r1"));
        await until(() => inputs.length === 1, "the effect");
        life.die();
        const next = await stage.open({ engine });
        const { terminal, toolCalls, answer } = await settled(next.session(), id);
        expect({ terminal, toolCalls }).toEqual({ terminal: "completed", toolCalls: 2 });
        expect(inputs).toEqual(Array.from({ length: runs }, () => ({ text: "x".repeat(40_000) })));
        const [outcome, ...others] = await outcomes(next.session());
        expect(others).toEqual([]);
        expect(outcome).toMatchObject(
          runs === 2
            ? { ok: true, value: "at last" }
            : { ok: false, code: "interrupted", interrupted: true },
        );
        expect(answer).toContain(runs === 2 ? "at last" : "effect is unknown");
      },
    );

  check(
    "[J15] a read of a program that ends its host each time uses up the budget, also while a person is waited for",
    async (stage) => {
      let reads = 0;
      const engine = guestThat([
        { operation: "a.pay", label: "write", confirm: {} },
        { operation: "a.read", effect: () => (reads++, never()) },
      ]);
      let life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      for (let n = 1; n <= 4; n++) {
        await until(() => reads === n, "the read");
        await asked(life.session());
        life.die();
        life = await stage.open({ engine });
      }
      expect((await settled(life.session(), id)).terminal).toBe("interrupted");
      expect(reads).toBe(4);
      expect((await life.session().info()).approvals).toBe(0);
    },
  );

  check(
    "[J15] a program whose calls all wait for people waits for any number of hosts, asked before a call and in it",
    async (stage) => {
      let live: Run | undefined;
      const script = programThat(async (program) => {
        const asks = async () => {
          const key = "the-call/0/program/1/ask/0";
          const { outcome } = await live!.ask({ key, kind: "question", questions: ["tea?"] });
          return outcome;
        };
        const outcomes = await Promise.all([
          make(program, 0, { operation: "a.pay", confirm: {} }),
          make(program, 1, { operation: "a.ask", effect: asks }),
        ]);
        return outcomes as unknown as Json;
      });
      const engine = scriptedEngine(script, { onRun: (_, run) => void (live = run) });
      let life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      for (let n = 0; n < 8; n++) {
        await asked(life.session(), 2);
        await turns(10);
        life.die();
        life = await stage.open({ engine });
      }
      for (const { approvalId } of await asked(life.session(), 2))
        await life
          .session()
          .send({ type: "answer", requestId: approvalId, approvalId, allow: true });
      expect((await settled(life.session(), id)).answer).toContain("a.pay done");
    },
  );

  check(
    "[J4] a label that was lowered between two lives does not make a program's call run again",
    async (stage) => {
      let effects = 0;
      const engine = (label: "read" | "write") =>
        guestThat([
          {
            operation: "a.b",
            label,
            replaySafe: label === "read",
            effect: () => (effects++, never()),
          },
        ]);
      const life = await stage.open({ engine: engine("write") });
      const id = await sent(life.session(), prompt("r1"));
      await until(() => effects === 1, "the effect");
      life.die();
      const next = await stage.open({ engine: engine("read") });
      expect((await settled(next.session(), id)).answer).toContain("interrupted");
      expect(effects).toBe(1);
    },
  );
}
