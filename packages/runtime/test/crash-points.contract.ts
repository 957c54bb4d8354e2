import type { EntryOf } from "@lichen/wire";
import { expect, test } from "vitest";
import type { Program } from "../src/index.ts";
import type { Move } from "../src/testing/index.ts";
import { turns } from "./clock.ts";
import { type Delivered, type GuestCall, runGuest } from "./guest.ts";
import type { Life } from "./life.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, line, prompt, refusal, Stage } from "./stage.ts";

/** What the outside world saw of the effects of one flow's calls, over all lives. */
type Effects = Map<string, number>;

interface Flow {
  readonly name: string;
  /** Its test's name begins so. */
  readonly promise?: "[J9] ";
  readonly engine: (effects: Effects) => readonly Move[] | ((text: string) => readonly Move[]);
  /** What clients do, in their order. Each can be done again: its request ids are fixed. */
  readonly steps: readonly ((life: Life, told: Told) => Promise<unknown>)[];
  /** Holds the last life against what is promised. */
  readonly check: (life: Life, effects: Effects) => Promise<void>;
}

/** What was acknowledged, by request id: it must be acknowledged alike for ever. */
class Told {
  readonly #receipts = new Map<string, object>();

  async tell<T extends object>(requestId: string, sending: Promise<T>): Promise<T> {
    const answer = await sending;
    const { replay: _, ...receipt } = answer as T & { replay?: true };
    const earlier = this.#receipts.get(requestId);
    if (earlier) expect(receipt).toEqual(earlier);
    this.#receipts.set(requestId, receipt);
    return answer;
  }
}

const counting = (effects: Effects, name: string) => (): string => {
  effects.set(name, (effects.get(name) ?? 0) + 1);
  return `${name} done`;
};

const settledAs = async (life: Life, commandId: string): Promise<string> =>
  (await life.session().readSettlement(commandId, { timeoutMs: 30_000 }))!.terminal;

/** A person who allows whatever is asked, as soon as it is. */
async function allowAll(life: Life, told: Told, count: number): Promise<void> {
  const answered = new Set<string>();
  while (answered.size < count) {
    const { approvals, entries } = await life.session().read();
    for (const entry of entries)
      if (entry.kind === "approval.answered")
        answered.add(String((entry.data as { approvalId: string }).approvalId));
    for (const { approvalId } of approvals) {
      await told.tell(
        approvalId,
        life
          .session()
          .send({ type: "answer", requestId: `a-${approvalId}`, approvalId, allow: true }),
      );
      answered.add(approvalId);
    }
    await turns(1);
  }
}

const flows: readonly Flow[] = [
  {
    name: "calls of every label, two of which a person allows",
    engine: (effects) => [
      { say: "first" },
      {
        calls: [
          { name: "look", label: "read", effect: counting(effects, "look") },
          { name: "write", label: "write", effect: counting(effects, "write") },
          { name: "put", label: "write", replaySafe: true, effect: counting(effects, "put") },
        ],
      },
      {
        calls: [
          { name: "pay", label: "write", confirm: {}, effect: counting(effects, "pay") },
          { name: "buy", label: "write", confirm: {}, effect: counting(effects, "buy") },
        ],
      },
      { say: "last" },
    ],
    steps: [
      (life, told) => told.tell("p", life.session().send(prompt("p"))),
      (life, told) => allowAll(life, told, 2),
      async (life, told) => {
        const { commandId } = await told.tell("p", life.session().send(prompt("p")));
        expect(await settledAs(life, commandId!)).toBe("completed");
      },
    ],
    check: async (life, effects) => {
      const entries = await entriesOf(life.session());
      const count = (kind: string): number => entries.filter((it) => it.kind === kind).length;
      expect(count("approval.asked")).toBe(2);
      expect(count("approval.answered")).toBe(2);
      expect(count("message.tool")).toBe(5);
      expect(count("call.started")).toBe(5);
      expect(count("message.assistant")).toBe(4);
      expect(count("message.user")).toBe(1);
      expect(entries.find((it) => it.kind === "run.settled")!.data).toMatchObject({
        answer: "last",
        toolCalls: 5,
      });
      for (const name of ["write", "pay", "buy"])
        expect(effects.get(name) ?? 0).toBeLessThanOrEqual(1);
      for (const name of ["look", "put"]) expect(effects.get(name)).toBeGreaterThanOrEqual(1);
      for (const entry of entries.filter((it) => it.kind === "message.tool")) {
        const { name, interrupted } = entry.data as { name: string; interrupted?: boolean };
        if (!interrupted) expect(effects.get(name)).toBeGreaterThanOrEqual(1);
        else expect(["write", "pay", "buy"]).toContain(name);
      }
    },
  },
  {
    name: "a program with parallel reads and writes, one of which a person allows",
    promise: "[J9] ",
    engine: (effects) => {
      const call = (operation: string, more: Partial<GuestCall> = {}): GuestCall => ({
        ...{ operation, label: "write", effect: counting(effects, operation) },
        ...more,
      });
      const calls = [
        call("a.look", { label: "read" }),
        call("a.write", { then: [call("a.put", { replaySafe: true })] }),
        call("bank.pay", { confirm: {}, then: [call("a.last", { label: "read" }), call("a.end")] }),
      ];
      const program = async (running: Program): Promise<string> =>
        JSON.stringify(await runGuest(running, calls, (told) => told.length % 2 === 1));
      return [
        { calls: [{ name: "execute", replaySafe: true, program }] },
        { say: ({ outcomes }) => JSON.stringify(outcomes[0]!.content[0]) },
      ];
    },
    steps: [
      (life, told) => told.tell("p", life.session().send(prompt("p"))),
      (life, told) => allowAll(life, told, 1),
      async (life, told) => {
        const { commandId } = await told.tell("p", life.session().send(prompt("p")));
        expect(await settledAs(life, commandId!)).toBe("completed");
      },
    ],
    check: async (life, effects) => {
      const entries = await entriesOf(life.session());
      const of = (kind: string) => entries.filter((it) => it.kind === kind);
      const ends = of("program.outcome").map((it) => it.data as EntryOf<"program.outcome">["data"]);
      expect(of("program.started")).toHaveLength(1);
      expect(new Set(of("program.call").map((it) => it.data["ordinal"])).size).toBe(6);
      expect(of("program.call")).toHaveLength(6);
      expect(ends).toHaveLength(6);
      expect(of("approval.asked")).toHaveLength(1);
      expect(of("message.tool")).toHaveLength(1);
      const { answer, toolCalls } = of("run.settled")[0]!.data as EntryOf<"run.settled">["data"];
      expect(toolCalls).toBe(7);
      const { text } = JSON.parse(answer as string) as { text: string };
      const told = JSON.parse(text) as Delivered[];
      expect(told.map((it) => [it.ordinal, it.operation])).toEqual(
        ends.map((it) => [it.ordinal, it.operation]),
      );
      for (const { operation, interrupted } of ends) {
        const isOnce = ["a.write", "bank.pay", "a.end"].includes(operation);
        if (isOnce) expect(effects.get(operation) ?? 0).toBeLessThanOrEqual(1);
        if (!interrupted) expect(effects.get(operation)).toBeGreaterThanOrEqual(1);
        else expect(isOnce).toBe(true);
      }
    },
  },
  {
    name: "a queue with a steer, a line, a cancel, a withdrawal and an abort",
    engine: () => (text) =>
      text === "text of slow"
        ? [{ gate: () => turns(12) }, { steers: true }, { say: "slow" }]
        : [{ say: "quick" }],
    steps: [
      (life, told) => told.tell("slow", life.session().send(prompt("slow"))),
      (life, told) =>
        told.tell("steer", life.session().send(prompt("steer", { delivery: "steer" }))),
      (life, told) => told.tell("line", life.session().send(line("line"))),
      (life, told) => told.tell("next", life.session().send(prompt("next"))),
      async (life, told) => {
        const { commandId } = await told.tell("next", life.session().send(prompt("next")));
        await told.tell(
          "cancel",
          life.session().send({ type: "cancel", requestId: "cancel", commandId: commandId! }),
        );
      },
      (life, told) => told.tell("fence", life.session().withdraw("fence")),
      (life, told) => told.tell("after", life.session().send(prompt("after"))),
      (life, told) =>
        told.tell("abort", life.session().send({ type: "abort", requestId: "abort" })),
      (life, told) => told.tell("final", life.session().send(prompt("final"))),
      async (life, told) => {
        const { commandId } = await told.tell("final", life.session().send(prompt("final")));
        expect(await settledAs(life, commandId!)).toBe("completed");
      },
    ],
    check: async (life) => {
      const entries = await entriesOf(life.session());
      const cancelled = entries
        .filter((it) => it.kind === "command.cancelled")
        .map((it) => it.commandId);
      for (const request of ["slow", "steer", "next", "after", "final"]) {
        const queued = entries.filter(
          (it) => it.kind === "command.queued" && it.requestId === request,
        );
        expect(queued).toHaveLength(1);
        const ends = entries.filter(
          (it) => it.kind === "run.settled" && it.commandId === queued[0]!.commandId,
        );
        expect(ends).toHaveLength(1);
        if (cancelled.includes(queued[0]!.commandId))
          expect(ends[0]!.data).toMatchObject({ terminal: "cancelled" });
      }
      expect(entries.filter((it) => it.kind === "line")).toHaveLength(1);
      expect(await refusal(life.session().send(prompt("fence")))).toBe("withdrawn");
    },
  },
  {
    name: "a session that is made, renamed, forked and deleted",
    engine: () => [{ say: "x".repeat(40_000) }],
    steps: [
      (life, told) =>
        told.tell(
          "create",
          life.agent
            .create({ requestId: "create", session: "s" })
            .then(({ info }) => ({ epoch: info.epoch })),
        ),
      async (life, told) => {
        const { commandId } = await told.tell(
          "p",
          life
            .session()
            .send(prompt("p", { images: [{ mimeType: "image/png", data: "iVBORw0KGgo=" }] })),
        );
        expect(await settledAs(life, commandId!)).toBe("completed");
      },
      (life) => life.session().change({ title: "renamed" }),
      (life, told) =>
        told.tell(
          "fork",
          life
            .session()
            .fork({ requestId: "fork", session: "f" })
            .then(({ info }) => ({ epoch: info.epoch })),
        ),
      (life) => life.session().delete(),
      (life, told) => told.tell("again", life.session("f").send(prompt("again"))),
      async (life, told) => {
        const { commandId } = await told.tell("again", life.session("f").send(prompt("again")));
        const settlement = await life
          .session("f")
          .readSettlement(commandId!, { timeoutMs: 30_000 });
        expect(settlement!.answer).toHaveLength(40_000);
      },
    ],
    check: async (life) => {
      expect((await life.agent.sessions()).sessions.map((it) => it.session)).toEqual(["f"]);
      expect(await refusal(life.session().read())).toBe("unknown_session");
      expect(
        await refusal(
          life
            .session()
            .send(prompt("p", { images: [{ mimeType: "image/png", data: "iVBORw0KGgo=" }] })),
        ),
      ).toBe("closed");
    },
  },
];

/** Plays a flow in lives that die after the given numbers of commits, then in one that lives. Answers whether all of them died. */
async function play(
  stage: Stage,
  flow: Flow,
  agent: string,
  deaths: readonly number[],
): Promise<boolean> {
  const effects: Effects = new Map();
  const told = new Told();
  const made = flow.engine(effects);
  let next = 0;
  const live = async (dieAfter: number | undefined): Promise<Life> => {
    const life = await stage.open({
      agents: [agent],
      engine: (work) => (typeof made === "function" ? made(work.text) : made),
    });
    if (dieAfter !== undefined) life.dieAfterCommits(dieAfter);
    while (next < flow.steps.length && !life.isDead) {
      // A step whose process dies under it never answers, or meets a database that is gone.
      const doing = flow.steps[next]!(life, told).then(
        () => true,
        (error: unknown) => {
          if (life.isDead) return false;
          throw error;
        },
      );
      const isDone = await Promise.race([doing, death(life)]);
      if (isDone) next++;
    }
    return life;
  };
  for (const death of deaths) {
    const life = await live(death);
    const hasDied = life.isDead;
    life.die();
    if (!hasDied && next >= flow.steps.length) {
      const last = await live(undefined);
      await flow.check(last, effects);
      last.die();
      return false;
    }
  }
  const last = await live(undefined);
  await flow.check(last, effects);
  await last.owner.close();
  last.die();
  return true;
}

async function death(life: Life): Promise<false> {
  while (!life.isDead) await turns(1);
  return false;
}

/** A crash at each durable write of the main flows, on any host. */
export function crashPointsContract(host: string, withSql: WithSql, second: number): void {
  for (const flow of flows) {
    const promise = flow.promise ?? "[R5] ";
    test(`${promise}a crash after any commit of ${flow.name} loses nothing and repeats nothing (${host})`, async () => {
      for (let first = 1, isMore = true; isMore; first++)
        for (let then = 0; then <= second; then++)
          await withSql(async (sql) => {
            const stage = new Stage(sql);
            try {
              const hasDied = await play(stage, flow, "a", then === 0 ? [first] : [first, then]);
              if (then === 0) isMore = hasDied;
              expect(stage.reports).toEqual([]);
            } finally {
              stage.end();
            }
          });
    }, 120_000);
  }
}
