import { expect } from "vitest";
import type { Frame } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { gate, line, prompt, run, settled, sent } from "./stage.ts";

/** What begins, and what is read, while a commit is being synced. */
export function eagerContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[S30] a reader of one session never waits until what another one wrote is durable",
    async (stage) => {
      const life = await stage.open();
      await run(life.session("quiet"), "r");
      const release = life.holdSyncs();
      const busy = life.session("busy").send(line("l"));
      await turns(3);
      expect((await life.session("quiet").read()).session.turns).toBe(1);
      let isRead = false;
      const reading = life
        .session("busy")
        .read()
        .then((baseline) => {
          isRead = true;
          return baseline;
        });
      await turns(5);
      expect(isRead).toBe(false);
      release();
      await busy;
      expect((await reading).head).toBe(1);
    },
  );

  check(
    "[Q18] an eager engine begins while its command is being synced, and nothing of it is shown before",
    async (stage) => {
      const held = gate();
      let begun = 0;
      const life = await stage.open({
        engine: scriptedEngine([{ partials: ["early"] }, { gate: held.opened }, { say: "late" }], {
          onRun: () => begun++,
        }),
      });
      const session = life.session();
      await session.send(line("first"));
      const frames: Frame[] = [];
      session.observe({ frame: (frame) => frames.push(frame) > 0, end: () => {} });
      const release = life.holdSyncs();
      const sending = sent(session, prompt("r"));
      await until(() => begun === 1, "it begins");
      await stage.clock.advance(1_000);
      expect(frames.map((frame) => frame.type)).toEqual(["baseline"]);
      release();
      const id = await sending;
      await until(() => frames.some((frame) => frame.type === "partial"), "the partial");
      expect(frames.filter((frame) => frame.type === "entry")).toHaveLength(3);
      expect(frames.at(-1)).toMatchObject({ type: "partial", data: { text: "early" } });
      held.open();
      expect(await settled(session, id)).toMatchObject({ terminal: "completed", answer: "late" });
    },
  );

  check("[Q18] an engine that is not eager begins once its command is durable", async (stage) => {
    let begun = 0;
    const life = await stage.open({
      engine: scriptedEngine([{ say: "x" }], { can: { eager: false }, onRun: () => begun++ }),
    });
    const release = life.holdSyncs();
    const sending = sent(life.session(), prompt("r"));
    await turns(10);
    expect(begun).toBe(0);
    release();
    await settled(life.session(), await sending);
    expect(begun).toBe(1);
  });

  check(
    "[Q18] a cancel that is told late stops its own command's run, and not the one behind it",
    async (stage) => {
      const held = gate();
      const life = await stage.open({
        engine: (work) =>
          work.text === "text of one" ? [{ gate: held.opened }, { say: "one" }] : [{ say: "two" }],
      });
      const session = life.session();
      const one = await sent(session, prompt("one"));
      const two = await sent(session, prompt("two"));
      const release = life.holdSyncs();
      const cancelling = session.send({ type: "cancel", requestId: "c", commandId: one });
      await turns(2);
      held.open();
      await turns(5);
      release();
      expect(await cancelling).toMatchObject({ status: "accepted" });
      expect((await settled(session, one)).terminal).toBe("cancelled");
      expect(await settled(session, two)).toMatchObject({ terminal: "completed", answer: "two" });
    },
  );
}
