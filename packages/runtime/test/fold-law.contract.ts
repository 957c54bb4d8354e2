import type { Baseline, Entry } from "@lichen/wire";
import { foldBaseline } from "@lichen/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Session } from "../src/index.ts";
import type { Move } from "../src/testing/index.ts";
import { turns, until } from "./clock.ts";
import { runGuest } from "./guest.ts";
import type { Life } from "./life.ts";
import type { WithSql } from "./sql.contract.ts";
import { entriesOf, line, prompt, Stage } from "./stage.ts";

const long = "é".repeat(30_000);

/** What a prompt's text makes the engine do. */
const scripts: Readonly<Record<string, readonly Move[]>> = {
  say: [{ say: "plain" }],
  steps: [{ say: "one" }, { steers: true }, { say: "two" }, { steers: true }, { say: "three" }],
  calls: [
    { calls: [{ name: "read" }, { name: "write", label: "write" }] },
    { steers: true },
    { say: "called" },
  ],
  asks: [
    {
      calls: [
        { name: "pay", label: "write", confirm: {} },
        { name: "buy", label: "write", confirm: {} },
      ],
    },
    { say: "paid" },
  ],
  program: [
    {
      calls: [
        {
          name: "execute",
          replaySafe: true,
          program: async (running) =>
            JSON.stringify(
              await runGuest(
                running,
                [
                  { operation: "a.look", then: [{ operation: "a.long", effect: () => long }] },
                  { operation: "a.pay", label: "write", confirm: {} },
                ],
                (told) => told.length === 1,
              ),
            ),
        },
      ],
    },
    { say: "programmed" },
  ],
  fails: [{ partials: ["half"] }, { fail: "no model" }],
  throws: [{ say: "first" }, { throws: "a bug" }],
  long: [{ say: "é".repeat(60_000) }],
  compacts: [
    {
      append: [
        { kind: "compaction", data: { summary: "short", tokensBefore: 3, automatic: true } },
      ],
    },
    { say: "ok" },
  ],
  tools: [
    { append: [{ kind: "session.changed", data: { tools: ["t"], title: "renamed" } }] },
    { say: "ok" },
  ],
};

type Step =
  | { readonly does: "prompt"; readonly text: string; readonly delivery: "follow_up" | "steer" }
  | { readonly does: "line"; readonly size: number }
  | { readonly does: "cancel" | "answer" | "leaf"; readonly which: number }
  | {
      readonly does:
        | "abort"
        | "restart"
        | "title"
        | "compact"
        | "crash"
        | "drain"
        | "grant"
        | "look";
    }
  | { readonly does: "wait"; readonly turns: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      does: fc.constant("prompt" as const),
      text: fc.constantFrom(...Object.keys(scripts)),
      delivery: fc.constantFrom("follow_up" as const, "steer" as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constant("line" as const),
      size: fc.constantFrom(5, 200, 30_000, 40_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      does: fc.constantFrom("cancel" as const, "answer" as const, "leaf" as const),
      which: fc.nat(50),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      does: fc.constantFrom(
        "abort" as const,
        "restart" as const,
        "title" as const,
        "compact" as const,
        "crash" as const,
        "drain" as const,
        "grant" as const,
      ),
    }),
  },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("look" as const) }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant("wait" as const), turns: fc.nat(12) }) },
);

class Story {
  readonly baselines: Baseline[] = [];
  readonly #stage: Stage;
  #life: Life | undefined;
  #count = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  get session(): Session {
    return this.#life!.session();
  }

  async open(): Promise<void> {
    this.#life = await this.#stage.open({
      engine: (work) => scripts[work.text] ?? [{ say: "else" }],
    });
  }

  async look(): Promise<void> {
    this.baselines.push(await this.session.read());
  }

  async take(it: Step): Promise<void> {
    const requestId = `r${++this.#count}`;
    const { session } = this;
    switch (it.does) {
      case "prompt":
        return void (await session.send(
          prompt(requestId, { text: it.text, delivery: it.delivery }),
        ));
      case "line":
        return void (await session.send(line(requestId, "l".repeat(it.size))));
      case "abort":
        return void (await session.send({ type: "abort", requestId }));
      case "compact":
        return void (await session.send({ type: "compact", requestId }));
      case "grant":
        return session.deliverGrants({ version: this.#count, grants: { post: "read" } });
      case "title":
        return void (await session.change({ title: requestId, reasoning: "low" }));
      case "restart":
        // A busy session refuses it.
        return void (await session.restart().catch(() => undefined));
      case "look":
        return this.look();
      case "wait":
        return turns(it.turns);
      case "crash":
        this.#life!.die();
        return this.open();
      case "drain":
        await this.#life!.owner.close({ patienceMs: 0 });
        this.#life!.die();
        return this.open();
      case "cancel": {
        const { pending, running } = await session.read();
        const ids = [...pending, ...(running ? [running] : [])].map((command) => command.commandId);
        const commandId = ids[it.which % Math.max(1, ids.length)];
        if (commandId) await session.send({ type: "cancel", requestId, commandId });
        return;
      }
      case "answer": {
        const { approvals } = await session.read();
        const approval = approvals[it.which % Math.max(1, approvals.length)];
        if (approval)
          await session.send({
            type: "answer",
            requestId,
            approvalId: approval.approvalId,
            allow: it.which % 2 === 0,
          });
        return;
      }
      case "leaf": {
        const tree = (await session.read()).entries.filter((entry) =>
          /^(message|line)/.test(entry.kind),
        );
        const entry = tree[it.which % Math.max(1, tree.length)];
        if (entry) await session.change({ leaf: entry.id }).catch(() => undefined);
      }
    }
  }
}

function withoutPartial(baseline: Baseline): Baseline {
  if (!baseline.running) return baseline;
  const { partial: _, ...running } = baseline.running;
  return { ...baseline, running };
}

function expectFolds(baselines: readonly Baseline[], entries: readonly Entry[]): void {
  for (const [at, from] of baselines.entries()) {
    let folded = withoutPartial(from);
    for (const to of baselines.slice(at + 1)) {
      for (const entry of entries.slice(folded.head, to.head)) folded = foldBaseline(folded, entry);
      expect(folded).toEqual(withoutPartial(to));
    }
  }
}

/** The fold law, on any host. */
export function foldLawContract(host: string, withSql: WithSql, runs: number): void {
  test(`[O6] the baseline at one head is the fold of any earlier one and the entries between, whatever happened (${host})`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(220),
        fc.array(step, { minLength: 5, maxLength: 40 }),
        async (lines, steps) => {
          await withSql(async (sql) => {
            const stage = new Stage(sql);
            const story = new Story(stage);
            try {
              await story.open();
              await Promise.all(
                Array.from({ length: lines + 1 }, (_, n) => story.session.send(line(`first${n}`))),
              );
              await story.look();
              for (const it of steps) await story.take(it);
              await story.look();
              await story.session.send({ type: "abort", requestId: "last" });
              await until(
                async () => (await story.session.info()).state === "idle",
                "the end of all runs",
              );
              await story.look();
              const entries = await entriesOf(story.session);
              expect(entries.map((it) => it.seq)).toEqual(entries.map((_, at) => at + 1));
              expectFolds(story.baselines, entries);
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
