// What is copied of capabilities and grants when a store is damaged.

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nodePlatform, openSql, salvageStore } from "../src/host/node/index.ts";
import { Lender, operation } from "./lender.ts";
import type { Life } from "./life.ts";
import { run, Stage } from "./stage.ts";

const pageBytes = 4_096;
const platform = nodePlatform({
  report: (error) => {
    throw error;
  },
});
const lender = new Lender([
  { ...operation("look"), description: `the operations ${"of a lender ".repeat(2_000)}` },
]);

/** Tells a story into a new store, which is then closed. */
async function stored(path: string, tell: (life: Life) => Promise<void>): Promise<void> {
  const file = await openSql(path);
  const stage = new Stage(file.sql);
  const life = await stage.open({ capabilities: lender.options() });
  await tell(life);
  await life.owner.close();
  stage.end();
  file.sql.all("pragma wal_checkpoint(TRUNCATE)");
  await file.close();
}

/** Salvages into a new store; a marker names the pages to be destroyed first. */
async function salvaged(
  tell: (life: Life) => Promise<void>,
  marker: string | undefined,
  look: (life: Life, report: Awaited<ReturnType<typeof salvageStore>>) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "salvage-capabilities-"));
  try {
    const from = join(folder, "from", "host.db");
    await mkdir(join(folder, "from"));
    await stored(from, tell);
    if (marker !== undefined) await destroy(from, marker);
    const to = join(folder, "to", "host.db");
    const report = await salvageStore({ from, to, platform });
    const file = await openSql(to);
    const stage = new Stage(file.sql, 100_000);
    try {
      await look(await stage.open({ capabilities: lender.options() }), report);
    } finally {
      stage.end();
      await file.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function destroy(path: string, marker: string): Promise<void> {
  const bytes = await readFile(path);
  let count = 0;
  for (let at = pageBytes; at < bytes.length; at += pageBytes) {
    if (!bytes.subarray(at, at + pageBytes).includes(marker)) continue;
    bytes.fill(0xff, at, at + pageBytes);
    count++;
  }
  expect(count).toBeGreaterThan(0);
  await writeFile(path, bytes);
}

async function lend(life: Life): Promise<void> {
  // The log takes several pages, so that not all of it is destroyed.
  for (let n = 0; n < 20; n++) await run(life.session(), `p${n}`);
  const { capabilities } = life.agent;
  await capabilities.attach({ requestId: "kept", kind: "lender", namespace: "kept" });
  const gone = await capabilities.attach({ requestId: "gone", kind: "lender", namespace: "gone" });
  await capabilities.change("kept", { namespace: "stays" });
  await capabilities.detach(gone.info.id);
  await life.session().deliverGrants({ version: 3, grants: { kept: "read" } });
  await life.session().deliverGrants({ version: 4, grants: { kept: "none" } });
}

test("[G24] of a sound store every capability is copied as it is, and what was detached stays so", async () => {
  let before: object | undefined;
  const tell = async (life: Life) => {
    await lend(life);
    before = {
      list: await life.agent.capabilities.list(),
      surface: life.agent.capabilities.source.surface(),
    };
  };
  await salvaged(tell, undefined, async (life, report) => {
    const { capabilities } = life.agent;
    expect(report.capabilities).toEqual({ kept: 2, lost: 0 });
    expect({ list: await capabilities.list(), surface: capabilities.source.surface() }).toEqual(
      before,
    );
    // A name is never another's, also not after this.
    const next = await capabilities.attach({ requestId: "n", kind: "lender", namespace: "gone" });
    expect(next.info.namespace).toBe("gone2");
  });
});

test("[G24] a capability whose operations are lost is asked for them again", async () => {
  await salvaged(lend, "of a lender of a lender", async (life, report) => {
    expect(report.capabilities.kept).toBe(2);
    const { capabilities } = life.agent;
    const { info } = await capabilities.read("stays");
    expect(info).toMatchObject({ state: "requested", problem: { code: "salvaged" } });
    expect((await capabilities.refresh("stays")).state).toBe("active");
    expect(await capabilities.call("stays", { operation: "look" })).toMatchObject({ ok: true });
  });
});

test("[Z8] the newest grants are kept, from the log or beside it", async () => {
  for (const marker of [undefined, "grants.delivered"])
    await salvaged(lend, marker, async (life) => {
      const stale = life.session().deliverGrants({ version: 3, grants: {} });
      await expect(stale).rejects.toThrow("version 4");
    });
});
