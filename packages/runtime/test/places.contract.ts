import fc from "fast-check";
import { expect, test } from "vitest";
import type { Engine } from "../src/index.ts";
import { type Move, scriptedEngine } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import type { Life } from "./life.ts";
import type { WithSql } from "./sql.contract.ts";
import { gate, prompt, refusal, sent, settled, Stage } from "./stage.ts";

type Step =
  | { readonly does: "prompt"; readonly session: number; readonly text: string }
  | { readonly does: "answer" | "cancel" | "abort" | "delete"; readonly session: number }
  | { readonly does: "wait"; readonly turns: number }
  | { readonly does: "unwell"; readonly every: number; readonly loses: number }
  | { readonly does: "late" | "crash" | "well" };

const session = fc.nat(4);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant("prompt" as const),
      session,
      text: fc.constantFrom("say", "slow", "asks", "asks twice", "throws", "deaf", "careless"),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      does: fc.constantFrom(
        "answer" as const,
        "answer" as const,
        "cancel" as const,
        "abort" as const,
        "delete" as const,
      ),
      session,
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("wait" as const), turns: fc.nat(15) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constantFrom("late" as const, "crash" as const, "well" as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      does: fc.constant("unwell" as const),
      every: fc.integer({ min: 2, max: 30 }),
      loses: fc.nat(3),
    }),
  },
);

const question = { ask: { kind: "question" as const } };
const confirmed = { name: "t", label: "write" as const, confirm: {} };
const scripts: Readonly<Record<string, readonly Move[]>> = {
  slow: [{ gate: () => turns(9) }, { say: "slow" }],
  asks: [question, { gate: () => turns(2) }, question, { say: "asked" }],
  "asks twice": [{ calls: [confirmed, confirmed, { name: "u" }] }, { say: "asked" }],
  throws: [{ throws: "a bug" }],
};

/** An engine of many manners. `deaf` never stops by itself, `careless` ends while its questions are open. */
function mannered(): Engine {
  const inner = scriptedEngine((work) => scripts[work.text] ?? [{ say: "ok" }]);
  return {
    ...inner,
    open: (at, house) => {
      const connection = inner.open(at, house);
      return {
        close: () => connection.close(),
        run: (work, live) => {
          if (work.text === "deaf") return new Promise<never>(() => {});
          if (work.text !== "careless") return connection.run(work, live);
          for (const key of ["p", "q"])
            live.ask({ key, kind: "question" }).catch(() => {
              // It does not wait for the answer.
            });
          return turns(3).then(() => ({ terminal: "completed" as const }));
        },
      };
    },
  };
}

/** From now on every so-many-th write is refused, as by a disk that is full now and then. */
function makeUnwell(life: Life, every: number, loses: number): void {
  let count = 0;
  life.losesCommits = loses;
  life.trouble = (statement) =>
    /^(insert|update)/.test(statement) && ++count % every === 0
      ? Object.assign(new Error("a bug of the disk"), { name: "Fault", code: "unavailable" })
      : undefined;
}

function makeWell(life: Life): void {
  life.losesCommits = 0;
  life.trouble = undefined;
}

/** Whatever runs, asks, dies and is deleted: no place in the host is lost, and none is made up. On any host. */
export function placesContract(host: string, withSql: WithSql, runs: number): void {
  test(`[Q3] whatever has happened, in the end everything is settled and exactly the capacity runs (${host})`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(step, { minLength: 5, maxLength: 40 }),
        async (capacity, steps) => {
          await withSql(async (sql) => {
            const stage = new Stage(sql);
            try {
              await play(stage, capacity, steps);
            } finally {
              stage.end();
            }
          });
        },
      ),
      { numRuns: runs },
    );
  }, 120_000);
}

async function play(stage: Stage, capacity: number, steps: readonly Step[]): Promise<void> {
  const held = gate();
  let probing = 0;
  let most = 0;
  const probe = scriptedEngine([{ gate: () => held.opened }, { say: "probed" }], {
    onRun: () => void (most = Math.max(most, ++probing)),
  });
  const engine = mannered();
  const both: Engine = {
    ...engine,
    open: (at, house) => (at.session.startsWith("probe") ? probe : engine).open(at, house),
  };
  let life = await stage.open({ capacity, engine: both });
  /** Acknowledged commands of sessions that are still there. */
  const accepted = new Map<string, string>();
  let count = 0;
  for (const it of steps) {
    const of = life.session("session" in it ? `s${it.session}` : "none");
    const requestId = `r${++count}`;
    if (it.does === "prompt") {
      const refused = await refusal(
        sent(of, prompt(requestId, { text: it.text })).then((id) => accepted.set(id, of.id)),
      );
      expect(refused).toMatch(/no refusal|unavailable|lost/);
    } else if (it.does === "unwell") makeUnwell(life, it.every, it.loses);
    else if (it.does === "well") makeWell(life);
    else if (it.does === "wait") await turns(it.turns);
    else if (it.does === "late") await stage.clock.advance(10_000);
    else if (it.does === "delete") {
      if ((await refusal(of.delete())) === "no refusal")
        for (const [id, name] of accepted) if (name === of.id) accepted.delete(id);
    } else if (it.does === "abort") await refusal(of.send({ type: "abort", requestId }));
    else if (it.does === "crash") {
      life.die();
      life = await stage.open({ capacity, engine: both });
    } else {
      const read = await of.read().catch(() => undefined);
      const approvalId = read?.approvals[0]?.approvalId;
      const commandId = read?.running?.commandId ?? read?.pending[0]?.commandId;
      if (it.does === "answer" && approvalId)
        await refusal(of.send({ type: "answer", requestId, approvalId, allow: true }));
      if (it.does === "cancel" && commandId)
        await refusal(of.send({ type: "cancel", requestId, commandId }));
    }
  }
  makeWell(life);
  // What was tried in vain is tried again.
  for (let n = 0; n < 5; n++) await stage.clock.advance(30_000);
  for (let n = 0; n < 5; n++)
    await refusal(life.session(`s${n}`).send({ type: "abort", requestId: "end" }));
  for (let n = 0; n < 12; n++) await stage.clock.advance(1_000);
  await until(() => life.owner.running() === 0, "the end of all runs");
  expect(stage.sql.all("select 1 from command where state <> 'settled'")).toEqual([]);
  expect(stage.sql.all("select 1 from approval where state = 'pending'")).toEqual([]);
  for (const [id, name] of accepted) await settled(life.session(name), id);
  const probes = await Promise.all(
    Array.from({ length: capacity + 2 }, async (_, n) => {
      const at = life.session(`probe${n}`);
      return [at, await sent(at, prompt("r"))] as const;
    }),
  );
  await turns(20);
  expect(probing).toBe(capacity);
  held.open();
  for (const [at, id] of probes) await settled(at, id);
  // Engines that fail by themselves are reported; anything else is not expected.
  for (const report of stage.reports) expect(String(report)).toMatch(/a bug|was lost/);
}
