// A store that is opened for one session: a command line that finds no host.

import { expect } from "vitest";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { kindsOf, prompt, run, sent, settled } from "./stage.ts";

export function oneSessionContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[Q19] a store that is opened for one session runs that one's work, and leaves all else as it was",
    async (stage) => {
      const first = await stage.open({ engine: [{ hang: true }] });
      const sessions = ["mine", "other"];
      const running: string[] = [];
      for (const name of sessions) {
        running.push(await sent(first.session(name), prompt("r1")));
        await sent(first.session(name), prompt("r2"));
      }
      await until(() => first.owner.running() === 2, "both run");
      first.die();
      const full = await stage.open({ capacity: 0 });
      for (const name of ["mine", "third"]) await sent(full.session(name), prompt("r3"));
      const before = await Promise.all(["other", "third"].map((it) => kindsOf(full.session(it))));
      full.die();

      const ran: string[] = [];
      const engine = scriptedEngine([{ say: "ok" }], {
        onRun: ({ text }, live) => void ran.push(`${live.session} ${text}`),
      });
      const one = await stage.open({ engine, only: "mine" });
      expect((await run(one.session("mine"), "r4")).terminal).toBe("completed");
      // What comes in meanwhile waits, too.
      const late = await sent(one.session("late"), prompt("r1"));
      const more = await sent(one.session("third"), prompt("r4"));
      await run(one.session("mine"), "r5");
      await turns(20);
      expect(ran.map((it) => it.split(" ")[0])).toEqual(ran.map(() => "mine"));
      expect(ran).toHaveLength(5);
      expect(await kindsOf(one.session("other"))).toEqual(before[0]);
      expect(await kindsOf(one.session("third"))).toEqual([...before[1]!, "command.queued"]);
      expect(await kindsOf(one.session("late"))).toEqual(["command.queued"]);
      // A run of another session that was left can still be cancelled.
      await one.session("other").send({ type: "cancel", requestId: "c", commandId: running[1]! });
      expect((await settled(one.session("other"), running[1]!)).terminal).toBe("cancelled");
      await one.owner.close();

      const all = await stage.open({ engine });
      for (const [name, id] of [
        ["late", late],
        ["third", more],
      ] as const)
        expect((await settled(all.session(name), id)).terminal).toBe("completed");
      await until(async () => (await all.session("other").info()).state === "idle", "the rest");
      expect(
        ran
          .slice(5)
          .map((it) => it.split(" ")[0])
          .toSorted((a, b) => (a! < b! ? -1 : 1)),
      ).toEqual(["late", "other", "third", "third"]);
    },
  );

  check("[Q19] what a run of another session cost is not counted while it rests", async (stage) => {
    const first = await stage.open({ engine: [{ hang: true }] });
    await sent(first.session("other"), prompt("r"));
    await until(() => first.owner.running() === 1, "it runs");
    first.die();
    for (let n = 0; n < 5; n++) {
      const one = await stage.open({ only: `s${n}` });
      await run(one.session(`s${n}`), "r");
      one.die();
    }
    const all = await stage.open({ engine: [{ say: "at last" }] });
    await until(async () => (await all.session("other").info()).state === "idle", "its end");
    expect(await kindsOf(all.session("other"))).toContain("message.assistant");
    const kinds = await kindsOf(all.session("other"));
    expect(kinds.filter((it) => it === "run.recovered")).toHaveLength(1);
  });
}
