import type { Baseline, Fault, JsonObject } from "@lichen/wire";
import { expect } from "vitest";
import type { Answer, Session } from "../src/index.ts";
import { type EngineScript, scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, kindsOf, prompt, refusal, sent, settled } from "./stage.ts";

type Approval = Baseline["approvals"][number];

async function asked(session: Session, count = 1): Promise<Approval[]> {
  await until(async () => (await session.info()).approvals === count, `${count} approvals`);
  return (await session.read()).approvals;
}

const answer = (requestId: string, { approvalId }: Approval, extra: JsonObject = {}) =>
  ({ type: "answer", requestId, approvalId, allow: true, ...extra }) as const;

/** A run that makes one write call which needs a person; its answer tells what the effect got. */
function confirming(
  effects: JsonObject[],
  check?: (input: JsonObject) => JsonObject,
): EngineScript {
  return [
    {
      calls: [
        {
          name: "pay",
          label: "write",
          input: { amount: 1 },
          confirm: { description: "Pay?" },
          ...(check ? { check } : {}),
          effect: (input) => (effects.push(input), "paid"),
        },
      ],
    },
    { say: "ok" },
  ];
}

const amountOnly = (input: JsonObject): JsonObject => {
  if (typeof input.amount !== "number") throw new Error("amount must be a number");
  return { amount: input.amount };
};

/** What approvals promise on any host. */
export function approvalsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[P1] an approval is decided once: a later answer is too late and changes nothing",
    async (stage) => {
      const effects: JsonObject[] = [];
      const life = await stage.open({ engine: confirming(effects) });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const [approval] = await asked(session);
      expect((await session.info()).state).toBe("waiting");
      const receipts = await Promise.all([
        session.send(answer("a1", approval!)),
        session.send(answer("a2", approval!, { allow: false })),
      ]);
      expect(receipts.map((it) => it.status)).toEqual(["accepted", "too_late"]);
      expect((await settled(session, id)).terminal).toBe("completed");
      expect((await session.send(answer("a3", approval!))).status).toBe("too_late");
      expect(await session.send(answer("a1", approval!))).toEqual({
        status: "accepted",
        replay: true,
      });
      expect(effects).toHaveLength(1);
      expect((await kindsOf(session)).filter((it) => it === "approval.answered")).toHaveLength(1);
    },
  );

  check("[P1] an approval of another session, or none, cannot be answered here", async (stage) => {
    const life = await stage.open({ engine: confirming([]) });
    await sent(life.session("one"), prompt("r1"));
    await sent(life.session("two"), prompt("r1"));
    const [approval] = await asked(life.session("one"));
    await asked(life.session("two"));
    expect(await refusal(life.session("two").send(answer("a1", approval!)))).toBe(
      "unknown_approval",
    );
    for (const approvalId of ["apr_none_1", `${approval!.approvalId}9`, "apr_none"])
      expect(
        await refusal(
          life
            .session("one")
            .send({ type: "answer", requestId: `a${approvalId}`, approvalId, allow: true }),
        ),
      ).toBe("unknown_approval");
    expect((await life.session("one").info()).approvals).toBe(1);
  });

  check(
    "[P2] a run that waits for a person goes on with the answer, however often the host restarts",
    async (stage) => {
      const effects: JsonObject[] = [];
      const engine = confirming(effects);
      let life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      const [approval] = await asked(life.session());
      for (let n = 0; n < 12; n++) {
        if (n % 2 === 0) life.die();
        else await life.owner.close();
        life = await stage.open({ engine });
        await until(() => life.owner.running() === 1, "it waits again");
        await turns(6);
        expect((await life.session().read()).approvals).toEqual([approval]);
      }
      await life.session().send(answer("a1", approval!));
      expect((await settled(life.session(), id)).terminal).toBe("completed");
      expect(effects).toEqual([{ amount: 1 }]);
      const kinds = await kindsOf(life.session());
      expect(kinds.filter((it) => it === "approval.asked")).toHaveLength(1);
      expect(kinds).not.toContain("run.recovered");
    },
  );

  check("[P2] an answer whose process died at once is used without asking again", async (stage) => {
    const effects: JsonObject[] = [];
    const life = await stage.open({ engine: confirming(effects) });
    const id = await sent(life.session(), prompt("r1"));
    const [approval] = await asked(life.session());
    life.dieAfterCommits(1);
    void life.session().send(answer("a1", approval!, { message: "go" }));
    await until(() => life.isDead, "the crash right after the answer's commit");
    expect(effects).toEqual([]);
    const next = await stage.open({ engine: confirming(effects) });
    expect((await settled(next.session(), id)).terminal).toBe("completed");
    expect(effects).toHaveLength(1);
    expect((await kindsOf(next.session())).filter((it) => it === "approval.asked")).toHaveLength(1);
  });

  check(
    "[P2] a question that is asked under one key again, also at once, is one approval",
    async (stage) => {
      const answers: Answer[] = [];
      const life = await stage.open({
        engine: {
          ...scriptedEngine(),
          open: () => ({
            close: () => Promise.resolve(),
            run: async (_work, live) => {
              const ask = () => live.ask({ key: "which", kind: "question", questions: ["tea?"] });
              answers.push(...(await Promise.all([ask(), ask(), turns(5).then(ask)])));
              answers.push(await ask());
              return { terminal: "completed" };
            },
          }),
        },
      });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const [approval] = await asked(session);
      await turns(12);
      expect((await session.info()).approvals).toBe(1);
      await session.send(answer("a1", approval!, { answers: { tea: "green" } }));
      await settled(session, id);
      expect(answers).toEqual(
        Array.from({ length: 4 }, () => ({ outcome: "allowed", answers: { tea: "green" } })),
      );
    },
  );

  check(
    "[P2] what asks something else under its key after a restart is another approval, and the former one goes",
    async (stage) => {
      const asking = (question: string): EngineScript => [
        { ask: { kind: "question", key: "which", questions: [question] } },
        { say: ({ answers }) => JSON.stringify(answers) },
      ];
      const life = await stage.open({ engine: asking("tea?") });
      const id = await sent(life.session(), prompt("r1"));
      const [tea] = await asked(life.session());
      life.die();
      const next = await stage.open({ engine: asking("coffee?") });
      await until(() => stage.sql.all("select 1 from approval").length === 2, "asked anew");
      const [coffee] = await asked(next.session());
      expect(coffee!.questions).toEqual(["coffee?"]);
      expect(await next.session().send(answer("a1", tea!))).toMatchObject({ status: "too_late" });
      await next.session().send(answer("a2", coffee!, { message: "black" }));
      expect(JSON.parse((await settled(next.session(), id)).answer)).toEqual([
        { outcome: "allowed", message: "black" },
      ]);
    },
  );

  check(
    "[P3] an edited input is checked before it is recorded, and bound by its own digest",
    async (stage) => {
      const effects: JsonObject[] = [];
      const life = await stage.open({ engine: confirming(effects, amountOnly) });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const [approval] = await asked(session);
      expect(
        await refusal(session.send(answer("a1", approval!, { input: { amount: "all" } }))),
      ).toBe("invalid");
      expect((await session.info()).approvals).toBe(1);
      await session.send(answer("a1", approval!, { input: { amount: 2, note: "x" } }));
      await settled(session, id);
      expect(effects).toEqual([{ amount: 2 }]);
      const entries = await entriesOf(session);
      const answered = entries.find((it) => it.kind === "approval.answered")!;
      const started = entries.find((it) => it.kind === "call.started")!;
      expect(answered.data).toMatchObject({ input: { amount: 2 } });
      expect(started.data).toMatchObject({ input: { amount: 2 }, digest: answered.data.digest });
      expect(answered.data.digest).not.toBe(approval!.digest);
    },
  );

  check(
    "[P3] an edit is refused while the run that would check it is not back, and taken once it is",
    async (stage) => {
      const effects: JsonObject[] = [];
      const life = await stage.open({ engine: confirming(effects, amountOnly) });
      const id = await sent(life.session(), prompt("r1"));
      const [approval] = await asked(life.session());
      life.die();
      const full = await stage.open({ engine: confirming(effects, amountOnly), capacity: 0 });
      const edit = answer("a1", approval!, { input: { amount: "all of it" } });
      expect(await refusal(full.session().send(edit))).toBe("unavailable");
      full.die();
      const next = await stage.open({ engine: confirming(effects, amountOnly) });
      await until(() => next.owner.running() === 1, "it waits again");
      await turns(6);
      expect(await refusal(next.session().send(edit))).toBe("invalid");
      await next.session().send(answer("a1", approval!, { input: { amount: 3 } }));
      await settled(next.session(), id);
      expect(effects).toEqual([{ amount: 3 }]);
    },
  );

  check(
    "[P3] a large edit and a large answer reach their call whole, also over a crash",
    async (stage) => {
      const effects: JsonObject[] = [];
      const note = "n".repeat(100_000);
      const engine: EngineScript = [
        {
          calls: [
            {
              name: "write",
              label: "write",
              replaySafe: true,
              confirm: {},
              effect: (input) => (
                effects.push(input),
                effects.length === 1 ? new Promise(() => {}) : "done"
              ),
            },
          ],
        },
        { say: "ok" },
      ];
      const life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      const [approval] = await asked(life.session());
      await life.session().send(answer("a1", approval!, { input: { note }, message: note }));
      await until(() => effects.length === 1, "the effect");
      life.die();
      const next = await stage.open({ engine });
      expect((await settled(next.session(), id)).terminal).toBe("completed");
      expect(effects).toEqual([{ note }, { note }]);
    },
  );

  check(
    "[P4] approvals that nobody answers expire as denied at their time, all of them, and the run goes on",
    async (stage) => {
      let effects = 0;
      const three = [1, 2, 3].map((n) => ({
        name: `t${n}`,
        label: "write" as const,
        confirm: {},
        effect: () => `${++effects}`,
      }));
      const life = await stage.open({
        approvalTtlMs: 60_000,
        engine: [{ calls: three }, { say: ({ outcomes }) => JSON.stringify(outcomes) }],
      });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const other = await sent(life.session("other"), prompt("r1"));
      await asked(session, 3);
      await asked(life.session("other"), 3);
      await stage.clock.advance(59_999);
      expect((await session.info()).approvals).toBe(3);
      await stage.clock.advance(1);
      expect((await settled(session, id)).answer).toContain("expired");
      expect((await settled(life.session("other"), other)).terminal).toBe("completed");
      expect(effects).toBe(0);
      expect((await kindsOf(session)).filter((it) => it === "approval.expired")).toHaveLength(3);
      expect((await session.info()).approvals).toBe(0);
    },
  );

  check(
    "[P4] approvals that fell due while the host was down expire when it is opened",
    async (stage) => {
      const engine = confirming([]);
      const life = await stage.open({ engine });
      const id = await sent(life.session(), prompt("r1"));
      const [approval] = await asked(life.session());
      life.die();
      await stage.clock.advance(8 * 86_400_000);
      const next = await stage.open({ engine });
      await stage.clock.advance(0);
      expect((await settled(next.session(), id)).terminal).toBe("completed");
      expect((await next.session().send(answer("a1", approval!))).status).toBe("too_late");
      expect(await kindsOf(next.session())).toContain("approval.expired");
    },
  );

  check("[P4] an expiry that could not be written is tried again", async (stage) => {
    const life = await stage.open({ engine: confirming([]), approvalTtlMs: 1_000 });
    const id = await sent(life.session(), prompt("r1"));
    await asked(life.session());
    life.trouble = (statement) =>
      statement.startsWith("update approval")
        ? Object.assign(new Error("the disk is full"), { name: "Fault", code: "unavailable" })
        : undefined;
    await stage.clock.advance(1_500);
    life.trouble = undefined;
    expect(await life.session().readSettlement(id)).toBeUndefined();
    await stage.clock.advance(5_000);
    expect((await settled(life.session(), id)).terminal).toBe("completed");
    expect(stage.reports.splice(0).length).toBeGreaterThan(0);
  });

  check(
    "[P5] a cancelled run withdraws its questions; an answer that comes then is too late",
    async (stage) => {
      const effects: JsonObject[] = [];
      const life = await stage.open({ engine: confirming(effects) });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const [approval] = await asked(session);
      const [, receipt] = await Promise.all([
        session.send({ type: "cancel", requestId: "c", commandId: id }),
        session.send(answer("a1", approval!)),
      ]);
      expect(receipt.status).toBe("too_late");
      expect((await settled(session, id)).terminal).toBe("cancelled");
      expect(effects).toEqual([]);
      expect(await session.info()).toMatchObject({ approvals: 0, state: "idle" });
      expect(await kindsOf(session)).toContain("approval.withdrawn");
    },
  );

  check(
    "[P8] the line by which a harness asks stands with its question, or neither does",
    async (stage) => {
      const said = { harness: "h", line: { says: "may I?" } };
      const life = await stage.open({
        engine: [{ ask: { key: "q", kind: "tool", line: said } }, { say: "done" }],
      });
      const session = life.session();
      life.trouble = (statement) =>
        statement.startsWith("insert into approval") ? new Error("no") : undefined;
      await settled(session, await sent(session, prompt("r1")));
      expect(await kindsOf(session)).not.toContain("harness.line");
      life.trouble = undefined;
      const id = await sent(session, prompt("r2"));
      const [approval] = await asked(session);
      const entries = await entriesOf(session);
      const at = entries.findIndex(({ kind }) => kind === "approval.asked");
      expect(entries[at]?.data).not.toHaveProperty("line");
      expect(entries[at - 1]).toMatchObject({ kind: "harness.line", commandId: id, data: said });
      await session.send(answer("a1", approval!));
      expect((await settled(session, id)).terminal).toBe("completed");
    },
  );

  check("[P5] a harness that needs no answer any more withdraws its question", async (stage) => {
    let answered: Answer | undefined;
    const life = await stage.open({
      engine: {
        ...scriptedEngine(),
        open: () => ({
          close: () => Promise.resolve(),
          run: async (_work, live) => {
            const asking = live.ask({ key: "q", kind: "question" });
            await until(() => stage.sql.all("select 1 from approval").length > 0, "asked");
            await turns(4);
            await live.withdrawQuestion("q", "the harness went on");
            await live.withdrawQuestion("q", "again");
            await live.withdrawQuestion("never asked", "nothing");
            answered = await asking;
            return { terminal: "completed" };
          },
        }),
      },
    });
    const session = life.session();
    await settled(session, await sent(session, prompt("r1")));
    expect(answered).toEqual({ outcome: "withdrawn" });
    expect((await kindsOf(session)).filter((it) => it === "approval.withdrawn")).toHaveLength(1);
  });

  check(
    "[P5] deleting a session in mid-run withdraws its questions and ends its run",
    async (stage) => {
      const effects: JsonObject[] = [];
      const life = await stage.open({ engine: confirming(effects), capacity: 1 });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      await sent(session, prompt("r2"));
      const [approval] = await asked(session);
      await session.delete();
      expect(await refusal(session.readSettlement(id))).toBe("unknown_session");
      expect(await refusal(session.send(answer("a1", approval!)))).toBe("unknown_session");
      expect(stage.sql.all("select 1 from approval where state = 'pending'")).toEqual([]);
      expect(stage.sql.all("select 1 from command where state <> 'settled'")).toEqual([]);
      await until(() => life.owner.running() === 0, "the run's end");
      expect(effects).toEqual([]);
      const again = await sent(life.session(), prompt("r3"));
      const [fresh] = await asked(life.session());
      await life.session().send(answer("a1-new", fresh!));
      expect((await settled(life.session(), again)).terminal).toBe("completed");
    },
  );

  check(
    "[P6] `always` is taken only where something lasting was suggested; elsewhere it is refused and says what to do",
    async (stage) => {
      const effects: JsonObject[] = [];
      const life = await stage.open({ engine: confirming(effects) });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      const [approval] = await asked(session);
      for (const allow of [true, false]) {
        const refused = await session
          .send(answer(`a-${allow}`, approval!, { allow, always: true }))
          .catch((error: Fault) => error);
        expect(refused).toMatchObject({
          code: "invalid",
          message: expect.stringMatching(/^always: .* leave `always` out/),
        });
      }
      expect((await session.info()).approvals).toBe(1);
      expect(await kindsOf(session)).not.toContain("approval.answered");
      await session.send(answer("a-true", approval!, { always: false }));
      expect((await settled(session, id)).terminal).toBe("completed");
      expect(effects).toHaveLength(1);
    },
  );

  check("[P6] `always` reaches the engine that suggested something", async (stage) => {
    const suggestions = [{ rule: "allow pay" }, { padding: "x".repeat(600_000) }];
    const life = await stage.open({
      engine: scriptedEngine([
        { ask: { kind: "tool", tool: "pay", suggestions: suggestions.slice(0, 1) } },
        { ask: { kind: "tool", tool: "pay", suggestions } },
        { say: ({ answers }) => JSON.stringify(answers) },
      ]),
    });
    const session = life.session();
    const id = await sent(session, prompt("r1"));
    const ids = new Set<string>();
    for (const requestId of ["a1", "a2"]) {
      await until(
        async () => (await session.read()).approvals.some((it) => !ids.has(it.approvalId)),
        "a question",
      );
      const [approval] = (await session.read()).approvals;
      ids.add(approval!.approvalId);
      await session.send(answer(requestId, approval!, { always: true }));
    }
    const always = { outcome: "allowed", always: true };
    expect(JSON.parse((await settled(session, id)).answer)).toEqual([always, always]);
  });
}
