import type { Entry, EntryOf, Json } from "@lichen/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Program } from "../src/index.ts";
import type { EngineScript } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { type Delivered, type GuestCall, runGuest } from "./guest.ts";
import type { Life } from "./life.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, prompt, settled, Stage } from "./stage.ts";

/** One call of a made-up program. */
interface Planned {
  readonly kind: "read" | "write" | "put" | "pay" | "fails";
  /** How long its effect takes, in turns of the loop; the schedule of outcomes comes of that. */
  readonly takes: number;
  readonly then: readonly Planned[];
}

const { planned } = fc.letrec<{ planned: Planned }>((tie) => ({
  planned: fc.record({
    kind: fc.constantFrom("read", "write", "put", "pay", "fails"),
    takes: fc.nat(6),
    then: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      fc.constant([]),
      fc.array(tie("planned"), { minLength: 1, maxLength: 3 }),
    ),
  }),
}));

const plan = fc.record({
  calls: fc.array(planned, { minLength: 1, maxLength: 4 }),
  /** Commits after which a life dies, or is closed. */
  deaths: fc.array(fc.record({ after: fc.integer({ min: 1, max: 12 }), drains: fc.boolean() }), {
    maxLength: 5,
  }),
  /** After every how many outcomes a snapshot is kept; 0: never. */
  keeps: fc.nat(3),
});

class World {
  /** How often each effect began, by its path in the program. */
  readonly effects = new Map<string, number>();
  /** What the program was told, life by life. */
  readonly told: (readonly Delivered[])[] = [];

  guestCalls(planned: readonly Planned[], path = "p"): GuestCall[] {
    return planned.map((it, at) => this.#guestCall(it, `${path}${at}`));
  }

  #guestCall({ kind, takes, then }: Planned, path: string): GuestCall {
    return {
      operation: `a.${kind}`,
      label: kind === "read" ? "read" : "write",
      replaySafe: kind === "put",
      input: { path },
      ...(kind === "pay" ? { confirm: {} } : {}),
      effect: async () => {
        const count = (this.effects.get(path) ?? 0) + 1;
        this.effects.set(path, count);
        await turns(takes);
        if (kind === "fails") throw Object.assign(new Error(path), { code: "boom" });
        return { path, count };
      },
      then: this.guestCalls(then, `${path}.`),
    };
  }

  engine(planned: readonly Planned[], keeps: number): EngineScript {
    const program = async (running: Program): Promise<string> => {
      const life = this.told.length;
      this.told.push([]);
      const all = await runGuest(running, this.guestCalls(planned), (told) => {
        this.told[life] = [...told];
        return keeps > 0 && told.length % keeps === 0;
      });
      this.told[life] = all;
      return JSON.stringify(all);
    };
    return [{ calls: [{ name: "execute", replaySafe: true, program }] }, { say: "ok" }];
  }
}

/** Allows whatever is asked until the life is over or `isDone`. */
async function allow(life: Life, isDone: () => boolean): Promise<void> {
  while (!life.isDead && !isDone()) {
    const { approvals } = await life.session().read();
    for (const { approvalId } of approvals)
      await life
        .session()
        .send({ type: "answer", requestId: `a-${approvalId}`, approvalId, allow: true });
    await turns(1);
  }
}

async function live(life: Life, commandId: string): Promise<void> {
  let isDone = false;
  const ending = (async () => {
    await settled(life.session(), commandId);
    isDone = true;
  })();
  const allowing = allow(life, () => isDone);
  const dying = until(() => life.isDead || isDone, "an end");
  // Whatever a dead life waits for never settles, or fails as its database is gone.
  await Promise.race([Promise.all([ending, allowing]), dying]).catch((error: unknown) => {
    if (!life.isDead) throw error;
  });
}

function expectLaw(entries: readonly Entry[], world: World): void {
  const of = <K extends "program.call" | "program.outcome" | "program.started">(kind: K) =>
    entries.filter((it) => it.kind === kind).map((it) => it.data as EntryOf<K>["data"]);
  const outcomes = of("program.outcome");
  const calls = of("program.call");
  expect(of("program.started")).toHaveLength(1);
  expect(new Set(calls.map((it) => it.ordinal)).size).toBe(calls.length);
  expect(outcomes.map((it) => it.ordinal).toSorted((a, b) => a - b)).toEqual(
    calls.map((it) => it.ordinal).toSorted((a, b) => a - b),
  );
  const asked = entries.filter((it) => it.kind === "approval.asked");
  expect(asked).toHaveLength(calls.filter((it) => it.operation === "a.pay").length);
  const last = world.told.at(-1)!;
  expect(last.map((it) => it.ordinal)).toEqual(outcomes.map((it) => it.ordinal));
  for (const [at, { outcome }] of last.entries()) {
    const { ok, value, code } = outcomes[at]!;
    expect({ ok, ...(ok ? { value } : { code }) }).toEqual({
      ok: outcome.ok,
      ...(outcome.ok ? { value: outcome.value } : { code: outcome.code }),
    });
  }
  for (const told of world.told) expect(told).toEqual(last.slice(0, told.length));
  const end = entries.find((it) => it.kind === "message.tool")!;
  const [{ text }] = (end.data as { content: [{ text: Json }] }).content;
  if (typeof text === "string") expect(JSON.parse(text)).toEqual(last);
  for (const { operation, ordinal } of calls) {
    const { path } = calls.find((it) => it.ordinal === ordinal)!.input as { path: string };
    const effects = world.effects.get(path) ?? 0;
    const end = outcomes.find((it) => it.ordinal === ordinal)!;
    const isOnce = !["a.read", "a.put"].includes(operation);
    if (isOnce) expect(effects).toBeLessThanOrEqual(1);
    expect(end.interrupted === true && !isOnce).toBe(false);
    if (end.interrupted !== true) expect(effects).toBeGreaterThanOrEqual(1);
  }
}

/** The law of programs, on any host. */
export function programLawContract(host: string, withSql: WithSql, runs: number): void {
  test(`[J9] whatever the schedule of outcomes and wherever it dies, a program is told the same in every life, and no write runs twice (${host})`, async () => {
    await fc.assert(
      fc.asyncProperty(plan, ({ calls, deaths, keeps }) =>
        withSql(async (sql) => {
          const stage = new Stage(sql);
          const world = new World();
          const engine = world.engine(calls, keeps);
          try {
            let life = await stage.open({ engine });
            const { commandId } = await life.session().send(prompt("p"));
            for (const { after, drains } of deaths) {
              if (drains) {
                const until = life.commits + after;
                for (let n = 0; n < 200 && life.commits < until; n++) await turns(1);
                await life.owner.close({ patienceMs: 0 });
              } else {
                life.dieAfterCommits(after);
                await live(life, commandId!);
              }
              life.die();
              // Lives that make no step are counted elsewhere.
              sql.run("update command set recoveries = 0");
              life = await stage.open({ engine });
            }
            await live(life, commandId!);
            expectLaw(await entriesOf(life.session()), world);
            expect(stage.reports).toEqual([]);
          } finally {
            stage.end();
          }
        }),
      ),
      { numRuns: runs },
    );
  }, 120_000);
}
