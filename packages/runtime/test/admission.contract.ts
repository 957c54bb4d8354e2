import type { Fault } from "@lichen/wire";
import { expect } from "vitest";
import { scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, kindsOf, line, prompt, refusal, run, sent, settled } from "./stage.ts";

/** What admission promises on any host. */
export function admissionContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check("[A1] accepted is answered only once the command is durable", async (stage) => {
    const life = await stage.open();
    const release = life.holdSyncs();
    let receipt: unknown;
    const sending = life
      .session()
      .send(prompt("r1"))
      .then((it) => (receipt = it));
    await until(() => stage.sql.all("select 1 from request").length > 0, "the admission's commit");
    await turns(5);
    expect(receipt).toBeUndefined();
    release();
    expect(await sending).toMatchObject({
      status: "accepted",
      commandId: expect.stringMatching(/^cmd_/),
    });
  });

  check("[A1] one transaction holds the receipt, the entry and the queue row", async (stage) => {
    const life = await stage.open({ capacity: 0 });
    const before = life.commits;
    const commandId = await sent(life.session(), prompt("r1"));
    expect(life.commits - before).toBe(1);
    expect(await entriesOf(life.session())).toMatchObject([
      { kind: "command.queued", commandId, requestId: "r1", data: { text: "text of r1" } },
    ]);
    expect((await life.session().read()).pending).toMatchObject([{ commandId, requestId: "r1" }]);
  });

  check("[A2] the same request replays its first receipt and adds nothing", async (stage) => {
    const life = await stage.open();
    const session = life.session();
    const first = await session.send(prompt("r1"));
    await settled(session, first.commandId!);
    const entries = await entriesOf(session);
    expect(await session.send(prompt("r1"))).toEqual({ ...first, replay: true });
    expect(await session.send(prompt("r1", { delivery: "follow_up", images: [] }))).toEqual({
      ...first,
      replay: true,
    });
    expect(await entriesOf(session)).toEqual(entries);
  });

  check("[A2] a request is replayed after a crash as before it", async (stage) => {
    const life = await stage.open({ capacity: 0 });
    const first = await life.session().send(prompt("r1"));
    const noted = await life.session().send(line("r2"));
    life.die();
    const next = await stage.open();
    expect(await next.session().send(prompt("r1"))).toEqual({ ...first, replay: true });
    expect(await next.session().send(line("r2"))).toEqual({ ...noted, replay: true });
    expect(await refusal(next.session().send(prompt("r1", { text: "other" })))).toBe("conflict");
  });

  check("[A2] many who send one request at once get one command", async (stage) => {
    const life = await stage.open();
    const receipts = await Promise.all(
      Array.from({ length: 40 }, () => life.session().send(prompt("r1"))),
    );
    expect(new Set(receipts.map((receipt) => receipt.commandId)).size).toBe(1);
    expect(receipts.filter((receipt) => !receipt.replay)).toHaveLength(1);
    await settled(life.session(), receipts[0]!.commandId!);
    expect((await kindsOf(life.session())).filter((it) => it === "command.queued")).toHaveLength(1);
  });

  check(
    "[A3] other input under a used request id is a conflict and changes nothing",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      const first = await session.send(prompt("r1"));
      const others = [
        prompt("r1", { text: "other" }),
        prompt("r1", { delivery: "steer" }),
        prompt("r1", { requireExisting: true }),
        prompt("r1", { images: [{ mimeType: "image/png", data: "iVBORw0KGgo=" }] }),
        line("r1", "text of r1"),
        { type: "abort", requestId: "r1" } as const,
      ];
      for (const other of others) expect(await refusal(session.send(other))).toBe("conflict");
      expect(await session.send(prompt("r1"))).toEqual({ ...first, replay: true });
      expect(await kindsOf(session)).toEqual(["command.queued"]);
    },
  );

  check(
    "[A3] requests that meet in one group decide among themselves who is first",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const outcomes = await Promise.all(
        ["a", "b", "c"].map((text) =>
          life
            .session()
            .send(prompt("r1", { text }))
            .then(
              () => text,
              (error: unknown) => (error as { code: string }).code,
            ),
        ),
      );
      expect(outcomes).toEqual(["a", "conflict", "conflict"]);
    },
  );

  check("[A4] two sessions, and two agents, may use the same request id", async (stage) => {
    const life = await stage.open({ agents: ["a", "b"] });
    const ids = await Promise.all([
      sent(life.owner.agent("a")!.session("one"), prompt("r1")),
      sent(life.owner.agent("a")!.session("two"), prompt("r1", { text: "else" })),
      sent(life.owner.agent("b")!.session("one"), prompt("r1", { text: "again" })),
    ]);
    expect(new Set(ids).size).toBe(3);
  });

  check("[A5] a refused admission leaves nothing behind", async (stage) => {
    const life = await stage.open({ capacity: 0 });
    life.trouble = (statement) =>
      statement.startsWith("insert into request")
        ? new Error("no room for the receipt")
        : undefined;
    expect(await refusal(life.session().send(prompt("r1")))).toContain("no room");
    expect(await refusal(life.session().send(line("r2")))).toContain("no room");
    life.trouble = undefined;
    expect(await refusal(life.session().read())).toBe("unknown_session");
    for (const table of ["session", "entry", "command", "request"])
      expect(stage.sql.all(`select 1 from ${table}`)).toEqual([]);
    await sent(life.session(), prompt("r1"));
    expect(await kindsOf(life.session())).toEqual(["command.queued"]);
  });

  check(
    "[A5] a member that fails undoes neither its neighbours nor their places",
    async (stage) => {
      const life = await stage.open({ capacity: 2 });
      let failures = 0;
      life.trouble = (statement) =>
        statement.startsWith("insert into request") && failures++ % 2 === 0
          ? new Error("every other one fails")
          : undefined;
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, n) => life.session(`s${n}`).send(prompt("r"))),
      );
      life.trouble = undefined;
      expect(outcomes.map((it) => it.status).filter((it) => it === "fulfilled")).toHaveLength(5);
      for (const [n, outcome] of outcomes.entries())
        if (outcome.status === "fulfilled")
          expect((await settled(life.session(`s${n}`), outcome.value.commandId!)).terminal).toBe(
            "completed",
          );
      await until(() => life.owner.running() === 0, "all ended");
      // Had the failed ones kept their places, nothing could run any more.
      expect((await run(life.session("later"), "r")).terminal).toBe("completed");
    },
  );

  check(
    "[A6] requireExisting on an absent session is refused closed and creates nothing",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      expect(await refusal(session.send(prompt("r1", { requireExisting: true })))).toBe("closed");
      expect(await refusal(session.send({ ...line("r2"), requireExisting: true }))).toBe("closed");
      expect((await life.agent.sessions()).sessions).toEqual([]);
      await run(session, "r1");
      expect((await run(session, "r3")).terminal).toBe("completed");
      expect((await session.send(prompt("r4", { requireExisting: true }))).status).toBe("accepted");
    },
  );

  check("[A6] commands that act on a session need one", async (stage) => {
    const life = await stage.open();
    const commands = [
      { type: "cancel", requestId: "r", commandId: "cmd_x_1" },
      { type: "abort", requestId: "r" },
      { type: "compact", requestId: "r" },
      { type: "answer", requestId: "r", approvalId: "apr_x_1", allow: true },
    ] as const;
    for (const command of commands)
      expect(await refusal(life.session().send(command))).toBe("unknown_session");
    expect((await life.agent.sessions()).sessions).toEqual([]);
  });

  check(
    "[A7] a queue of 256 refuses capacity, and takes more once there is room",
    async (stage) => {
      const life = await stage.open({ capacity: 0 });
      const session = life.session();
      const ids = await Promise.all(
        Array.from({ length: 256 }, (_, n) => sent(session, prompt(`r${n}`))),
      );
      expect(await refusal(session.send(prompt("more")))).toBe("capacity");
      expect(await refusal(session.send({ type: "compact", requestId: "c" }))).toBe("capacity");
      expect((await session.send(prompt("r0"))).replay).toBe(true);
      expect((await session.send(line("l"))).status).toBe("accepted");
      await session.send({ type: "cancel", requestId: "x", commandId: ids[7]! });
      expect((await session.send(prompt("more"))).status).toBe("accepted");
      expect((await session.info()).pending).toBe(256);
    },
  );

  check(
    "[A7] delivery reject on a busy session is refused busy and leaves nothing",
    async (stage) => {
      const held = gate();
      const life = await stage.open({ engine: [{ gate: held.opened }, { say: "done" }] });
      const session = life.session();
      const first = await sent(session, prompt("r1", { delivery: "reject" }));
      expect(await refusal(session.send(prompt("r2", { delivery: "reject" })))).toBe("busy");
      expect((await session.info()).pending).toBe(0);
      held.open();
      await settled(session, first);
      expect((await session.send(prompt("r2", { delivery: "reject" }))).status).toBe("accepted");
    },
  );

  check(
    "[A9] a body with an unknown field, or an id of a wrong form, is refused invalid",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      const bodies: unknown[] = [
        { ...prompt("r"), meta: {} },
        { ...prompt("r"), text: 7 },
        prompt(""),
        prompt("."),
        prompt(".."),
        prompt("a\u0000b"),
        prompt("é".repeat(129)),
        prompt("\ud800"),
        prompt("r", { text: "half a pair \udc00" }),
        { type: "cancel", requestId: "r", commandId: "ent_x_1" },
        { type: "unheard", requestId: "r" },
        null,
      ];
      for (const body of bodies)
        expect(await refusal(session.send(body as Parameters<typeof session.send>[0]))).toBe(
          "invalid",
        );
      for (const id of ["", ".", "..", "a\nb", "é".repeat(129), "\ud800"])
        expect(await refusal(life.session(id).send(prompt("r")))).toBe("invalid");
      expect((await life.agent.sessions()).sessions).toEqual([]);
    },
  );

  check("[A9] ids of 256 bytes in any script are told apart byte by byte", async (stage) => {
    const life = await stage.open({ capacity: 0 });
    const composed = `${"é".repeat(127)}é`;
    const decomposed = "e\u0301".repeat(85);
    const ids = [
      composed,
      decomposed,
      "x".repeat(256),
      "X".repeat(256),
      "…/../etc",
      "__proto__",
      "constructor",
      "a",
      "a ",
    ];
    for (const id of ids) {
      await life.session(id).send(prompt(id, { text: id }));
      expect((await life.session(id).info()).session).toBe(id);
    }
    expect((await life.agent.sessions()).sessions).toHaveLength(ids.length);
  });

  check(
    "[A13] an operator line is recorded under its request id and starts no run",
    async (stage) => {
      let runs = 0;
      const life = await stage.open({
        engine: scriptedEngine([{ say: "ok" }], { onRun: () => void runs++ }),
      });
      const session = life.session();
      const receipt = await session.send(line("l1", "by the way"));
      await turns(5);
      expect(receipt).toMatchObject({
        status: "accepted",
        entryId: expect.stringMatching(/^ent_/),
      });
      expect(receipt.commandId).toBeUndefined();
      expect(await entriesOf(session)).toMatchObject([
        { kind: "line", id: receipt.entryId, requestId: "l1", data: { text: "by the way" } },
      ]);
      expect(runs).toBe(0);
      expect((await session.info()).state).toBe("idle");
    },
  );

  check(
    "[A14] a stopping host refuses unavailable whatever would change something",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      await run(session, "r1");
      const closing = life.owner.close({ patienceMs: 0 });
      expect(await refusal(session.send(prompt("r2")))).toBe("unavailable");
      expect(await refusal(life.agent.create({ requestId: "c" }))).toBe("unavailable");
      expect(await refusal(session.change({ title: "t" }))).toBe("unavailable");
      expect(await refusal(session.restart())).toBe("unavailable");
      expect(await refusal(session.fork({ requestId: "f" }))).toBe("unavailable");
      expect(await refusal(session.delete())).toBe("unavailable");
      await closing;
      expect(await kindsOf(session)).not.toContain("session.changed");
    },
  );

  check(
    "[A15] a prompt of a mebibyte, and one of any script, is run with exactly its text",
    async (stage) => {
      const texts: string[] = [];
      const life = await stage.open({
        engine: scriptedEngine([{ say: "ok" }], { onRun: (work) => void texts.push(work.text) }),
      });
      const session = life.session();
      const long = "a 日本 👩‍👩‍👧 ".repeat(37_000);
      for (const [n, text] of [long, "", "\u0000\u2028 __proto__ </script>", "ſ"].entries())
        await settled(session, await sent(session, prompt(`r${n}`, { text })));
      expect(texts).toEqual([long, "", "\u0000\u2028 __proto__ </script>", "ſ"]);
      for (const entry of await entriesOf(session))
        expect(JSON.stringify(entry).length).toBeLessThan(600_000);
    },
  );

  check(
    "[A22] an image that is none and a text that is too large are refused by name, and nothing is kept",
    async (stage) => {
      const life = await stage.open();
      const session = life.session();
      const why = async (extra: Parameters<typeof prompt>[1]) =>
        session.send(prompt("r", extra)).catch((error: Fault) => [error.code, error.message]);
      for (const data of ["", "AAAA", "R0lGODlh"])
        expect(await why({ images: [{ mimeType: "image/png", data }] })).toEqual([
          "invalid",
          expect.stringMatching(/^images\.0\.data: not image\/png: /),
        ]);
      expect(await why({ text: "x".repeat(1_048_577) })).toEqual([
        "too_large",
        expect.stringMatching(/^text: larger than /),
      ]);
      expect(await refusal(session.info())).toBe("unknown_session");
    },
  );
}
