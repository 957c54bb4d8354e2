import type { JsonObject } from "@lichen/wire";
import { expect } from "vitest";
import type { Move } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import type { GuestCall } from "./guest.ts";
import { onStage } from "./on-stage.ts";
import { guestThat, inProgram, outcomes, never, asked } from "./program-kit.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, kindsOf, prompt, refusal, run, sent, settled } from "./stage.ts";

const paying = (effects: JsonObject[], more: Partial<GuestCall> = {}): readonly Move[] =>
  guestThat([
    {
      operation: "bank.pay",
      label: "write",
      input: { amount: 1 },
      confirm: { description: "Pay?" },
      effect: (input) => (effects.push(input), "paid"),
      ...more,
    },
  ]);

/** What a program promises that asks a person, on any host. */
export function programApprovalsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[J5] a person is asked once about exactly what runs, across restarts, and the program goes on with the answer",
    async (stage) => {
      const effects: JsonObject[] = [];
      let waiting = 0;
      const waits = () => (waiting++, () => void waiting--);
      const engine = paying(effects, { waits });
      let life = await stage.open({ engine, capacity: 1 });
      const id = await sent(life.session(), prompt("r1"));
      const [approval] = await asked(life.session());
      expect(approval).toMatchObject({
        ...{ kind: "tool", tool: "bank.pay", input: { amount: 1 }, description: "Pay?" },
      });
      const question = (await entriesOf(life.session())).find((it) => it.kind === "approval.asked");
      expect(question!.data).toMatchObject({ index: 0, ordinal: 0, assistant: expect.any(String) });
      await turns(10);
      expect(waiting).toBe(1);
      for (let n = 0; n < 8; n++) {
        if (n % 2 === 0) life.die();
        else await life.owner.close();
        life = await stage.open({ engine, capacity: 1 });
        await until(() => life.owner.running() > 0, "it waits again");
        await turns(8);
      }
      const { approvalId } = approval!;
      await life.session().send({ type: "answer", requestId: "a", approvalId, allow: true });
      expect((await settled(life.session(), id)).answer).toContain("paid");
      expect(effects).toEqual([{ amount: 1 }]);
      const kinds = await kindsOf(life.session());
      expect(kinds.filter((it) => it === "approval.asked")).toHaveLength(1);
      expect(kinds.filter((it) => it === "run.recovered")).toEqual([]);
      expect(kinds.indexOf("program.started")).toBeLessThan(kinds.indexOf("approval.asked"));
    },
  );

  check("[J5] while a program waits for a person its place is free", async (stage) => {
    const life = await stage.open({
      capacity: 1,
      engine: (work) => (work.text === "text of pays" ? paying([]) : [{ say: "ok" }]),
    });
    await sent(life.session(), prompt("pays"));
    await asked(life.session());
    expect((await run(life.session("other"), "r2")).answer).toBe("ok");
  });

  for (const [what, code] of [
    ["denied", "denied"],
    ["not answered in time", "expired"],
  ] as const)
    check(`[J5] a call that is ${what} never runs, and fails as ${code}`, async (stage) => {
      const effects: JsonObject[] = [];
      const life = await stage.open({ engine: paying(effects), approvalTtlMs: 5_000 });
      const id = await sent(life.session(), prompt("r1"));
      const [approval] = await asked(life.session());
      if (code === "denied")
        await life.session().send({
          ...{ type: "answer", requestId: "a", approvalId: approval!.approvalId },
          ...{ allow: false, message: "too dear" },
        });
      else await stage.clock.advance(5_001);
      expect((await settled(life.session(), id)).toolCalls).toBe(1);
      const [outcome] = await outcomes(life.session());
      expect(outcome).toMatchObject({ ok: false, code, operation: "bank.pay" });
      if (code === "denied") expect(outcome!.message).toContain("too dear");
      expect(effects).toEqual([]);
      expect(await kindsOf(life.session())).not.toContain("program.call");
    });

  check("[J5] a refused call is refused after a crash without asking again", async (stage) => {
    const effects: JsonObject[] = [];
    let hangs = true;
    const engine = guestThat([
      {
        ...{ operation: "bank.pay", label: "write", confirm: {}, input: { amount: 1 } },
        effect: (input) => (effects.push(input), "paid"),
        then: [{ operation: "a.b", effect: () => (hangs ? never() : "ok") }],
      },
    ]);
    const life = await stage.open({ engine });
    const id = await sent(life.session(), prompt("r1"));
    const [approval] = await asked(life.session());
    const { approvalId } = approval!;
    await life.session().send({ type: "answer", requestId: "a", approvalId, allow: false });
    await until(async () => (await kindsOf(life.session())).includes("program.call"), "the next");
    life.die();
    hangs = false;
    const next = await stage.open({ engine });
    expect((await settled(next.session(), id)).answer).toContain("denied");
    expect((await kindsOf(next.session())).filter((it) => it === "approval.asked")).toHaveLength(1);
    expect(effects).toEqual([]);
  });

  check(
    "[J5] an input that a person edited is checked, recorded, runs, and is the same after a crash",
    async (stage) => {
      const effects: JsonObject[] = [];
      const amountOnly = (input: JsonObject): JsonObject => {
        if (typeof input.amount !== "number") throw new Error("amount must be a number");
        return { amount: input.amount };
      };
      const engine = paying(effects, {
        replaySafe: true,
        check: amountOnly,
        effect: (input) => (effects.push(input), effects.length === 1 ? never() : "paid"),
      });
      const life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      const [approval] = await asked(life.session());
      const answer = {
        type: "answer",
        approvalId: approval!.approvalId,
        allow: true,
      } as const;
      await turns(5);
      expect(
        await refusal(life.session().send({ ...answer, requestId: "a1", input: { amount: "x" } })),
      ).toBe("invalid");
      await life.session().send({ ...answer, requestId: "a2", input: { amount: 7, more: true } });
      await until(() => effects.length === 1, "the effect");
      life.die();
      const next = await stage.open({ engine });
      expect((await settled(next.session(), id)).answer).toContain("paid");
      expect(effects).toEqual([{ amount: 7 }, { amount: 7 }]);
      const started = (await inProgram(next.session())).find((it) => it.kind === "program.call")!;
      expect(started.data).toMatchObject({ input: { amount: 7 } });
    },
  );

  check(
    "[J5] an answer that came while nobody ran is used when the program goes on",
    async (stage) => {
      const effects: JsonObject[] = [];
      const life = await stage.open({ engine: paying(effects) });
      const id = await sent(life.session(), prompt("r1"));
      const [approval] = await asked(life.session());
      life.die();
      const closed = await stage.open({ capacity: 0 });
      const { approvalId } = approval!;
      await closed.session().send({ type: "answer", requestId: "a", approvalId, allow: true });
      closed.die();
      const next = await stage.open({ engine: paying(effects) });
      expect((await settled(next.session(), id)).answer).toContain("paid");
      expect(effects).toHaveLength(1);
    },
  );
}
