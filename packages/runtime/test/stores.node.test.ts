// The collection of stored databases: one of every schema that ever was, and what was read of each when it was made.

import { copyFile, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@lichen/wire";
import { expect, test } from "vitest";
import { openSql, type SqlFile } from "../src/host/node/index.ts";
import type { TranscriptEntry } from "../src/index.ts";
import { scriptedEngine } from "../src/testing/index.ts";
import { openSchema } from "../src/store/schema.ts";
import { turns, until } from "./clock.ts";
import type { Life } from "./life.ts";
import { prompt, refusal, run, settled, Stage } from "./stage.ts";
import { storedProgram } from "./stores/stored-program.ts";

const stores = join(import.meta.dirname, "stores");

interface Seen {
  readonly sessions: { readonly session: string }[];
  readonly baselines: Record<string, object>;
  readonly settlements: Record<string, { readonly of: string }>;
  /** Since schema 3: a machine's agent. */
  readonly machine?: {
    readonly kept: object[];
    readonly baseline: object;
    readonly events: object;
  };
}

async function withCopy(name: string, body: (path: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "stores-"));
  try {
    await copyFile(join(stores, `${name}.db`), join(folder, "store.db"));
    await body(join(folder, "store.db"));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function withFile<T>(path: string, body: (file: SqlFile) => Promise<T> | T): Promise<T> {
  const file = await openSql(path);
  try {
    return await body(file);
  } finally {
    await file.close();
  }
}

/** The schema that this version writes. */
const schemaVersion = await openSql(":memory:").then(async ({ sql, close }) => {
  openSchema(sql);
  const [row] = sql.all<{ value: string }>("select value from meta where name = 'schema'");
  await close();
  return Number(row!.value);
});
const versions = Array.from({ length: schemaVersion }, (_, n) => n + 1);

test("[S21] the collection has a store of every schema, each of them small", async () => {
  const files = (await readdir(stores)).filter((name) => name.endsWith(".db"));
  expect(files.toSorted((a, b) => a.localeCompare(b))).toEqual(
    versions.map((n) => `schema-${n}.db`),
  );
  for (const name of files) expect((await stat(join(stores, name))).size).toBeLessThan(400_000);
});

for (const version of versions) {
  const name = `schema-${version}`;

  test(`[S21] a store of schema ${version} shows everything that was ever read of it`, () =>
    withCopy(name, (path) =>
      withFile(path, async ({ sql }) => {
        const seen = JSON.parse(await readFile(join(stores, `${name}.json`), "utf8")) as Seen;
        const stage = new Stage(sql, 1_000_000);
        const life = await stage.open({ capacity: 0 });
        expect((await life.agent.sessions()).sessions).toMatchObject(seen.sessions);
        for (const [of, baseline] of Object.entries(seen.baselines))
          expect(await life.session(of).read()).toMatchObject(baseline);
        for (const [commandId, { of, ...settlement }] of Object.entries(seen.settlements))
          expect(await life.session(of).readSettlement(commandId)).toMatchObject(settlement);
        const { found } = await life.session("talk").search({ q: "NEEDLE IN" });
        expect(found.map((it) => it.role)).toEqual(["assistant"]);
        expect((await life.session("talk").search({ q: "grusse" })).found).toEqual([]);
        expect((await life.session("talk").search({ q: "gruße" })).found).toHaveLength(1);
        expect(await refusal(life.session("gone").read())).toBe("unknown_session");
        expect(await refusal(life.session("gone").send(prompt("gone")))).toBe("closed");
        expect(await refusal(life.session("gone").send(prompt("fenced")))).toBe("withdrawn");
        expect(await refusal(life.session("talk").send(prompt("never sent")))).toBe("withdrawn");
        expect((await life.session("asks").send(prompt("queued"))).replay).toBe(true);
        expect(life.owner.kept()).toEqual(seen.machine?.kept ?? []);
        if (seen.machine) await machineShows(life, seen.machine);
        expect(stage.reports).toEqual([]);
        stage.end();
      }),
    ));

  test(`[S21] what was open in a store of schema ${version} goes on to its end`, () =>
    withCopy(name, (path) =>
      withFile(path, async ({ sql }) => {
        const transcripts = new Map<string, TranscriptEntry[]>();
        const stage = new Stage(sql, 1_000_000);
        const life = await stage.open({
          engine: scriptedEngine(
            (work) =>
              work.text === "pays"
                ? storedProgram(true)
                : work.text === "asks" || work.text === "opens"
                  ? [
                      {
                        calls: [
                          {
                            name: work.text === "asks" ? "pay" : "send",
                            label: "write",
                            // What a person is asked about again is what was asked about before.
                            ...(work.text === "asks" ? { input: { amount: 7 } } : {}),
                            confirm: {},
                          },
                        ],
                      },
                      { say: "paid" },
                    ]
                  : [{ say: "ok" }],
            { onRun: (_, live) => void transcripts.set(live.session, live.transcript()) },
          ),
        });
        const asks = life.session("asks");
        const { approvals, running, pending } = await asks.read();
        expect(approvals).toMatchObject([{ tool: "pay", input: { amount: 7 }, state: "pending" }]);
        await turns(10);
        await asks.send({
          type: "answer",
          requestId: "a",
          approvalId: approvals[0]!.approvalId,
          allow: true,
        });
        expect((await settled(asks, running!.commandId)).answer).toBe("paid");
        expect((await settled(asks, pending[0]!.commandId)).answer).toBe("ok");
        await until(
          async () => (await life.session("opens").info()).state === "idle",
          "the open call's end",
        );
        const outcome = (await life.session("opens").read()).entries.find(
          (it) => it.kind === "message.tool",
        );
        expect(outcome!.data).toMatchObject({ interrupted: true });
        if (version >= 2) await programGoesOn(life);
        for (const of of ["talk", "fork", "orphan"]) await run(life.session(of), `later-${of}`);
        expect(transcripts.get("orphan")!.map((it) => it.kind)).toEqual([
          "message.user",
          "message.assistant",
          "message.user",
        ]);
        expect(transcripts.get("talk")![0]).toMatchObject({ kind: "compaction" });
        const image = transcripts
          .get("fork")!
          .find((it) => it.kind === "message.user" && it.data.images);
        const [ref] = image!.kind === "message.user" ? image!.data.images! : [];
        expect((await life.session("fork").blob(ref!.blob))!.bytes).toHaveLength(8);
        await stage.clock.advance(10_000);
        expect(stage.reports).toEqual([]);
        await life.owner.close();
      }),
    ));
}

/** A machine's agent is what it was, and its numbers go on. */
async function machineShows(life: Life, { baseline, events }: NonNullable<Seen["machine"]>) {
  const agent = await life.owner.attach({ agent: "k1", engine: scriptedEngine() });
  const session = agent.session("main");
  expect(agent.name).toBe("renamed");
  expect(await session.read()).toMatchObject(baseline);
  const page = await session.events({ after: 0, limit: 100 });
  expect(page).toEqual(events);
  await session.record([{ kind: "harness.stopped", data: { reason: "later" } }]);
  const later = await session.events({ after: page.last, limit: 100 });
  expect(later.events.map(({ n }) => n)).toEqual([page.last + 1]);
}

/** What waits for a person in a stored program is asked no second time, and what it did is not done again. */
async function programGoesOn(life: Life): Promise<void> {
  const session = life.session("pays");
  const { approvals, running } = await session.read();
  expect(approvals).toMatchObject([{ tool: "bank.pay", input: { amount: 9 }, state: "pending" }]);
  const { approvalId } = approvals[0]!;
  await session.send({ type: "answer", requestId: "pay", approvalId, allow: true });
  const { answer, toolCalls } = await settled(session, running!.commandId);
  expect(answer).toContain("paid 9");
  expect(answer).toContain("no such file");
  expect(toolCalls).toBe(5);
  const kinds = (await session.read()).entries.map((it) => it.kind);
  expect(kinds.filter((it) => it === "program.call")).toHaveLength(4);
  expect(kinds.filter((it) => it === "approval.asked")).toHaveLength(1);
}

test("[S20] a store of a newer schema is refused, and not a byte of it changes", () =>
  withCopy(`schema-${schemaVersion}`, async (path) => {
    await withFile(path, ({ sql }) => {
      sql.run("update meta set value = ? where name = 'schema'", String(schemaVersion + 1));
      sql.all("pragma wal_checkpoint(TRUNCATE)");
    });
    const before = await readFile(path);
    await withFile(path, async ({ sql }) => {
      const refused = await new Stage(sql).open().catch((error: unknown) => error);
      expect(Fault.is(refused) && refused.code).toBe("unreadable");
      expect((refused as Fault).message).toContain(`schema ${schemaVersion + 1}`);
    });
    expect(await readFile(path)).toEqual(before);
  }));

test("[S20] a database of another program is refused, and not a byte of it changes", () =>
  withCopy(`schema-${schemaVersion}`, async (path) => {
    await withFile(path, ({ sql }) => {
      sql.run("delete from meta");
      sql.all("pragma wal_checkpoint(TRUNCATE)");
    });
    const before = await readFile(path);
    await withFile(path, async ({ sql }) => {
      const refused = await new Stage(sql).open().catch((error: unknown) => error);
      expect(Fault.is(refused) && refused.code).toBe("unreadable");
    });
    expect(await readFile(path)).toEqual(before);
  }));
