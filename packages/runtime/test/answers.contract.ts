// Answers to questions: what is one, and what is refused before anybody reads it.

import { Fault, type JsonObject } from "@lichen/wire";
import { expect } from "vitest";
import { scriptedEngine } from "../src/testing/index.ts";
import { until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { prompt, sent, settled } from "./stage.ts";

const colour = { question: "Which colour?", options: [{ label: "Red" }] };
const size = { question: `How big? ${"x".repeat(600_000)}` };
const name = { question: "What name?" };

/** What approvals promise of answers, on any host. */
export function answersContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[P9] answers are texts under their questions, all that a harness needs; others are refused, with the questions, and it goes on waiting",
    async (stage) => {
      const asking = {
        ...{ kind: "question" as const, key: "q", prompt: "p-1" },
        ...{ questions: [colour, size, name], optional: [name.question] },
      };
      const engine = scriptedEngine([
        { ask: asking },
        { say: ({ answers }) => JSON.stringify(answers[0]?.answers) },
      ]);
      const life = await stage.open({ engine });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      await until(async () => (await session.info()).approvals === 1, "it asks");
      const [approval] = (await session.read()).approvals;
      expect(approval).toMatchObject({ optional: [name.question] });
      let count = 0;
      const give = (extra: JsonObject) =>
        session.send({
          ...{ type: "answer", requestId: `a${++count}` },
          ...{ approvalId: approval!.approvalId, allow: true, ...extra },
        });
      const both = { [colour.question]: "Red", [size.question]: "Big" };
      const refused: readonly (readonly [JsonObject, string])[] = [
        [{}, "nothing answers"],
        [{ answers: {} }, "nothing answers"],
        [{ message: "whatever" }, "nothing answers"],
        [{ answers: { [colour.question]: "Red" } }, 'nothing answers "How big?'],
        [{ answers: { ...both, [size.question]: " " } }, 'nothing answers "How big?'],
        [{ answers: { ...both, [colour.question]: 3 } }, '"Which colour?" is no text'],
        [{ answers: { ...both, [colour.question]: [3] } }, '"Which colour?" is no text'],
        [{ answers: { ...both, [name.question]: null } }, '"What name?" is no text'],
        [{ answers: { ...both, "Nonsense?": "Red" } }, '"Nonsense?" is none of the questions'],
        [{ answers: { ...both, toString: "Red" } }, '"toString" is none of the questions'],
      ];
      for (const [extra, why] of refused) {
        const error: unknown = await give(extra).catch((it: unknown) => it);
        if (!Fault.is(error)) throw new Error(`it was taken: ${JSON.stringify(extra)}`);
        expect(error.code).toBe("invalid");
        expect(error.message).toContain(why);
        expect(error.message).toContain('"Which colour?"');
        expect(error.message.length).toBeLessThan(2_000);
      }
      expect((await session.info()).approvals).toBe(1);
      await give({ answers: { ...both, [colour.question]: ["Red", "Blue"] } });
      expect(JSON.parse((await settled(session, id)).answer)).toEqual({
        ...both,
        [colour.question]: "Red, Blue",
      });
    },
  );

  check(
    "[P9] words answer a single question, a tool's questions may be left out, and a denial needs no answer",
    async (stage) => {
      const asks = [
        { kind: "question" as const, key: "a", prompt: "a", questions: [colour] },
        { kind: "question" as const, key: "b", questions: [colour, name] },
        { kind: "question" as const, key: "c", prompt: "c", questions: [colour, name] },
      ];
      const engine = scriptedEngine([
        ...asks.map((ask) => ({ ask })),
        { say: ({ answers }) => answers.map(({ outcome }) => outcome).join(" ") },
      ]);
      const life = await stage.open({ engine });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      for (const [at, extra] of [
        { allow: true, message: "Green" },
        { allow: true },
        { allow: false, answers: { "Nonsense?": 3 } },
      ].entries()) {
        await until(async () => (await session.read()).approvals.length === 1, `asks ${at}`);
        const [approval] = (await session.read()).approvals;
        const { approvalId } = approval!;
        await session.send({ type: "answer", requestId: `a${at}`, approvalId, ...extra });
        await until(
          async () => (await session.read()).approvals[0]?.approvalId !== approvalId,
          "it is decided",
        );
      }
      expect((await settled(session, id)).answer).toBe("allowed allowed denied");
    },
  );
}
