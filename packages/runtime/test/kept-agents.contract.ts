// What a store keeps of a machine's agents between starts.

import type { JsonObject } from "@lichen/wire";
import { expect } from "vitest";
import type { Owner, Session, Work } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { harnessed } from "./harness.contract.ts";
import type { Life } from "./life.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { line, prompt, refusal, run, sent, settled, type Stage } from "./stage.ts";

const settings = { dir: "/home/u/demo", harness: "claude", autoApprove: false } as const;

/** A life with one kept agent, `k1`, whose session is `main`. */
async function keeping(stage: Stage, engine = harnessed().engine): Promise<Life> {
  const life = await stage.open({ agents: [] });
  life.meet(await life.owner.attach({ agent: "k1", name: "demo", engine, settings }));
  await life.agent.create({ requestId: "made", session: "main", events: true });
  return life;
}

function settingsOf(owner: Owner): JsonObject {
  return owner.kept().find((it) => it.agent === "k1")!.settings;
}

async function eventsOf(session: Session): Promise<object[]> {
  const { events } = await session.events({ after: 0, limit: 100 });
  return events.map(({ entry: { kind, by, data } }) => ({ kind, by, data }));
}

/** What kept agents promise on any host. */
export function keptAgentsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[RH8] an agent with settings is kept with its label from its first attach on, attached or not",
    async (stage) => {
      const life = await keeping(stage);
      await life.owner.attach({ agent: "folder", name: "A folder", engine: scriptedEngine() });
      const kept = {
        ...{ agent: "k1", label: "demo", settings, engine: "scripted" },
        createdAt: new Date(stage.clock.now()).toISOString(),
      };
      expect(life.owner.kept()).toEqual([kept]);
      life.die();

      const next = await stage.open({ agents: [] });
      expect(next.owner.kept()).toEqual([kept]);
      const engine = scriptedEngine([{ say: "ok" }], { name: "other" });
      // What stands in the store is what counts.
      const again = await next.owner.attach({
        ...{ agent: "k1", name: "something else", engine },
        settings: { dir: "/elsewhere" },
      });
      expect(again.name).toBe("demo");
      expect(await again.info()).toMatchObject({ agent: "k1", name: "demo", sessions: 1 });
      expect(next.owner.kept()).toEqual([{ ...kept, engine: "other" }]);
      const taken = { name: "demo", engine, settings };
      expect(await refusal(next.owner.attach({ agent: "k2", ...taken }))).toBe("conflict");
      expect(await refusal(next.owner.attach({ agent: "k2", ...taken, name: "half \ud800" }))).toBe(
        "invalid",
      );
      await next.owner.attach({ agent: "k2", engine, settings: {} });
      expect(next.owner.kept().map((it) => it.label)).toEqual(["demo", "k2"]);
    },
  );

  check(
    "[RH9] settings are merged and logged as one, by whom; a null removes, and quiet ones leave no entry",
    async (stage) => {
      const life = await keeping(stage);
      const session = life.session("main");
      await session.configure({ autoApprove: true, model: "a/b" }, "phone");
      await session.configure({ starred: true }, "phone", { quiet: true });
      await session.configure({ model: null });
      expect(JSON.stringify(settingsOf(life.owner))).toBe(
        '{"dir":"/home/u/demo","harness":"claude","autoApprove":true,"starred":true}',
      );
      const events = [
        {
          ...{ kind: "setting", by: "phone" },
          data: { settings: { autoApprove: true, model: "a/b" } },
        },
        { kind: "setting", by: undefined, data: { settings: { model: null } } },
      ];
      expect(await eventsOf(session)).toEqual(events);

      const before = settingsOf(life.owner);
      life.trouble = (statement) =>
        statement.startsWith("insert into entry") ? new Error("no") : undefined;
      await expect(session.configure({ autoApprove: false })).rejects.toThrow("no");
      life.trouble = undefined;
      expect(settingsOf(life.owner)).toEqual(before);
      expect(await refusal(session.configure({ note: "x".repeat(70_000) }))).toBe("too_large");
      expect(await refusal(session.configure({ at: undefined } as unknown as JsonObject))).toBe(
        "invalid",
      );
      expect(settingsOf(life.owner)).toEqual(before);
      expect(await eventsOf(session)).toHaveLength(2);
      life.die();
      const next = await stage.open({ agents: ["plain"] });
      expect(settingsOf(next.owner)).toEqual(before);
      await next.session().send(line("l"));
      expect(await refusal(next.session().configure({ a: 1 }))).toBe("invalid");
      expect(await refusal(next.session("none").configure({ a: 1 }))).toBe("unknown_session");
    },
  );

  check(
    "[RH10] a kept agent is renamed with an entry, to what no other is called, and goes on undisturbed",
    async (stage) => {
      const life = await keeping(
        stage,
        harnessed(scriptedEngine([{ ask: { kind: "question" } }, { say: "done" }])).engine,
      );
      const session = life.session("main");
      const other = await life.owner.attach({
        ...{ agent: "k2", name: "other", engine: scriptedEngine(), settings: {} },
      });
      const command = await sent(session, prompt("p"));
      await until(async () => (await session.info()).approvals === 1, "it asks");
      await session.rename("démo", "phone");
      await session.rename("démo", "phone");
      expect(life.agent.name).toBe("démo");
      expect(life.agent.withMeta({}).name).toBe("démo");
      expect((await life.agent.info()).name).toBe("démo");
      for (const wrong of ["", ".", "a\u0000b", "x".repeat(300)])
        expect(await refusal(session.rename(wrong))).toBe("invalid");
      expect(await refusal(session.rename("other"))).toBe("conflict");
      expect((await eventsOf(session)).slice(1)).toEqual([
        { kind: "renamed", by: "phone", data: { from: "demo", to: "démo" } },
      ]);
      // The name that was given up is free.
      await other.create({ requestId: "made", session: "main", events: true });
      await other.session("main").rename("demo");
      const [approval] = (await session.read()).approvals;
      const { approvalId } = approval!;
      await session.send({ type: "answer", requestId: "a", approvalId, allow: true });
      expect((await settled(session, command)).answer).toBe("done");
      life.die();
      const next = await stage.open({ agents: ["plain"] });
      expect(next.owner.kept().map((it) => it.label)).toEqual(["démo", "demo"]);
      await next.session().send(line("l"));
      expect(await refusal(next.session().rename("fresh"))).toBe("invalid");
    },
  );

  check(
    "[RH11] a removed agent ends with all it had, its connection first, and one that takes its name is another",
    async (stage) => {
      const order: string[] = [];
      const base = scriptedEngine([{ hang: true }], {
        onRun: (_, live) =>
          live.signal.addEventListener("abort", () => void order.push("the run is told")),
      });
      const life = await keeping(stage, {
        ...base,
        open: (of, house) => ({
          ...base.open(of, house),
          stays: true,
          close: async () => {
            await turns(5);
            order.push("closed");
            await house.record([{ kind: "harness.stopped", data: { reason: "removed" } }]);
          },
        }),
      });
      const { agent, owner } = life;
      const session = agent.session("main");
      session.observe({ frame: () => true, end: (reason) => void order.push(reason) });
      for (let n = 0; n < 20; n++) await agent.session(`s${n}`).send(line("l"));
      const command = await sent(session, prompt("p"));
      await sent(session, prompt("queued"));
      await until(() => owner.running() === 1, "it runs");
      await owner.remove("k1");
      expect(order).toEqual(["the run is told", "closed", "deleted"]);
      expect([owner.kept(), owner.agents(), owner.agent("k1")]).toEqual([[], [], undefined]);
      await owner.remove("k1");
      expect(await refusal(session.info())).toBe("unknown_session");
      expect(await refusal(session.send(prompt("p")))).toBe("closed");
      expect(await refusal(session.send(prompt("fresh")))).toBe("unknown_agent");
      expect(await refusal(agent.create({ requestId: "fresh" }))).toBe("unknown_agent");
      expect(await refusal(session.connect())).toBe("unknown_session");
      expect((await agent.sessions()).sessions).toEqual([]);
      await until(() => owner.running() === 0, "the run is over");

      const engine = scriptedEngine();
      const other = await owner.attach({ agent: "k1", name: "demo", engine, settings: {} });
      expect((await other.sessions()).sessions).toEqual([]);
      const { replay } = await other.create({ requestId: "made", session: "main", events: true });
      expect(replay).toBe(false);
      expect((await run(other.session("main"), "p")).commandId).not.toBe(command);
      await owner.remove("k1");
      await stage.clock.advance(60_000);
      for (const table of ["entry", "command", "event", "harness", "request"])
        expect(stage.sql.all(`select 1 from ${table}`)).toEqual([]);
    },
  );

  check(
    "[RH11] an agent whose session was deleted a moment before is kept until that one's connection is closed",
    async (stage) => {
      const gate = Promise.withResolvers<void>();
      const base = scriptedEngine([{ hang: true }]);
      const life = await keeping(stage, {
        ...base,
        open: (of, house) => ({
          ...base.open(of, house),
          stays: true,
          close: () => gate.promise,
        }),
      });
      const { agent, owner } = life;
      const session = agent.session("main");
      await sent(session, prompt("p"));
      await until(() => owner.running() === 1, "it runs");
      await session.delete();
      let isRemoved = false;
      const removing = owner.remove("k1").then(() => (isRemoved = true));
      await turns(50);
      expect([isRemoved, owner.kept().length]).toEqual([false, 1]);
      gate.resolve();
      await removing;
      expect(owner.kept()).toEqual([]);
    },
  );

  check(
    "[RH11] an agent that nobody attached is removed as well, and no crash leaves a part of one",
    async (stage) => {
      for (let crash = 1; crash <= 5; crash++) {
        const life = await keeping(stage, harnessed(scriptedEngine([{ hang: true }])).engine);
        for (let n = 0; n < 20; n++) await life.agent.session(`s${n}`).send(prompt("p"));
        await until(() => life.owner.running() === 20, "they run");
        life.dieAfterCommits(crash);
        const removing = life.owner.remove("k1").catch(() => {});
        await Promise.race([removing, until(() => life.isDead, "the crash")]);
        life.die();
        stage.reports.length = 0;
        const next = await stage.open({ agents: [] });
        const isThere = stage.sql.all("select 1 from session where deleted = 0").length > 0;
        expect(next.owner.kept()).toHaveLength(isThere ? 1 : 0);
        await next.owner.remove("k1");
        expect(next.owner.kept()).toEqual([]);
        expect(stage.sql.all("select 1 from session where deleted = 0")).toEqual([]);
        expect(stage.sql.all("select 1 from command where state <> 'settled'")).toEqual([]);
        await next.owner.close();
        expect(await refusal(next.owner.remove("k1"))).toBe("unavailable");
        next.die();
      }
    },
  );

  check(
    "[RH11] what was admitted and had not begun when its agent was removed does not begin",
    async (stage) => {
      const begun: string[] = [];
      const onRun = ({ text }: Work) => void begun.push(text);
      const { engine } = harnessed(
        scriptedEngine([{ hang: true }], { onRun, can: { eager: false } }),
      );
      const life = await keeping(stage, engine);
      const release = life.holdSyncs();
      const sending = refusal(life.agent.session("main").send(prompt("p")));
      await until(() => stage.sql.all("select 1 from command").length > 0, "it is admitted");
      const removing = life.owner.remove("k1");
      await turns(5);
      release();
      await removing;
      expect(["no refusal", "closed"]).toContain(await sending);
      expect(begun).toEqual([]);
      expect(life.owner.running()).toBe(0);
    },
  );

  check("[RH11] a removal that meets admissions leaves nothing behind", async (stage) => {
    const life = await keeping(stage);
    const { agent, owner } = life;
    const sending = Array.from({ length: 30 }, (_, n) =>
      refusal(agent.session(`s${n % 7}`).send(prompt(`r${n}`))),
    );
    const removing = owner.remove("k1");
    for (let n = 0; n < 30; n++) {
      sending.push(refusal(agent.session(`t${n}`).send(prompt(`r${n}`))));
      await turns(1);
    }
    await removing;
    const answers = new Set(await Promise.all(sending));
    expect([...answers].filter((it) => !["no refusal", "unknown_agent"].includes(it))).toEqual([]);
    expect(stage.sql.all("select 1 from session where deleted = 0")).toEqual([]);
    expect(stage.sql.all("select 1 from command where state <> 'settled'")).toEqual([]);
    await until(() => owner.running() === 0, "quiet");
  });
}
