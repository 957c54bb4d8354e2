import { expect } from "vitest";
import type { TranscriptEntry } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, kindsOf, line, prompt, refusal, run, sent, settled } from "./stage.ts";

/** What the directory of sessions, their log and their tree promise on any host. */
export function directoryContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[L1] entries of a session are numbered 1, 2, 3… without a gap, whatever fails between",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      let tries = 0;
      life.trouble = (statement) =>
        statement.startsWith("insert into entry") && ++tries % 3 === 0
          ? new Error("no")
          : undefined;
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, n) =>
          life.session().send(n % 2 ? line(`l${n}`) : prompt(`p${n}`)),
        ),
      );
      life.trouble = undefined;
      const kept = outcomes.filter((it) => it.status === "fulfilled").length;
      const entries = await entriesOf(life.session());
      expect(kept).toBe(40);
      expect(entries.map((it) => it.seq)).toEqual(Array.from({ length: kept }, (_, n) => n + 1));
      expect(new Set(entries.map((it) => it.id)).size).toBe(kept);
    },
  );

  check("[L2] a session's info is what its entries project to, after any crash", async (stage) => {
    const held = gate();
    const life = await stage.open({ engine: [{ say: "one" }, { gate: () => held.opened }] });
    const session = life.session();
    await sent(session, prompt("r1"));
    await sent(session, prompt("r2"));
    await session.change({ title: "a title", model: "m", reasoning: "high" });
    await until(async () => (await kindsOf(session)).includes("message.assistant"), "a step");
    const before = await session.info();
    expect(before).toMatchObject({
      state: "running",
      pending: 1,
      title: "a title",
      model: "m",
      reasoning: "high",
      preview: "one",
    });
    life.die();
    const next = await stage.open({ capacity: 0 });
    expect(await next.session().info()).toEqual(before);
  });

  check("[L8] settings of a session are entries; an empty change writes nothing", async (stage) => {
    const life = await stage.open();
    const session = life.session();
    await session.send(line("l"));
    await session.change({ title: "t", model: "m" });
    const { head } = await session.change({});
    expect(head).toBe(2);
    expect((await entriesOf(session))[1]).toMatchObject({
      kind: "session.changed",
      data: { title: "t", model: "m" },
    });
    expect(await refusal(session.change({ reasoning: "much" as "high" }))).toBe("invalid");
    for (const title of ["x".repeat(1_001), "half \ud800", 7])
      expect(await refusal(session.change({ title: title as string }))).toBe("invalid");
    for (const title of ["x".repeat(1_001), "half \ud800", 7])
      expect(await refusal(life.agent.create({ requestId: "c", title: title as string }))).toBe(
        "invalid",
      );
    for (const model of ["", "m".repeat(257)])
      expect(await refusal(session.change({ model }))).toBe("invalid");
    expect((await session.info()).head).toBe(2);
  });

  check(
    "[L8] a model of null is the engine's own, which no engine is asked about, and is so after a restart",
    async (stage) => {
      const models = new Set(["m"]);
      const no = Object.assign(new Error("no"), { name: "Fault", code: "invalid" });
      const engine = {
        ...scriptedEngine(),
        check: ({ model }: { model?: string }) =>
          model === undefined || models.has(model) ? Promise.resolve() : Promise.reject(no),
      };
      const life = await stage.open({ engine });
      const session = life.session();
      await session.send(line("l"));
      await session.change({ model: "m", reasoning: "high" });
      models.clear();
      expect(await refusal(session.change({ reasoning: "low" }))).toBe("invalid");
      expect((await session.change({ model: null })).model).toBeUndefined();
      await session.change({ reasoning: "low" });
      life.die();
      const info = await (await stage.open({ engine })).session().info();
      expect([info.model, info.reasoning]).toEqual([undefined, "low"]);
    },
  );

  check(
    "[L9] sessions are listed latest activity first, page by page, each once",
    async (stage) => {
      const life = await stage.open({ capacity: 0, agents: ["a", "b"] });
      for (let n = 0; n < 30; n++) {
        await life.session(`s${n}`).send(line("l"));
        if (n % 3 === 0) await stage.clock.advance(10);
      }
      await stage.clock.advance(10);
      await life.session("s5").send(line("again"));
      await life.owner.agent("b")!.session("foreign").send(line("l"));
      const names: string[] = [];
      let before: string | undefined;
      let pages = 0;
      do {
        const page = await life.agent.sessions({
          limit: 7,
          ...(before === undefined ? {} : { before }),
        });
        names.push(...page.sessions.map((it) => it.session));
        before = page.next;
        pages++;
      } while (before !== undefined);
      expect(pages).toBe(5);
      expect(names[0]).toBe("s5");
      expect(new Set(names).size).toBe(30);
      expect(names).toHaveLength(30);
      for (const page of [
        { limit: 0 },
        { limit: 201 },
        { limit: 1.5 },
        { before: "x" },
        { before: "" },
      ])
        expect(await refusal(life.agent.sessions(page))).toBe("invalid");
      expect(
        (await life.agent.sessions({ before: "999999999999999.999999999999999" })).sessions,
      ).toHaveLength(30);
    },
  );

  check("[L10] a creation is replayed though its model is gone by now", async (stage) => {
    const models = new Set(["m"]);
    const life = await stage.open({
      engine: {
        ...scriptedEngine(),
        check: ({ model }) =>
          model === undefined || models.has(model)
            ? Promise.resolve()
            : Promise.reject(
                Object.assign(new Error(`no ${model}`), { name: "Fault", code: "invalid" }),
              ),
      },
    });
    const first = await life.agent.create({ requestId: "c1", session: "s", model: "m" });
    models.clear();
    expect(await life.agent.create({ requestId: "c1", session: "s", model: "m" })).toEqual({
      ...first,
      replay: true,
    });
    expect(await refusal(life.agent.create({ requestId: "c2", model: "m" }))).toBe("invalid");
    expect(await refusal(life.session().change({ model: "n" }))).toBe("invalid");
    expect((await life.session().info()).head).toBe(0);
  });

  check(
    "[L10] creating is replayed under its request id; an id that exists is a conflict",
    async (stage) => {
      const life = await stage.open();
      const first = await life.agent.create({ requestId: "c1", session: "s", title: "t" });
      expect(first).toMatchObject({ replay: false, info: { session: "s", title: "t", head: 0 } });
      expect(await life.agent.create({ requestId: "c1", session: "s", title: "t" })).toEqual({
        ...first,
        replay: true,
      });
      expect(await refusal(life.agent.create({ requestId: "c1", session: "s", title: "u" }))).toBe(
        "conflict",
      );
      expect(await refusal(life.agent.create({ requestId: "c2", session: "s" }))).toBe("conflict");
      const made = await Promise.all(
        Array.from({ length: 20 }, () => life.agent.create({ requestId: "c3" })),
      );
      expect(new Set(made.map((it) => it.info.session)).size).toBe(1);
      expect(made.filter((it) => !it.replay)).toHaveLength(1);
      expect((await life.session("s").send(line("c1"))).status).toBe("accepted");
      await life.session("s").delete();
      expect(await refusal(life.agent.create({ requestId: "c1", session: "s", title: "t" }))).toBe(
        "closed",
      );
      expect((await life.agent.create({ requestId: "c4", session: "s" })).replay).toBe(false);
      life.die();
      const next = await stage.open();
      expect((await next.agent.create({ requestId: "c3" })).info.session).toBe(
        made[0]!.info.session,
      );
    },
  );

  check(
    "[L11] a fork refers to its parent at an entry, copies nothing, and starts at 1",
    async (stage) => {
      let transcript: TranscriptEntry[] = [];
      const life = await stage.open({
        engine: scriptedEngine([{ say: "ok" }], {
          onRun: (_, live) => void (transcript = live.transcript()),
        }),
      });
      const session = life.session();
      await run(session, "r1");
      const { leaf } = await session.info();
      await run(session, "r2");
      const fork = await session.fork({ requestId: "f", at: leaf!, session: "fork" });
      expect(fork.info).toMatchObject({
        head: 0,
        turns: 0,
        leaf,
        forkedFrom: { session: "s", at: leaf },
      });
      expect((await session.fork({ requestId: "f", at: leaf!, session: "fork" })).replay).toBe(
        true,
      );
      expect((await life.session("fork").read()).entries).toEqual([]);
      await run(life.session("fork"), "r1");
      expect(transcript.map((it) => it.requestId ?? it.kind)).toEqual([
        "r1",
        "message.assistant",
        "r1",
      ]);
      const [first] = await entriesOf(life.session("fork"));
      expect(first!.seq).toBe(1);
      expect((await entriesOf(session)).map((it) => it.requestId)).not.toContain("f");
      expect(await refusal(session.fork({ requestId: "g", at: "ent_none_1" }))).toBe(
        "unknown_entry",
      );
      expect(await refusal(session.fork({ requestId: "g", session: "fork" }))).toBe("conflict");
      expect(await refusal(life.session("empty").fork({ requestId: "g" }))).toBe("unknown_session");
      const started = (await entriesOf(session)).find((it) => it.kind === "run.started")!;
      expect(await refusal(session.fork({ requestId: "g", at: started.id }))).toBe("invalid");
      await life.agent.create({ requestId: "e", session: "empty" });
      expect(await refusal(life.session("empty").fork({ requestId: "g" }))).toBe("invalid");
      const twice = await life.session("fork").fork({ requestId: "h", at: leaf! });
      expect(twice.info.forkedFrom).toEqual({ session: "fork", at: leaf });
    },
  );

  check(
    "[L11] a parent that is deleted keeps what its forks need until the last of them is gone",
    async (stage) => {
      let transcript: TranscriptEntry[] = [];
      const text = "shared ".repeat(10_000);
      const life = await stage.open({
        engine: scriptedEngine([{ say: "ok" }], {
          onRun: (_, live) => void (transcript = live.transcript()),
        }),
      });
      const session = life.session();
      await settled(session, await sent(session, prompt("r1", { text })));
      await session.fork({ requestId: "f1", session: "child" });
      await life.session("child").send(line("l1"));
      await life.session("child").fork({ requestId: "f2", session: "grandchild" });
      await session.delete();
      await life.session("child").delete();
      await stage.clock.advance(5_000);
      await run(life.session("grandchild"), "r1");
      expect(transcript[0]!.data).toMatchObject({ text });
      expect(transcript).toHaveLength(4);
      await life.session("grandchild").delete();
      await stage.clock.advance(10_000);
      for (const table of [
        "entry",
        "command",
        "call",
        "approval",
        "blob",
        "blob_use",
        "search_dirty",
      ])
        expect(stage.sql.all(`select 1 from ${table}`)).toEqual([]);
      expect(
        stage.sql.all<{ deleted: number }>("select deleted from session").map((it) => it.deleted),
      ).toEqual([2, 2, 2]);
      expect(await refusal(session.send(prompt("r1", { text })))).toBe("closed");
    },
  );

  check(
    "[L12] a deleted session is gone for everyone at once, and a new one of its name is another",
    async (stage) => {
      const life = await stage.open({ engine: [{ hang: true }] });
      const session = life.session();
      const first = await sent(session, prompt("r1"));
      await sent(session, prompt("r2"));
      const { epoch } = await session.info();
      expect(await refusal(session.delete({ epoch: "another" }))).toBe("stale");
      await session.delete({ epoch });
      for (const reads of [
        session.info(),
        session.read(),
        session.readSettlement(first),
        session.search({ q: "text" }),
      ])
        expect(await refusal(reads)).toBe("unknown_session");
      expect((await life.agent.sessions()).sessions).toEqual([]);
      await session.delete();
      await session.delete({ epoch: "gone anyway" });
      const { info } = await life.agent.create({ requestId: "c", session: "s" });
      expect(info.epoch).not.toBe(epoch);
      expect(info.head).toBe(0);
      expect(await refusal(session.delete({ epoch }))).toBe("stale");
      expect(await refusal(session.readSettlement(first))).toBe("unknown_command");
      await until(() => life.owner.running() === 0, "the old run's end");
      const again = await sent(session, prompt("r3"));
      expect(again).not.toBe(first);
      expect((await entriesOf(session)).map((it) => it.seq)).toEqual([1, 2, 3]);
    },
  );

  check(
    "[L12] a crash right after a deletion leaves nothing of the session to go on",
    async (stage) => {
      const life = await stage.open({ engine: [{ hang: true }] });
      const id = await sent(life.session(), prompt("r1"));
      await sent(life.session(), prompt("r2"));
      await until(() => life.owner.running() === 1, "it runs");
      life.dieAfterCommits(1);
      void life.session().delete();
      await until(() => life.isDead, "the crash");
      let runs = 0;
      const next = await stage.open({
        engine: scriptedEngine([{ say: "ok" }], { onRun: () => void runs++ }),
      });
      await turns(10);
      expect(runs).toBe(0);
      expect(await refusal(next.session().readSettlement(id))).toBe("unknown_session");
      await stage.clock.advance(10_000);
      expect(stage.sql.all("select 1 from entry")).toEqual([]);
    },
  );

  check(
    "[L12] a deletion that meets admissions, claims and ends leaves one order of things",
    async (stage) => {
      const life = await stage.open({ capacity: 2 });
      for (let n = 0; n < 30; n++) {
        const session = life.session(`s${n % 3}`);
        const sending = refusal(session.send(prompt(`r${n}`)));
        await turns(n % 5);
        const deleting = session.delete();
        const later = refusal(session.send(prompt(`r${n}`)));
        await Promise.all([sending, deleting]);
        expect(await sending).toBe("no refusal");
        expect(await later).toBe("closed");
      }
      await until(() => life.owner.running() === 0, "quiet");
      expect(stage.sql.all("select 1 from command where state <> 'settled'")).toEqual([]);
      expect((await run(life.session("last"), "r")).terminal).toBe("completed");
    },
  );

  check("[L9] an agent is attached once, under a name of a plain form", async (stage) => {
    const life = await stage.open();
    const engine = scriptedEngine();
    expect(await refusal(life.owner.attach({ agent: "a", engine }))).toBe("conflict");
    expect(await refusal(life.owner.attach({ agent: "../a", engine }))).toBe("invalid");
    const both = await Promise.all(
      [1, 2].map(() => refusal(life.owner.attach({ agent: "b", engine }))),
    );
    expect(both.toSorted((a, b) => a.localeCompare(b))).toEqual(["conflict", "no refusal"]);
    await life.owner.close();
    expect(await refusal(life.owner.attach({ agent: "c", engine }))).toBe("unavailable");
  });
}
