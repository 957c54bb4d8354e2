import { expect } from "vitest";
import { scriptedEngine } from "../src/testing/index.ts";
import { until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, line, prompt, sent, settled } from "./stage.ts";

/** What steers and lines promise on any host. */
export function steersContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[Q6] a steer joins the running command at its next safe point and settles with it",
    async (stage) => {
      const held = gate();
      const usage = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };
      const life = await stage.open({
        engine: [{ gate: held.opened }, { steers: true }, { say: "both answered", usage }],
      });
      const session = life.session();
      const first = await sent(session, prompt("r1"));
      const steer = await sent(session, prompt("r2", { delivery: "steer" }));
      expect((await session.read()).pending).toMatchObject([{ commandId: steer }]);
      held.open();
      expect(await settled(session, first)).toMatchObject({ answer: "both answered", usage });
      expect(await settled(session, steer)).toMatchObject({
        terminal: "completed",
        answer: "both answered",
        toolCalls: 0,
        usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      });
      const entries = await entriesOf(session);
      expect(
        entries.find((it) => it.commandId === steer && it.kind === "message.user"),
      ).toMatchObject({
        requestId: "r2",
        data: { text: "text of r2", steers: first },
      });
      expect(entries.filter((it) => it.kind === "run.started")).toHaveLength(1);
      expect(
        (await session.send({ type: "cancel", requestId: "c", commandId: steer })).status,
      ).toBe("too_late");
    },
  );

  check("[Q7] a steer that finds nothing running is an ordinary prompt", async (stage) => {
    const life = await stage.open();
    const session = life.session();
    const id = await sent(session, prompt("r1", { delivery: "steer" }));
    expect((await settled(session, id)).terminal).toBe("completed");
    expect((await entriesOf(session)).map((it) => it.kind)).toEqual([
      "command.queued",
      "run.started",
      "message.user",
      "message.assistant",
      "run.settled",
    ]);
  });

  check(
    "[Q7] a steer that arrives at the very end of a run is lost neither to it nor to the next",
    async (stage) => {
      const life = await stage.open({ engine: [{ steers: true }, { say: "ok" }] });
      for (let n = 0; n < 40; n++) {
        const session = life.session(`s${n}`);
        const first = await sent(session, prompt("r1"));
        for (let turns = 0; turns < n % 8; turns++)
          await new Promise<void>((resolve) => void setImmediate(resolve));
        const steer = await sent(session, prompt("r2", { delivery: "steer" }));
        expect((await settled(session, first)).terminal).toBe("completed");
        expect((await settled(session, steer)).terminal).toBe("completed");
        const users = (await entriesOf(session)).filter((it) => it.kind === "message.user");
        expect(users.map((it) => it.requestId)).toEqual(["r1", "r2"]);
      }
    },
  );

  check(
    "[Q7] a steer that waited when the process died joins the run that goes on",
    async (stage) => {
      const life = await stage.open({ engine: [{ hang: true }] });
      const first = await sent(life.session(), prompt("r1"));
      const steer = await sent(life.session(), prompt("r2", { delivery: "steer" }));
      life.die();
      const next = await stage.open({ engine: [{ steers: true }, { say: "ok" }] });
      await settled(next.session(), first);
      await settled(next.session(), steer);
      const joined = (await entriesOf(next.session())).find(
        (it) => it.commandId === steer && it.kind === "message.user",
      );
      expect(joined!.data.steers).toBe(first);
    },
  );

  check("[Q7] steers that joined before a crash end with their run after it", async (stage) => {
    const steered = gate();
    const life = await stage.open({
      engine: [{ gate: steered.opened }, { steers: true }, { hang: true }],
    });
    const first = await sent(life.session(), prompt("r1"));
    const steer = await sent(life.session(), prompt("r2", { delivery: "steer" }));
    steered.open();
    await until(
      () => stage.sql.all("select 1 from command where state = 'joined'").length > 0,
      "joined",
    );
    life.die();
    const next = await stage.open({ engine: [{ say: "after all" }] });
    expect(await settled(next.session(), first)).toMatchObject({ answer: "after all" });
    expect(await settled(next.session(), steer)).toMatchObject({ answer: "after all" });
  });

  check(
    "[Q15] lines that arrive while a command runs reach its engine in order, beside the steers",
    async (stage) => {
      const held = gate();
      const seen: string[] = [];
      const life = await stage.open({
        engine: scriptedEngine([
          { gate: held.opened },
          { steers: true },
          {
            say: ({ steers }) => (
              seen.push(...steers.map((it) => JSON.stringify(it.data.text))),
              "ok"
            ),
          },
        ]),
      });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      await session.send(line("l1"));
      await session.send(line("l2", "x".repeat(40_000)));
      await sent(session, prompt("r2", { delivery: "steer" }));
      held.open();
      await settled(session, id);
      expect(seen).toEqual(
        ["line of l1", "x".repeat(40_000), "text of r2"].map((it) => JSON.stringify(it)),
      );
    },
  );

  check(
    "[Q15] a line of before, and one of an earlier life, stands in the transcript of the run",
    async (stage) => {
      let transcript: unknown[] = [];
      const life = await stage.open({ engine: [{ hang: true }] });
      await life.session().send(line("l1"));
      const id = await sent(life.session(), prompt("r1"));
      await life.session().send(line("l2"));
      life.die();
      const next = await stage.open({
        engine: scriptedEngine([{ say: "ok" }], {
          onRun: (_, live) => void (transcript = live.transcript()),
        }),
      });
      await settled(next.session(), id);
      expect(transcript).toMatchObject([
        { kind: "line", requestId: "l1" },
        { kind: "message.user", requestId: "r1" },
        { kind: "line", requestId: "l2" },
      ]);
    },
  );
}
