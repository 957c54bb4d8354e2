// How SQLite finds rows: asked of every statement that the owner made in a life of all sorts.

import { expect, test } from "vitest";
import { openSql } from "../src/host/node/index.ts";
import type { Owner, Program, Sql } from "../src/index.ts";
import { turns, until } from "./clock.ts";
import { harnessed } from "./harness.contract.ts";
import { runGuest } from "./guest.ts";
import { line, prompt, run, sent, settled, Stage } from "./stage.ts";

/** Tables that grow with what is written. */
const growing =
  "entry|command|call|approval|request|session|blob|blob_use|search_cursor|program|program_call|program_snapshot|event|harness";
const walks = [
  // An index that is read in its order is read up to a limit.
  new RegExp(`^SCAN (?:${growing})\\b(?! USING COVERING INDEX session_(?:busy|newest)$)`),
  // All commands, or all request ids, that a session ever had.
  /^SEARCH command USING INTEGER PRIMARY KEY \(rowid[<>]/,
  /^SEARCH request USING PRIMARY KEY \(aid=\? AND session=\?\)$/,
];

const program = {
  name: "execute",
  program: async (running: Program): Promise<string> => {
    const calls = [{ operation: "a.b", then: [{ operation: "a.c" }] }, { operation: "a.d" }];
    return JSON.stringify(await runGuest(running, calls, () => true));
  },
};

async function liveALot(stage: Stage): Promise<void> {
  const life = await stage.open({
    capacity: 2,
    meta: { identityPath: "$.id" },
    engine: (work) =>
      work.text === "text of asks"
        ? [
            { calls: [{ name: "t", label: "write", confirm: {} }, { name: "u" }, program] },
            { steers: true },
            { say: "ok" },
          ]
        : [{ say: "ok" }],
  });
  const session = life.agent.withMeta({ id: "u" }).session("s");
  await session.send(line("l"));
  const id = await sent(
    session,
    prompt("asks", { images: [{ mimeType: "image/png", data: "iVBORw0KGgo=" }] }),
  );
  await sent(session, prompt("steer", { delivery: "steer" }));
  await sent(session, prompt("more"));
  await until(async () => (await session.info()).approvals === 1, "it asks");
  await session.latestPending();
  const { approvals } = await session.read();
  await session.send({
    type: "answer",
    requestId: "a",
    approvalId: approvals[0]!.approvalId,
    allow: true,
  });
  await settled(session, id);
  await until(async () => (await session.info()).state === "idle", "idle");
  await session.withdraw("w");
  await session.withdraw("asks");
  await session.search({ q: "text of" });
  await session.search({ q: "te" });
  await session.change({ title: "t", leaf: (await session.info()).leaf! });
  await session.fork({ requestId: "f", session: "f" });
  await run(life.session("f"), "r");
  await life.session("f").blob("0".repeat(64));
  await life.agent.sessions({ limit: 1 });
  await life.agent.info();
  life.owner.observeHost({ frame: () => true, end: () => {} });
  await session.send({ type: "compact", requestId: "c" });
  await session.send({ type: "abort", requestId: "x" });
  await session.restart().catch(() => undefined);
  await turns(20);
  await ofMachine(life.owner);
  await sent(life.session("asks"), prompt("asks"));
  await until(async () => (await life.session("asks").info()).approvals === 1, "it asks");
  life.die();
  const next = await stage.open({ capacity: 2 });
  await turns(20);
  await next.session().delete();
  await next.session("f").delete();
  await stage.clock.advance(8 * 86_400_000);
  await next.owner.close();
}

/** A machine's agent: kept, told, numbered, woken by itself, and removed. */
async function ofMachine(owner: Owner): Promise<void> {
  const { engine, house } = harnessed();
  const kept = await owner.attach({ agent: "k", name: "label", engine, settings: {} });
  await kept.create({ requestId: "made", session: "main", events: true });
  const session = kept.session("main");
  await session.connect();
  await house().record([
    { kind: "harness.process", data: { group: 1, startedAt: "t", boot: "b" } },
    { kind: "harness.conversation", data: { conversation: "c" } },
    { kind: "harness.line", data: { harness: "h", line: "said" } },
  ]);
  const { commandId } = await house().outside({ source: "h", text: "woke up" });
  await settled(session, commandId);
  await session.configure({ a: 1 }, "phone");
  await session.rename("other");
  await session.events({ after: 0, limit: 5 });
  const { epoch } = await session.info();
  session.observe({ frame: () => true, end: () => {} }, { after: `${epoch}.2` });
  await session.restart();
  expect([owner.kept().length, house().harness().process?.group]).toEqual([1, 1]);
  await owner.remove("k");
}

/** A database that keeps what was said to it. */
async function openHeard(statements: Set<string>) {
  const { sql: base, close } = await openSql(":memory:");
  const sql: Sql = {
    ...base,
    run: (statement, ...args) => {
      statements.add(statement);
      base.run(statement, ...args);
    },
    all: (statement, ...args) => {
      statements.add(statement);
      return base.all(statement, ...args);
    },
  };
  const plan = (statement: string): string[] => {
    const nothing = [...statement.matchAll(/\?/g)].map(() => null);
    const steps = base.all<{ detail: string }>(`explain query plan ${statement}`, ...nothing);
    return steps.map((it) => it.detail);
  };
  return { sql, close, plan };
}

test("[S29] no statement walks through a whole table, nor through all that a session ever had", async () => {
  const statements = new Set<string>();
  const { sql, close, plan } = await openHeard(statements);
  const stage = new Stage(sql);
  await liveALot(stage);
  stage.end();
  const plans = [...statements]
    .filter((it) => /^\s*(select|update|delete|with)/.test(it))
    // Slices of a purge take the next rows of a session, whichever they are.
    .filter((it) => !/^delete .* limit \d+\) returning 1$/s.test(it))
    .map((statement) => ({ statement, steps: plan(statement) }));
  expect(plans.length).toBeGreaterThan(60);
  expect(
    plans.filter(({ steps }) => steps.some((step) => walks.some((walk) => walk.test(step)))),
  ).toEqual([]);
  expect(stage.reports).toEqual([]);
  await close();
});

test("[S38] a search among what people and the model said looks at nothing that tools put out", async () => {
  const statements = new Set<string>();
  const { sql, close, plan } = await openHeard(statements);
  const stage = new Stage(sql);
  const life = await stage.open({
    engine: [{ calls: [{ name: "t", effect: () => "a needle" }] }, { say: "the needle" }],
  });
  const session = life.session();
  await run(session, "r");
  await stage.clock.advance(1_000);
  const { found } = await session.search({ q: "needle", roles: ["assistant", "user"] });
  expect(found.map(({ role }) => role)).toEqual(["assistant"]);
  expect((await session.search({ q: "needle" })).found).toHaveLength(2);
  const [statement] = [...statements].filter((it) => it.includes("indexed by entry_said"));
  expect(plan(statement!)).toContainEqual(expect.stringMatching(/entry .*INDEX entry_said/));
  stage.end();
  await close();
});
