// What becomes of numbers where nothing but the settlement tells how a command ended.

import { isMachineEvent } from "@lichen/wire";
import { expect } from "vitest";
import { scriptedEngine } from "../src/testing/index.ts";
import { until } from "./clock.ts";
import { countedOf, harnessed, numberedSession, shownOf } from "./harness.contract.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, prompt, sent, settled } from "./stage.ts";

/** What the numbers of events promise of ends, on any host. */
export function untoldContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[RH2] an end that no line tells, and a prompt that nobody answers, have a number; in logs that do not say so they have none",
    async (stage) => {
      const ask = { kind: "tool" as const, prompt: "p-1", key: "p-1", tool: "Bash", input: {} };
      const { engine } = harnessed(
        scriptedEngine((work) => (work.text.endsWith("asks") ? [{ ask }] : [{ fail: "no luck" }])),
      );
      const life = await stage.open({ engine });
      const session = await numberedSession(life);
      await settled(session, await sent(session, prompt("fails")));
      const asking = await sent(session, prompt("asks"));
      await until(async () => (await session.info()).approvals === 1, "it asks");
      const waiting = await sent(session, prompt("waits"));
      await session.send({ type: "cancel", requestId: "c1", commandId: waiting });
      await session.send({ type: "cancel", requestId: "c2", commandId: asking });
      await settled(session, asking);
      const entries = await entriesOf(session);
      const numbered = new Set((await shownOf(session)).map(({ seq }) => seq));
      const shown = entries.filter(({ seq }) => numbered.has(seq));
      expect(shown.map(({ kind, data }) => [kind, data["untold"] ?? data["prompt"]])).toEqual([
        ["message.user", undefined],
        ["run.settled", {}],
        ["message.user", undefined],
        ["run.settled", { message: "text of waits" }],
        ["approval.withdrawn", "p-1"],
        ["run.settled", {}],
      ]);
      expect(await shownOf(session)).toEqual(await countedOf(session));
      for (const { kind, data } of shown) {
        const { untold: _untold, prompt: _prompt, ...before } = data;
        expect(isMachineEvent({ kind, data: before })).toBe(kind === "message.user");
      }
      // A session without numbers says nothing of the kind.
      const other = life.session("other");
      await settled(other, await sent(other, prompt("fails")));
      expect((await entriesOf(other)).some(({ data }) => data["untold"] !== undefined)).toBe(false);
    },
  );

  check(
    "[RH2] a prompt that another run asks again, or that asks something else by now, goes on: its withdrawal has no number",
    async (stage) => {
      const tool = (command: string) =>
        ({ key: "p-1", prompt: "p-1", kind: "tool", tool: "Bash", input: { command } }) as const;
      const { engine } = harnessed({
        ...scriptedEngine(),
        open: () => ({
          stays: true,
          close: () => Promise.resolve(),
          run: async (_work, live) => {
            const first = live.ask(tool("ls"));
            await until(() => stage.sql.all("select 1 from approval").length === 1, "asked");
            const second = live.ask(tool("pwd"));
            await until(() => stage.sql.all("select 1 from approval").length === 2, "asked anew");
            await live.withdrawQuestion("p-1", "its turn is over", { isAskedAgain: true });
            await Promise.all([first, second]);
            const third = live.ask(tool("cat"));
            await until(() => stage.sql.all("select 1 from approval").length === 3, "and again");
            await live.withdrawQuestions("p-", "the process ended");
            await third;
            return { terminal: "completed" };
          },
        }),
      });
      const life = await stage.open({ engine });
      const session = await numberedSession(life);
      await settled(session, await sent(session, prompt("asks")));
      const withdrawn = (await entriesOf(session)).filter(
        ({ kind }) => kind === "approval.withdrawn",
      );
      expect(withdrawn.map(({ data }) => [data["reason"], data["prompt"]])).toEqual([
        ["something else is asked", undefined],
        ["its turn is over", undefined],
        ["the process ended", "p-1"],
      ]);
      const numbered = new Set((await shownOf(session)).map(({ seq }) => seq));
      expect(withdrawn.map(({ seq }) => numbered.has(seq))).toEqual([false, false, true]);
    },
  );
}
