import { expect } from "vitest";
import { until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, kindsOf, prompt, refusal, run, sent, settled } from "./stage.ts";

const cancel = (requestId: string, commandId: string, onlyIfPending?: boolean) => ({
  type: "cancel" as const,
  requestId,
  commandId,
  ...(onlyIfPending === undefined ? {} : { onlyIfPending }),
});

/** What cancel and abort promise on any host. */
export function cancelAbortContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[A10] a pending command that is cancelled never starts, and its text stays readable",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      const id = await sent(session, prompt("r1", { text: "x".repeat(50_000) }));
      expect(await session.send(cancel("c1", id))).toEqual({ status: "accepted", commandId: id });
      const settlement = await settled(session, id);
      expect(settlement).toMatchObject({ terminal: "cancelled", answer: "", toolCalls: 0 });
      const entries = await entriesOf(session);
      expect(entries.map((it) => it.kind)).toEqual([
        "command.queued",
        "command.cancelled",
        "run.settled",
      ]);
      expect(entries[1]!.data).toMatchObject({ was: "pending", text: entries[0]!.data.text });
      expect((await session.info()).state).toBe("idle");
      life.die();
      const next = await stage.open();
      await stage.clock.advance(100);
      expect(await kindsOf(next.session())).toHaveLength(3);
    },
  );

  check(
    "[A10] a running command that is cancelled settles cancelled, whatever its engine says",
    async (stage) => {
      const life = await stage.open({
        engine: () => [{ gate: () => held.opened }, { say: "done" }],
      });
      const held = gate();
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      await until(() => life.owner.running() === 1, "it runs");
      const release = life.holdSyncs();
      const cancelling = session.send(cancel("c1", id));
      await until(
        () => stage.sql.all("select 1 from entry where kind = 'command.cancelled'").length > 0,
        "the intent",
      );
      expect(life.owner.running()).toBe(1);
      release();
      expect(await cancelling).toEqual({ status: "accepted", commandId: id });
      expect((await settled(session, id)).terminal).toBe("cancelled");
      const kinds = await kindsOf(session);
      expect(kinds.indexOf("command.cancelled")).toBeLessThan(kinds.indexOf("run.settled"));
    },
  );

  check("[A10] what is settled, or has joined a run, is too late to cancel", async (stage) => {
    const life = await stage.open();
    const session = life.session();
    const { commandId } = await run(session, "r1");
    for (const requestId of ["c1", "c2"])
      expect(await session.send(cancel(requestId, commandId))).toEqual({
        status: "too_late",
        commandId,
      });
    expect(await session.send(cancel("c1", commandId))).toEqual({
      status: "too_late",
      commandId,
      replay: true,
    });
    expect((await session.readSettlement(commandId))!.terminal).toBe("completed");
  });

  check(
    "[A10] a pending-only cancel of a claimed command is too late and aborts nothing",
    async (stage) => {
      const held = gate();
      const life = await stage.open({ engine: [{ gate: held.opened }, { say: "done" }] });
      const session = life.session();
      const first = await sent(session, prompt("r1"));
      const second = await sent(session, prompt("r2"));
      expect((await session.send(cancel("c1", first, true))).status).toBe("too_late");
      expect((await session.send(cancel("c2", second, true))).status).toBe("accepted");
      held.open();
      expect((await settled(session, first)).terminal).toBe("completed");
      expect((await settled(session, second)).terminal).toBe("cancelled");
    },
  );

  check(
    "[A10] a cancel that meets the claim or the end of its command leaves one settlement",
    async (stage) => {
      const life = await stage.open({ engine: [{ say: "done" }] });
      for (let n = 0; n < 40; n++) {
        const session = life.session(`s${n}`);
        const id = await sent(session, prompt("r"));
        for (let turns = 0; turns < n % 5; turns++)
          await new Promise<void>((resolve) => void setImmediate(resolve));
        const receipt = await session.send(cancel("c", id));
        const { terminal } = await settled(session, id);
        expect(terminal).toBe(receipt.status === "accepted" ? "cancelled" : "completed");
        expect((await kindsOf(session)).filter((it) => it === "run.settled")).toHaveLength(1);
      }
    },
  );

  check(
    "[A10] a second cancel of one command is a second receipt with no second effect",
    async (stage) => {
      const held = gate();
      const life = await stage.open({ engine: [{ gate: () => held.opened }] });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const both = await Promise.all([
        session.send(cancel("c1", id)),
        session.send(cancel("c2", id)),
      ]);
      expect(both.map((it) => it.status)).toEqual(["accepted", "accepted"]);
      await settled(session, id);
      expect((await kindsOf(session)).filter((it) => it === "command.cancelled")).toHaveLength(1);
    },
  );

  check(
    "[A10] a cancel is replayed after a crash, and one of an unknown command is refused",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const id = await sent(life.session(), prompt("r1"));
      await life.session().send(cancel("c1", id));
      const elsewhere = await sent(life.session("other"), prompt("r1"));
      life.die();
      const next = await stage.open();
      expect(await next.session().send(cancel("c1", id))).toEqual({
        status: "accepted",
        commandId: id,
        replay: true,
      });
      for (const unknown of [
        elsewhere,
        "cmd_nothing_1",
        `${id}0`,
        id.replace(/_1$/, "_2147483647"),
      ])
        expect(await refusal(next.session().send(cancel(`c-${unknown}`, unknown)))).toBe(
          "unknown_command",
        );
    },
  );

  check(
    "[A11] abort cancels the running command and every queued one in one step",
    async (stage) => {
      const held = gate();
      const life = await stage.open({ engine: [{ gate: () => held.opened }, { say: "done" }] });
      const session = life.session();
      const ids: string[] = [];
      for (let n = 0; n < 5; n++) ids.push(await sent(session, prompt(`r${n}`)));
      const before = life.commits;
      const receipt = await session.send({ type: "abort", requestId: "x" });
      expect(receipt.status).toBe("accepted");
      expect(receipt.cancelled!.toSorted()).toEqual(ids.toSorted());
      const { seq: head } = (await entriesOf(session)).findLast(
        (it) => it.kind === "command.cancelled",
      )!;
      expect(head).toBeGreaterThan(5);
      expect(life.commits - before).toBeLessThanOrEqual(2);
      for (const id of ids) expect((await settled(session, id)).terminal).toBe("cancelled");
      const texts = (await entriesOf(session))
        .filter((it) => it.kind === "command.cancelled")
        .map((it) => JSON.stringify(it.data.text));
      expect(texts.toSorted()).toEqual(ids.map((_, n) => `"text of r${n}"`));
      expect(await session.send({ type: "abort", requestId: "x" })).toEqual({
        ...receipt,
        replay: true,
      });
    },
  );

  check(
    "[A11] abort where nothing runs or waits is accepted and affects nothing",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      await run(session, "r1");
      expect(await session.send({ type: "abort", requestId: "x" })).toEqual({
        status: "accepted",
        cancelled: [],
      });
      expect((await run(session, "r2")).terminal).toBe("completed");
    },
  );

  check(
    "[A11] a cancel that was recorded before a crash settles cancelled after it",
    async (stage) => {
      const life = await stage.open({ engine: [{ hang: true }] });
      const session = life.session();
      const running = await sent(session, prompt("r1"));
      const queued = await sent(session, prompt("r2"));
      await until(() => life.owner.running() === 1, "it runs");
      life.dieAfterCommits(1);
      void session.send({ type: "abort", requestId: "x" });
      await until(() => life.isDead, "the crash right after the abort's commit");
      const next = await stage.open();
      expect((await settled(next.session(), running)).terminal).toBe("cancelled");
      expect((await settled(next.session(), queued)).terminal).toBe("cancelled");
      expect((await next.session().send({ type: "abort", requestId: "x" })).cancelled).toHaveLength(
        2,
      );
    },
  );

  check(
    "[A23] an interrupt takes what was admitted before it: what runs, else what would run next",
    async (stage) => {
      const held = gate();
      const life = await stage.open({
        meta: { identityPath: "$.by" },
        engine: (work) => (work.text === "slow" ? [{ gate: () => held.opened }] : [{ say: "ok" }]),
      });
      const owner = life.agent.withMeta({ by: "phone" }, { stopsAll: true }).session("s");
      const slow = prompt("r1", { text: "slow" });
      // Asked at once, whatever has been done about the prompt by then.
      const [first, hit] = await Promise.all([sent(owner, slow), owner.interrupt()]);
      expect(hit).toBe(first);
      expect((await settled(owner, first)).terminal).toBe("cancelled");
      expect(await owner.interrupt()).toBeUndefined();
      const cancelled = (await entriesOf(owner)).find(({ kind }) => kind === "command.cancelled");
      expect(cancelled).toMatchObject({ commandId: first, by: "phone" });
      const running = await sent(owner, prompt("r2", { text: "slow" }));
      const waiting = await sent(owner, prompt("r3"));
      expect(await life.session("s").interrupt()).toBe(running);
      expect((await settled(owner, running)).terminal).toBe("cancelled");
      expect((await settled(owner, waiting)).terminal).toBe("completed");
      expect(await refusal(life.session("none").interrupt())).toBe("unknown_session");
      life.die();
      const full = await stage.open({ capacity: 0 });
      const [one, two] = [
        await sent(full.session("s"), prompt("r4")),
        await sent(full.session("s"), prompt("r5")),
      ];
      expect(await full.session("s").interrupt()).toBe(one);
      expect(await full.session("s").interrupt()).toBe(two);
      expect(await full.session("s").interrupt()).toBeUndefined();
      expect((await full.session("s").info()).state).toBe("idle");
    },
  );
}
