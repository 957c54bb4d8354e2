import { expect } from "vitest";
import type { MetaRules } from "../src/index.ts";
import { until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, line, prompt, refusal, sent, settled } from "./stage.ts";

const byAuthor: MetaRules = { identityPath: "$.author.id" };
const of = (id: string, name = "Kim") => ({ author: { id, name } });

/** What host metadata and principals promise on any host. */
export function metadataContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[A20] metadata is stored on what is admitted, survives a crash, and no caller can send it in a body",
    async (stage) => {
      const held = gate();
      const life = await stage.open({ meta: byAuthor, engine: [{ gate: () => held.opened }] });
      const session = life.agent.withMeta(of("u1")).session("s");
      const id = await sent(session, prompt("r1"));
      await session.send(line("l1"));
      await sent(session, prompt("r2", { delivery: "steer" }));
      await session.send({ type: "abort", requestId: "x" });
      expect((await settled(session, id)).meta).toEqual(of("u1"));
      life.die();
      const next = await stage.open({ meta: byAuthor });
      const entries = await entriesOf(next.session());
      for (const kind of ["command.queued", "message.user", "line", "command.cancelled"])
        for (const entry of entries.filter((it) => it.kind === kind))
          expect(entry).toMatchObject({ meta: of("u1") });
      for (const kind of ["command.queued", "message.user", "line"])
        expect(entries.find((it) => it.kind === kind)!.by).toBe("u1");
      expect(entries.filter((it) => it.kind === "run.settled").map((it) => it.data.meta)).toEqual([
        of("u1"),
        of("u1"),
      ]);
    },
  );

  check(
    "[A20] a retry with other metadata is a conflict, with the same it replays",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const first = await life.agent.withMeta({ a: 1, b: 2 }).session("s").send(prompt("r1"));
      expect(await life.agent.withMeta({ b: 2, a: 1 }).session("s").send(prompt("r1"))).toEqual({
        ...first,
        replay: true,
      });
      expect(await refusal(life.agent.withMeta({ a: 1 }).session("s").send(prompt("r1")))).toBe(
        "conflict",
      );
      expect(await refusal(life.session().send(prompt("r1")))).toBe("conflict");
    },
  );

  check(
    "[A20] metadata may hold 4,096 bytes of JSON and must fit the host's schema",
    async (stage) => {
      const synchronous: MetaRules = {
        schema: {
          "~standard": {
            validate: (value) =>
              typeof (value as { n?: unknown }).n === "number"
                ? { value: { n: (value as { n: number }).n } }
                : { issues: [{ message: "n is missing" }] },
          },
        },
      };
      const life = await stage.open({ capacity: 0, meta: synchronous });
      expect(() => life.agent.withMeta({})).toThrow(expect.objectContaining({ code: "invalid" }));
      await life.agent.withMeta({ n: 1, dropped: true }).session("s").send(prompt("r1"));
      expect((await entriesOf(life.session()))[0]!.meta).toEqual({ n: 1 });
      const free = await stage.open();
      free.agent.withMeta({ x: "é".repeat(2_044) });
      expect(() => free.agent.withMeta({ x: "é".repeat(2_045) })).toThrow(
        expect.objectContaining({ code: "too_large" }),
      );
    },
  );

  check("[A20] an asynchronous schema, or one that makes no object, is refused", async (stage) => {
    const answers: unknown[] = ["late", { value: undefined }, { value: "text" }, { value: [1] }];
    for (const answer of answers) {
      const life = await stage.open({
        meta: {
          schema: {
            "~standard": {
              validate: () =>
                answer === "late" ? Promise.reject(new Error("late")) : (answer as never),
            },
          },
        },
      });
      expect(() => life.agent.withMeta({})).toThrow(expect.objectContaining({ code: "invalid" }));
      life.die();
    }
  });

  check(
    "[A21] a principal that is missing, empty, no text or ill-formed is refused",
    async (stage) => {
      const life = await stage.open({ meta: byAuthor });
      const metas = [{}, { author: {} }, of(""), { author: { id: 7 } }, { author: { id: null } }];
      for (const meta of [...metas, of("\ud800"), of("a\udfff")])
        expect(() => life.agent.withMeta(meta)).toThrow(
          expect.objectContaining({ code: "invalid" }),
        );
      life.agent.withMeta({ author: { id: "u1" }, __proto__: null });
    },
  );

  check(
    "[A12] a principal cancels only their own commands, whatever their display name",
    async (stage) => {
      const held = gate();
      const options = { meta: byAuthor, engine: [{ gate: () => held.opened }] };
      const life = await stage.open(options);
      const one = life.agent.withMeta(of("u1", "Kim")).session("s");
      const two = life.agent.withMeta(of("u2", "Kim")).session("s");
      const running = await sent(one, prompt("r1"));
      const queued = await sent(two, prompt("r2"));
      const cancel = (requestId: string, commandId: string) =>
        ({ type: "cancel", requestId, commandId }) as const;
      expect(await refusal(two.send(cancel("c1", running)))).toBe("denied");
      expect(await refusal(one.send(cancel("c2", queued)))).toBe("denied");
      expect((await life.session().readSettlement(running)) ?? "open").toBe("open");
      expect((await one.send(cancel("c3", running))).status).toBe("accepted");
      expect((await settled(one, running)).terminal).toBe("cancelled");
      life.die();
      const next = await stage.open(options);
      const later = next.agent.withMeta(of("u2", "Kim")).session("s");
      expect(await refusal(later.send(cancel("c3", running)))).toBe("conflict");
      expect(await refusal(later.send(cancel("c4", running)))).toBe("denied");
      expect((await next.session().send(cancel("c5", queued))).status).toBe("accepted");
    },
  );

  check(
    "[A12] abort by a principal takes their own commands only, and is denied where all are another's",
    async (stage) => {
      const held = gate();
      const life = await stage.open({ meta: byAuthor, engine: [{ gate: () => held.opened }] });
      const one = life.agent.withMeta(of("u1")).session("s");
      const two = life.agent.withMeta(of("u2")).session("s");
      const running = await sent(one, prompt("r1"));
      expect(await refusal(two.send({ type: "abort", requestId: "x1" }))).toBe("denied");
      const own = await sent(two, prompt("r2"));
      const foreign = await sent(one, prompt("r3"));
      expect((await two.send({ type: "abort", requestId: "x2" })).cancelled).toEqual([own]);
      expect((await life.session().info()).pending).toBe(1);
      const rest = await life.session().send({ type: "abort", requestId: "x3" });
      expect(rest.cancelled!.toSorted()).toEqual([running, foreign].toSorted());
    },
  );

  check(
    "[A12] a denial that stops the run is limited as a cancel is; one that may stop all is not",
    async (stage) => {
      const ask = { kind: "tool", tool: "pay" } as const;
      const life = await stage.open({ meta: byAuthor, engine: [{ ask }, { ask }, { say: "on" }] });
      const one = life.agent.withMeta(of("u1")).session("s");
      const running = await sent(one, prompt("r1"));
      await until(async () => (await one.info()).approvals === 1, "a question");
      const [asked] = (await one.read()).approvals;
      const stop = (requestId: string) =>
        ({
          type: "answer",
          requestId,
          approvalId: asked!.approvalId,
          allow: false,
          interrupt: true,
        }) as const;
      const two = life.agent.withMeta(of("u2")).session("s");
      expect(await refusal(two.send(stop("a1")))).toBe("denied");
      expect((await one.info()).approvals).toBe(1);
      const owner = life.agent.withMeta(of("u2"), { stopsAll: true }).session("s");
      expect((await owner.send(stop("a2"))).status).toBe("accepted");
      expect((await settled(one, running)).terminal).toBe("cancelled");
    },
  );

  check(
    "[A24] a request of an owner's device is the same under another name, and from another device",
    async (stage) => {
      const life = await stage.open({ capacity: 0, meta: { identityPath: "$.by" } });
      const device = (by: string) => life.agent.withMeta({ by }, { stopsAll: true }).session("s");
      const first = await device("phone").send(prompt("r1"));
      for (const session of [device("phone"), device("Kim's phone"), life.session("s")])
        expect(await session.send(prompt("r1"))).toEqual({ ...first, replay: true });
      const other = prompt("r1", { text: "other" });
      expect(await refusal(device("phone").send(other))).toBe("conflict");
      const cancel = { type: "cancel", requestId: "c1", commandId: first.commandId! } as const;
      await device("desk").send(cancel);
      expect((await device("phone").send(cancel)).replay).toBe(true);
      const entries = await entriesOf(life.session("s"));
      expect(entries.map(({ kind, by }) => [kind, by])).toEqual([
        ["command.queued", "phone"],
        ["command.cancelled", "desk"],
        ["run.settled", undefined],
      ]);
    },
  );

  check(
    "[A25] who changes a session, or begins it anew, stands by the entry of it",
    async (stage) => {
      const life = await stage.open({ meta: { identityPath: "$.by" } });
      const session = life.agent.withMeta({ by: "phone" }, { stopsAll: true }).session("s");
      const id = await sent(session, prompt("r1"));
      await settled(session, id);
      const leaf = (await entriesOf(session)).find(({ kind }) => kind === "message.user")!.id;
      await session.change({ title: "one", leaf });
      await session.restart();
      await life.session("s").change({ title: "two" });
      const changes = (await entriesOf(session)).filter(({ kind }) =>
        ["session.changed", "conversation.started"].includes(kind),
      );
      expect(changes.map(({ by }) => by)).toEqual(["phone", "phone", "phone", undefined]);
    },
  );

  check("[A12] without an identity path nobody is limited", async (stage) => {
    const life = await stage.open({ capacity: 0 });
    const id = await sent(life.agent.withMeta(of("u1")).session("s"), prompt("r1"));
    const other = life.agent.withMeta(of("u2")).session("s");
    expect((await other.send({ type: "cancel", requestId: "c", commandId: id })).status).toBe(
      "accepted",
    );
  });

  check(
    "[A18] latestPending is the principal's newest pending prompt, exactly, however long the queue",
    async (stage) => {
      const life = await stage.open({ capacity: 0, meta: byAuthor });
      const one = life.agent.withMeta(of("u1")).session("s");
      const two = life.agent.withMeta(of("u2")).session("s");
      await sent(one, prompt("first"));
      expect(await two.latestPending()).toBeUndefined();
      expect(await life.session().latestPending()).toBeUndefined();
      for (let n = 0; n < 210; n++) await sent(two, prompt(`t${n}`));
      const text = "long ".repeat(20_000);
      const images = [{ mimeType: "image/png" as const, data: "iVBORw0KGgo=" }];
      const steer = await sent(one, prompt("steer", { text, images, delivery: "steer" }));
      await sent(one, { type: "compact", requestId: "c" });
      await one.send(line("l"));
      expect(await one.latestPending()).toEqual({
        commandId: steer,
        requestId: "steer",
        text,
        images,
        meta: of("u1"),
      });
      await one.send({ type: "cancel", requestId: "x", commandId: steer });
      expect(await one.latestPending()).toMatchObject({ requestId: "first" });
      expect(await two.latestPending()).toMatchObject({ requestId: "t209" });
    },
  );

  check(
    "[A18] a command that was claimed is pending no more, so that a look-up reserves nothing",
    async (stage) => {
      const held = gate();
      const life = await stage.open({
        meta: byAuthor,
        engine: [{ gate: held.opened }, { say: "ok" }],
      });
      const session = life.agent.withMeta(of("u1")).session("s");
      const first = await sent(session, prompt("r1"));
      const second = await sent(session, prompt("r2"));
      expect(await session.latestPending()).toMatchObject({ commandId: second });
      held.open();
      await settled(session, first);
      await until(async () => (await session.latestPending()) === undefined, "the claim");
      expect(
        (
          await session.send({
            type: "cancel",
            requestId: "c",
            commandId: second,
            onlyIfPending: true,
          })
        ).status,
      ).toBe("too_late");
    },
  );

  check("[A20] a steer that joins a run carries its sender", async (stage) => {
    const held = gate();
    const life = await stage.open({
      meta: byAuthor,
      engine: [{ gate: held.opened }, { steers: true }, { say: "ok" }],
    });
    const first = await sent(life.agent.withMeta(of("u1")).session("s"), prompt("r1"));
    await sent(life.agent.withMeta(of("u2")).session("s"), prompt("r2", { delivery: "steer" }));
    held.open();
    await settled(life.session(), first);
    const joined = (await entriesOf(life.session())).find((it) => it.data.steers !== undefined);
    expect(joined).toMatchObject({ by: "u2", meta: of("u2"), requestId: "r2" });
  });
}
