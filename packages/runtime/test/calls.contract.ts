import type { JsonObject } from "@lichen/wire";
import { expect } from "vitest";
import type { Engine, Outcome, Run } from "../src/index.ts";
import { scriptedEngine, textOutcome } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { onStage } from "./on-stage.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, gate, kindsOf, prompt, refusal, run, sent, settled } from "./stage.ts";

/** An engine whose every run is the test's own function. */
function engineThat(does: (run: Run) => Promise<unknown>): Engine {
  return {
    ...scriptedEngine(),
    open: () => ({
      close: () => Promise.resolve(),
      run: async (_work, live) => {
        await does(live);
        return { terminal: "completed" };
      },
    }),
  };
}

async function assistantOf(live: Run, calls = 1): Promise<string> {
  const content = Array.from({ length: calls }, (_, index) => ({
    type: "call" as const,
    index,
    callId: "same",
    name: "tool",
    input: {},
  }));
  const [entry] = await live.append([
    { kind: "message.assistant", data: { content, stop: "calls" } },
  ]);
  return entry!.id;
}

const call = (assistant: string, index: number, input: JsonObject = {}) => ({
  assistant,
  index,
  callId: "same",
  name: "tool",
  input,
  label: "write" as const,
  replaySafe: false,
});

/** What calls promise on any host. */
export function callsContract(host: string, withSql: WithSql): void {
  const check = onStage(host, withSql);

  check(
    "[Q10] a call's intent is durable before its effect begins, its outcome before the engine has it",
    async (stage) => {
      const seen: string[] = [];
      const life = await stage.open({
        engine: engineThat(async (live) => {
          const assistant = await assistantOf(live);
          const release = life.holdSyncs();
          const calling = live.call(call(assistant, 0), async () => {
            seen.push("effect");
            return textOutcome("did it");
          });
          await until(
            () => stage.sql.all("select 1 from entry where kind = 'call.started'").length > 0,
            "the intent's commit",
          );
          await turns(5);
          expect(seen).toEqual([]);
          release();
          await until(() => seen.length > 0, "the effect");
          const hold = life.holdSyncs();
          const told = calling.then(() => seen.push("told"));
          await turns(10);
          expect(seen).toEqual(["effect"]);
          hold();
          await told;
        }),
      });
      const settlement = await run(life.session(), "r1");
      expect(settlement).toMatchObject({ terminal: "completed", toolCalls: 1 });
      expect(seen).toEqual(["effect", "told"]);
      expect(await kindsOf(life.session())).toEqual([
        "command.queued",
        "run.started",
        "message.user",
        "message.assistant",
        "call.started",
        "message.tool",
        "run.settled",
      ]);
    },
  );

  check(
    "[Q11] calls are told apart by their assistant entry and index, though providers repeat their ids",
    async (stage) => {
      const life = await stage.open({
        engine: [
          {
            calls: [1, 2, 3].map((n) => ({
              name: `t${n}`,
              callId: "dup",
              label: "write" as const,
            })),
          },
          { calls: [{ name: "t4", callId: "dup", label: "write" }] },
          { say: ({ outcomes }) => outcomes.map((it) => JSON.stringify(it.content)).join() },
        ],
      });
      const { answer, toolCalls } = await run(life.session(), "r1");
      expect(toolCalls).toBe(4);
      for (const name of ["t1", "t2", "t3", "t4"]) expect(answer).toContain(`${name} done`);
      const outcomes = (await entriesOf(life.session())).filter((it) => it.kind === "message.tool");
      expect(
        new Set(outcomes.map((it) => `${JSON.stringify(it.data.assistant)}/${String(it.seq)}`))
          .size,
      ).toBe(4);
    },
  );

  check(
    "[Q12] a call that needs a person asks, is answered, has its intent, then its effect: in this order",
    async (stage) => {
      const order: string[] = [];
      const life = await stage.open({
        engine: [
          {
            calls: [
              {
                name: "delete",
                label: "write",
                confirm: { description: "Delete it?" },
                effect: () => (order.push("effect"), "deleted"),
              },
            ],
          },
          { say: "ok" },
        ],
      });
      const session = life.session();
      const id = await sent(session, prompt("r1"));
      await until(async () => (await session.info()).approvals === 1, "it asks");
      expect(order).toEqual([]);
      const [approval] = (await session.read()).approvals;
      expect(approval).toMatchObject({ kind: "tool", tool: "delete", description: "Delete it?" });
      await session.send({
        type: "answer",
        requestId: "a",
        approvalId: approval!.approvalId,
        allow: true,
      });
      await settled(session, id);
      expect((await kindsOf(session)).slice(3)).toEqual([
        "message.assistant",
        "approval.asked",
        "approval.answered",
        "call.started",
        "message.tool",
        "message.assistant",
        "run.settled",
      ]);
    },
  );

  check("[Q12] a call that was denied never runs and tells the model so", async (stage) => {
    let effects = 0;
    const life = await stage.open({
      engine: [
        { calls: [{ name: "delete", label: "write", confirm: {}, effect: () => `${++effects}` }] },
        { say: ({ outcomes }) => JSON.stringify(outcomes[0]) },
      ],
    });
    const session = life.session();
    const id = await sent(session, prompt("r1"));
    await until(async () => (await session.info()).approvals === 1, "it asks");
    const [approval] = (await session.read()).approvals;
    await session.send({
      type: "answer",
      requestId: "a",
      approvalId: approval!.approvalId,
      allow: false,
      message: "not today",
    });
    const { answer, toolCalls } = await settled(session, id);
    expect(answer).toContain("not today");
    expect(effects).toBe(0);
    expect(toolCalls).toBe(0);
    expect(await kindsOf(session)).not.toContain("call.started");
  });

  check("[Q13] a recorded outcome is handed out again without running or asking", async (stage) => {
    let effects = 0;
    let outcomes: Outcome[] = [];
    const life = await stage.open({
      engine: engineThat(async (live) => {
        const assistant = await assistantOf(live);
        const again = () =>
          live.call(call(assistant, 0), async () =>
            textOutcome(`${++effects} ${"x".repeat(40_000)}`, { n: 1 }),
          );
        outcomes = [await again(), await again(), await again()];
      }),
    });
    expect(await run(life.session(), "r1")).toMatchObject({ toolCalls: 1 });
    expect(effects).toBe(1);
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(outcomes[2]).toEqual(outcomes[0]);
  });

  check(
    "[Q14] a commit that fails stops the run, and the calls beside it begin nothing more",
    async (stage) => {
      const seen: string[] = [];
      const life = await stage.open({
        engine: [
          {
            calls: [
              { name: "one", label: "write", effect: () => (seen.push("one"), "one") },
              {
                name: "two",
                label: "write",
                effect: (_input, signal) =>
                  new Promise((_resolve, reject) => {
                    const stop = (): void => {
                      seen.push("two stopped");
                      reject(new Error("stopped"));
                    };
                    if (signal.aborted) stop();
                    signal.addEventListener("abort", stop);
                  }),
              },
            ],
          },
          { say: "never" },
        ],
      });
      const session = life.session();
      let failures = 0;
      life.trouble = (statement) =>
        statement.startsWith("update call set outcome") && failures++ === 0
          ? new Error("no room")
          : undefined;
      const settlement = await run(session, "r1");
      expect(settlement.terminal).toBe("outcome_unknown");
      expect(settlement.diagnostic).toContain("no room");
      expect(seen).toEqual(["one", "two stopped"]);
      const outcomes = (await entriesOf(session)).filter((it) => it.kind === "message.tool");
      expect(outcomes.map((it) => it.data.interrupted)).toEqual([true, true]);
    },
  );

  check("[Q14] a question that could not be recorded stops the run too", async (stage) => {
    let hasStopped = false;
    const life = await stage.open({
      engine: engineThat(async (live) => {
        life.trouble = (statement) =>
          statement.startsWith("insert into approval") ? new Error("no room") : undefined;
        await expect(live.ask({ key: "q", kind: "question" })).rejects.toThrow("no room");
        hasStopped = live.signal.aborted;
        life.trouble = undefined;
        throw new Error("could not ask");
      }),
    });
    expect((await run(life.session(), "r1")).terminal).toBe("failed");
    expect(hasStopped).toBe(true);
  });

  check(
    "[Q14] a run whose commit failed and that does not stop is settled failed, not cancelled",
    async (stage) => {
      const life = await stage.open({
        engine: engineThat(async (live) => {
          life.trouble = (statement) =>
            statement.startsWith("insert into entry") ? new Error("no room") : undefined;
          await live
            .append([{ kind: "message.assistant", data: { content: [], stop: "stop" } }])
            .catch(() => {
              // It goes on as if nothing were.
            });
          life.trouble = undefined;
          await new Promise<never>(() => {});
        }),
      });
      const id = await sent(life.session(), prompt("r1"));
      await until(() => life.owner.running() === 1, "it runs");
      await turns(10);
      await stage.clock.advance(10_000);
      expect((await settled(life.session(), id)).terminal).toBe("failed");
    },
  );

  check("[Q16] a call that is handed in twice at once runs once", async (stage) => {
    let effects = 0;
    const life = await stage.open({
      engine: engineThat(async (live) => {
        const assistant = await assistantOf(live);
        const held = gate();
        const first = live.call(call(assistant, 0), async () => {
          effects++;
          await held.opened;
          return textOutcome("done");
        });
        expect(
          await refusal(live.call(call(assistant, 0), async () => textOutcome(`${++effects}`))),
        ).toContain("runs already");
        await until(() => effects > 0, "the first runs");
        expect(
          await refusal(live.call(call(assistant, 0), async () => textOutcome(`${++effects}`))),
        ).toContain("runs already");
        held.open();
        await first;
      }),
    });
    expect((await run(life.session(), "r1")).terminal).toBe("completed");
    expect(effects).toBe(1);
  });

  check(
    "[Q17] an effect that throws, at once or later, is an outcome that says so",
    async (stage) => {
      const life = await stage.open({
        engine: [
          {
            calls: [
              {
                name: "at once",
                effect: () => {
                  throw new Error("boom");
                },
              },
              { name: "later", effect: () => Promise.reject(new Error("bang")) },
              { name: "odd", effect: () => Promise.reject("just a text" as unknown as Error) },
            ],
          },
          {
            say: ({ outcomes }) =>
              outcomes.map((it) => `${it.isError}${JSON.stringify(it.content)}`).join(),
          },
        ],
      });
      const { answer, terminal } = await run(life.session(), "r1");
      expect(terminal).toBe("completed");
      expect(answer.match(/true/g)).toHaveLength(3);
      for (const said of ["boom", "bang", "just a text"]) expect(answer).toContain(said);
    },
  );

  check(
    "[Q17] an outcome of three mebibytes, with images and free data, comes back as it was and in small rows",
    async (stage) => {
      const text = "日本 tool output\n".repeat(180_000);
      const data = {
        __proto__: null,
        list: Array.from({ length: 2_000 }, (_, n) => ({ n, text: "y".repeat(400) })),
      };
      const odd = JSON.parse(
        '{"__proto__": {"polluted": true}, "half": "\\ud800", "blob": "x"}',
      ) as JsonObject;
      const outcome: Outcome = {
        content: [
          { type: "text", text },
          { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" },
        ],
        isError: false,
        data: { odd, list: data.list },
      };
      let again: Outcome | undefined;
      let transcript: unknown[] = [];
      const life = await stage.open({
        engine: engineThat(async (live) => {
          const assistant = await assistantOf(live);
          await live.call(call(assistant, 0, odd), async () => outcome);
          again = await live.call(call(assistant, 0, odd), async () => textOutcome("no"));
          transcript = live.transcript();
        }),
      });
      await run(life.session(), "r1");
      expect(again!.content[0]).toEqual(outcome.content[0]);
      expect(again!.data).toEqual(outcome.data);
      expect(Object.keys((again!.data as { odd: JsonObject }).odd)).toEqual([
        "__proto__",
        "half",
        "blob",
      ]);
      expect(transcript.at(-1)).toMatchObject({
        data: { content: [{ type: "text", text }, { type: "image" }] },
      });
      const rows = stage.sql.all<{ n: number }>("select max(length(data)) as n from entry");
      expect(rows[0]!.n).toBeLessThan(524_289);
    },
  );
}
