import { expect } from "vitest";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { kindsOf, line, prompt, refusal, run, sent } from "./stage.ts";

/** What withdrawing a request promises on any host. */
export function withdrawContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check("[A8] a withdrawn request is refused for ever, also after a crash", async (stage) => {
    const life = await stage.open();
    expect(await life.session().withdraw("r1")).toEqual({ status: "unknown" });
    expect(await refusal(life.session().send(prompt("r1")))).toBe("withdrawn");
    life.die();
    const next = await stage.open();
    expect(await refusal(next.session().send(prompt("r1")))).toBe("withdrawn");
    expect(await refusal(next.session().send(line("r1")))).toBe("withdrawn");
    expect(await next.session().withdraw("r1")).toEqual({ status: "unknown" });
    expect((await next.agent.sessions()).sessions).toEqual([]);
  });

  check("[A8] `unknown` is answered only once the fence is durable", async (stage) => {
    const life = await stage.open();
    const release = life.holdSyncs();
    let isAnswered = false;
    const withdrawing = life
      .session()
      .withdraw("r1")
      .then(() => (isAnswered = true));
    const sending = refusal(life.session().send(prompt("r1")));
    for (let n = 0; n < 10; n++) await new Promise<void>((resolve) => void setImmediate(resolve));
    expect(isAnswered).toBe(false);
    release();
    await withdrawing;
    expect(await sending).toBe("withdrawn");
  });

  check(
    "[A8] a request that a deleted session had admitted is closed, one it had fenced stays withdrawn",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      await run(session, "r1");
      await session.withdraw("r2");
      await session.delete();
      expect(await refusal(session.send(prompt("r1")))).toBe("closed");
      expect(await refusal(session.send(prompt("r2")))).toBe("withdrawn");
      await run(session, "r3");
      expect(await refusal(session.send(prompt("r1")))).toBe("closed");
      expect(await refusal(session.send(prompt("r2")))).toBe("withdrawn");
      await stage.clock.advance(10_000);
      life.die();
      const next = await stage.open();
      expect(await refusal(next.session().send(prompt("r1")))).toBe("closed");
      expect(await refusal(next.session().send(prompt("r2")))).toBe("withdrawn");
      expect((await next.session().send(prompt("r3"))).replay).toBe(true);
    },
  );

  check(
    "[A16] withdrawing what was admitted answers its id, cancels nothing, and answers the same again",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      const commandId = await sent(session, prompt("r1"));
      const { entryId } = await session.send(line("l1"));
      for (let n = 0; n < 2; n++) {
        expect(await session.withdraw("r1")).toEqual({ status: "accepted", commandId });
        expect(await session.withdraw("l1")).toEqual({ status: "accepted", commandId: entryId });
      }
      expect(await kindsOf(session)).toEqual(["command.queued", "line"]);
      expect((await session.send(prompt("r1"))).replay).toBe(true);
    },
  );

  check(
    "[A16] of an admission and a withdrawal that meet exactly one wins, and both say so",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      for (let n = 0; n < 20; n++) {
        const session = life.session(`s${n}`);
        const isAdmissionFirst = n % 2 === 0;
        const admit = (): Promise<string> => refusal(session.send(prompt("r")));
        const withdraw = (): Promise<string> => session.withdraw("r").then((it) => it.status);
        const [a, b] = await Promise.all(
          isAdmissionFirst ? [admit(), withdraw()] : [withdraw(), admit()],
        );
        expect([a, b]).toEqual(
          isAdmissionFirst ? ["no refusal", "accepted"] : ["unknown", "withdrawn"],
        );
      }
    },
  );

  check("[A16] a fence holds in its own session only and makes no session", async (stage) => {
    const life = await stage.open({ agents: ["a", "b"] });
    await life.session("one").withdraw("r");
    expect(await refusal(life.session("one").read())).toBe("unknown_session");
    expect(await refusal(life.session("two").send(prompt("r")))).toBe("no refusal");
    expect(await refusal(life.owner.agent("b")!.session("one").send(prompt("r")))).toBe(
      "no refusal",
    );
    expect(await refusal(life.session("one").withdraw("a\nb"))).toBe("invalid");
  });

  check(
    "[A16] what can not be withdrawn is said to be there, never to be unknown",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      await session.send(prompt("r1"));
      await session.send({ type: "abort", requestId: "x" });
      expect(await refusal(session.withdraw("x"))).toBe("conflict");
      expect((await session.send({ type: "abort", requestId: "x" })).replay).toBe(true);
    },
  );

  check(
    "[A17] a session holds 4,096 fences and refuses more rather than forget one",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      await Promise.all(Array.from({ length: 4_096 }, (_, n) => session.withdraw(`r${n}`)));
      expect(await refusal(session.withdraw("more"))).toBe("capacity");
      expect(await session.withdraw("r7")).toEqual({ status: "unknown" });
      expect(await refusal(session.send(prompt("r0")))).toBe("withdrawn");
      expect(await refusal(session.send(prompt("more")))).toBe("no refusal");
      expect(await life.session("other").withdraw("more")).toEqual({ status: "unknown" });
    },
  );
}
