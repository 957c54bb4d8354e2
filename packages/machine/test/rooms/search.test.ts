// History and search: what was said in a session's conversation, in its log and before it.

import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Draft } from "@lichen/runtime";
import { expect, test } from "vitest";
import { type MachineDb, openMachineDb } from "../../src/machine-db.ts";
import { EarlierTurns } from "../../src/search/earlier.ts";
import { Importing } from "../../src/search/importing.ts";
import { Rig } from "../rig.ts";
import { assistantLine, scriptedHarness } from "../scripted.ts";
import {
  claudeTranscript,
  piHead,
  piSaid,
  piTranscript,
  said,
  timeOf,
  toolResult,
  typed,
} from "./transcripts.ts";

interface Hit {
  readonly seq: number;
  readonly time: string;
  readonly role: string;
  readonly snippet: string;
  readonly text?: string;
}

async function search(rig: Rig, name: string, q: string, more = ""): Promise<Hit[]> {
  const path = `/v1/sessions/${name}/search?q=${encodeURIComponent(q)}${more}`;
  const { status, body } = await rig.tell(path);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body as { found: Hit[] }).found;
}

/** The hits, once what was said before is imported. */
async function untilFound(rig: Rig, name: string, q: string, more = ""): Promise<Hit[]> {
  for (let tries = 0; tries < 10_000; tries++) {
    const found = await search(rig, name, q, more);
    if (found.length > 0) return found;
    await new Promise((resolve) => void setImmediate(resolve));
  }
  throw new Error(`nobody said ${q}`);
}

async function history(rig: Rig, name: string, query = ""): Promise<unknown[]> {
  const { status, body } = await rig.tell(`/v1/sessions/${name}/history${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body as { history: unknown[] }).history;
}

const countUnits = "select coalesce(sum(length(text)), 0) as units from earlier_turn";

/** The machine's derived tables, in a home of their own. */
async function openDb(): Promise<MachineDb & AsyncDisposable & { readonly home: string }> {
  const home = mkdtempSync(join(tmpdir(), "lichen-import-"));
  const file = await openMachineDb(home);
  return {
    ...file,
    home,
    [Symbol.asyncDispose]: async () => {
      await file.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

function says(text: string): Draft[] {
  const content = [{ type: "text" as const, text }];
  return [assistantLine(text), { kind: "message.assistant", data: { content, stop: "stop" } }];
}

async function adopted(rig: Rig, lines: readonly string[], harness = "claude"): Promise<string> {
  const dir = join(rig.home, "work");
  mkdirSync(dir, { recursive: true });
  const first = harness === "pi" ? piHead("c-1", dir) : typed("from the beginning", 0, dir);
  const written = { home: rig.home, id: "c-1", lines: [first, ...lines] };
  const file = harness === "pi" ? piTranscript(written) : claudeTranscript(written);
  const { status, body } = await rig.tell("/v1/sessions", {
    json: { name: "a", resume: "c-1", harness },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return file;
}

test("[AD32] hits are told newest first, those of the log under their events' numbers, earlier ones whole under none", async () => {
  const script = () => [{ append: says("Příliš žluťoučký KŮŇ") }];
  await using rig = await Rig.open({ harnesses: [scriptedHarness({ script })] });
  await adopted(rig, [typed("a kun here", 1), said("no", 2), said("and KŮŇ there", 3)]);
  await untilFound(rig, "a", "kun");
  await rig.send("a", "is the Kůň there?");
  await rig.until("a", (info) => info.turns === 1);
  const found = await search(rig, "a", "kuN");
  expect(found).toEqual([
    { seq: 2, time: expect.any(String), role: "assistant", snippet: "Příliš žluťoučký KŮŇ" },
    { seq: 1, time: expect.any(String), role: "user", snippet: "is the Kůň there?" },
    ...[{ seq: 0, time: timeOf(3), role: "assistant", snippet: "and KŮŇ there" }].map((it) => ({
      ...it,
      text: it.snippet,
    })),
    { seq: 0, time: timeOf(1), role: "user", snippet: "a kun here", text: "a kun here" },
  ]);
  await using events = await rig.events("a");
  const told = await events.take(2);
  expect(told.map(({ seq, kind }) => [seq, kind])).toEqual([
    [1, "message"],
    [2, "claude"],
  ]);
  expect((await search(rig, "a", "kun", "&limit=3")).map(({ seq }) => seq)).toEqual([2, 1, 0]);
  expect((await search(rig, "a", "kk", "&limit=200")).length).toBe(0);
  expect((await search(rig, "a", "ku")).length).toBe(4);
  for (const query of ["", "?q=", "?q=x&limit=0", "?q=x&limit=a", "?q=x&z=1"])
    expect((await rig.tell(`/v1/sessions/a/search${query}`)).status).toBe(400);
  expect((await rig.tell("/v1/sessions/none/search?q=x")).status).toBe(404);
});

test("[MA11] what a harness made up is not found as the model's words, and takes no place of what is", async () => {
  const madeUp = (text: string): Draft[] => [
    assistantLine("", { message: { model: "<synthetic>", content: [{ type: "text", text }] } }),
    { kind: "message.assistant", data: { content: [{ type: "text", text }], stop: "stop" } },
  ];
  const append = [
    ...[says("kettle one"), says("kettle two"), says("kettle three")].flat(),
    ...Array.from({ length: 5 }, () => madeUp("API Error: the kettle is cold")).flat(),
  ];
  await using rig = await Rig.open({
    harnesses: [scriptedHarness({ script: () => [{ append }] })],
  });
  await rig.make("a");
  await rig.send("a", "boil");
  await rig.until("a", (info) => info.turns === 1);
  const texts = async (q: string) => (await search(rig, "a", q)).map(({ snippet }) => snippet);
  const found = await search(rig, "a", "kettle", "&limit=2");
  expect(found.map(({ snippet }) => snippet)).toEqual(["kettle three", "kettle two"]);
  expect(await texts("kettle")).toEqual(["kettle three", "kettle two", "kettle one"]);
  expect(await texts("API Error")).toEqual([]);
  expect(await rig.info("a")).toMatchObject({ preview: "kettle three" });
});

test("[AD33] what tools put out is not searched, however much of it there is", async () => {
  const script = () => [
    { append: says("needle in words") },
    {
      calls: [{ name: "read", effect: () => "needle in a tool" }],
    },
    { append: says("the end") },
  ];
  await using rig = await Rig.open({ harnesses: [scriptedHarness({ script })] });
  await rig.make("a");
  await rig.send("a", "go");
  await rig.until("a", (info) => info.turns === 1);
  expect(await search(rig, "a", "needle")).toMatchObject([{ snippet: "needle in words" }]);
  expect(await search(rig, "a", "ne")).toMatchObject([{ snippet: "needle in words" }]);
});

test("[AD30] an earlier transcript is imported once, as it was, and goes on where the machine went down; with its session it is gone", async () => {
  const lines = Array.from({ length: 900 }, (_, n) =>
    n % 3 === 0 ? toolResult("filler ".repeat(100), n) : said(`word${n} needle`, n),
  );
  const huge = said("h".repeat(5_000_000), 1_001);
  const first = await Rig.open();
  await using _ended = first;
  const file = await adopted(first, [...lines, huge, said("after the huge one", 1_002)]);
  await first.close();
  appendFileSync(file, `${said("later needle", 1_003)}\n`);
  const second = await Rig.open({ root: first.root });
  expect(await untilFound(second, "a", "after the huge")).toHaveLength(1);
  const all = await search(second, "a", "needle", "&limit=200");
  expect(all).toHaveLength(200);
  expect(all[0]).toMatchObject({ seq: 0, text: "word899 needle" });
  expect(await search(second, "a", "later needle")).toEqual([]);
  expect(await search(second, "a", "filler")).toEqual([]);
  expect(await search(second, "a", "word400 ")).toHaveLength(1);
  await second.close();
  await using third = await Rig.open({ root: first.root });
  expect(await search(third, "a", "word400 ")).toHaveLength(1);
  await third.tell("/v1/sessions/a", { method: "DELETE" });
  await third.make("a");
  expect(await search(third, "a", "needle")).toEqual([]);
  expect(third.reports).toEqual([]);
});

test("[AD30] a transcript that is to be imported while another is, or just was, is imported too", async () => {
  await using file = await openDb();
  const turns = new EarlierTurns(file);
  const begin = (name: string): void => {
    const lines = [said(`word of ${name}`, 1)];
    const path = claudeTranscript({ home: file.home, id: name, lines });
    turns.begin(name, { harness: "claude", file: path, bytes: statSync(path).size });
  };
  let atLast: (() => Promise<void>) | undefined;
  const soon = (wake: () => void): void =>
    void setImmediate(() => {
      wake();
      // Nothing is left to import: from here on it comes to its end.
      if (turns.open().length > 0) return;
      void atLast?.();
      atLast = undefined;
    });
  const importing = new Importing(turns, { soon, report: String });
  for (let ticks = 0; ticks < 40; ticks++) {
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    atLast = async () => {
      for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
      begin(`second${ticks}`);
      importing.start();
      resolve();
    };
    begin(`first${ticks}`);
    importing.start();
    await isLate;
    await importing.done();
    expect(turns.search(`second${ticks}`, "word of", 9), `${ticks} ticks`).toHaveLength(1);
  }
  await importing.close();
});

test("[AD30] a transcript is imported although its harness keeps them elsewhere by now, and not where a link took its folder's place", async () => {
  const first = await Rig.open({ env: { CLAUDE_CONFIG_DIR: "~/.claude" } });
  await using _ended = first;
  const file = await adopted(first, [said("needle", 1)]);
  await untilFound(first, "a", "needle");
  await first.close();
  rmSync(join(first.root, "state", "machine.db"));
  await using second = await Rig.open({ root: first.root, env: { CLAUDE_CONFIG_DIR: "~/other" } });
  expect(await untilFound(second, "a", "needle")).toHaveLength(1);
  expect(await history(second, "a")).toHaveLength(2);
  renameSync(dirname(file), join(second.root, "moved"));
  symlinkSync(join(second.root, "moved"), dirname(file));
  expect(await history(second, "a")).toEqual([]);
});

test("[AD57] an import takes a breath after every step, which is one long line or a few short ones", async () => {
  await using file = await openDb();
  const turns = new EarlierTurns(file);
  const units = (): number => Number(file.db.prepare(countUnits).get()?.["units"]);
  const steps: number[] = [];
  let before = 0;
  const soon = (wake: () => void): void => {
    const now = units();
    if (now > before) steps.push(now - before);
    before = now;
    setImmediate(wake);
  };
  const importing = new Importing(turns, { soon, report: String });
  const long = "long ".repeat(40_000);
  const lines = Array.from({ length: 400 }, (_, n) =>
    said(n % 50 === 9 ? long : "x".repeat(999), n),
  );
  const path = claudeTranscript({ home: file.home, id: "c", lines });
  turns.begin("a", { harness: "claude", file: path, bytes: statSync(path).size });
  importing.start();
  await importing.done();
  expect(steps.reduce((sum, step) => sum + step)).toBe(8 * long.length + 392 * 999);
  expect(steps.filter((step) => step === long.length)).toHaveLength(8);
  expect(Math.max(...steps.filter((step) => step !== long.length))).toBeLessThan(34_000);
  await importing.close();
});

test("[AD31] a search costs what it finds: a huge earlier conversation is asked by its index", async () => {
  await using rig = await Rig.open();
  const lines = Array.from({ length: 5_000 }, (_, n) => said(`number ${n} of many words`, n));
  lines[7] = said("the one needle", 7);
  await adopted(rig, lines);
  await untilFound(rig, "a", "number 4999");
  const times: number[] = [];
  for (let n = 0; n < 9; n++) {
    const began = performance.now();
    expect(await search(rig, "a", "one needle")).toHaveLength(1);
    times.push(performance.now() - began);
  }
  // A scan of it takes many times that, also on a machine that is busy.
  expect(times.sort((a, b) => a - b)[0]).toBeLessThan(100);
});

test("[AD25] history is what was said before the session had the conversation, newest last, before a time where one is named", async () => {
  await using rig = await Rig.open({
    harnesses: [scriptedHarness(), scriptedHarness({ name: "pi", title: "pi" })],
  });
  const turns = Array.from({ length: 250 }, (_, n) => said(`turn ${n + 1}`, n + 1));
  const file = await adopted(rig, [toolResult("r", 1), ...turns]);
  appendFileSync(file, `${said("of the session", 300)}\n`);
  const all = await history(rig, "a");
  expect(all).toHaveLength(30);
  expect(all[29]).toEqual({ time: timeOf(250), role: "assistant", text: "turn 250" });
  expect(await history(rig, "a", "?limit=900")).toHaveLength(200);
  const before = await history(rig, "a", `?limit=2&before=${timeOf(2)}`);
  expect(before).toEqual([
    { time: timeOf(0), role: "user", text: "from the beginning" },
    { time: timeOf(1), role: "assistant", text: "turn 1" },
  ]);
  for (const query of ["?limit=0", "?before=now", "?before=2026-01-01", "?after=1"])
    expect((await rig.tell(`/v1/sessions/a/history${query}`)).status).toBe(400);
  await rig.make("none");
  expect(await history(rig, "none")).toEqual([]);
});

test("[AD25] history of pi is read from its own transcript, of the last 4 MiB at most", async () => {
  await using rig = await Rig.open({ harnesses: [scriptedHarness({ name: "pi", title: "pi" })] });
  const filler = piSaid("assistant", "x".repeat(1_000_000), 2);
  const lines = [piSaid("user", "far away", 1), ...Array.from({ length: 5 }, () => filler)];
  await adopted(rig, [...lines, piSaid("user", "near", 3)], "pi");
  const texts = (await history(rig, "a")) as { text: string }[];
  expect(texts.at(-1)).toEqual({ time: timeOf(3), role: "user", text: "near" });
  expect(texts.some(({ text }) => text === "far away")).toBe(false);
  expect(await untilFound(rig, "a", "far away")).toHaveLength(1);
});

test("[AD56] history is read of nothing but a transcript of the harness's own, whatever the harness names and wherever links lead", async () => {
  await using rig = await Rig.open({ harnesses: [scriptedHarness({ name: "pi", title: "pi" })] });
  const lines = [piSaid("user", "a secret", 1)];
  const own = piTranscript({ home: rig.home, id: "own", lines });
  const root = dirname(dirname(own));
  const elsewhere = join(rig.root, "elsewhere");
  mkdirSync(elsewhere);
  const outside = join(elsewhere, "2026_outside.jsonl");
  writeFileSync(outside, lines.join("\n"));
  writeFileSync(join(root, "token"), lines.join("\n"));
  symlinkSync(outside, join(root, "2026_link.jsonl"));
  symlinkSync(elsewhere, join(root, "--linked--"));
  execFileSync("mkfifo", [join(root, "2026_pipe.jsonl")]);
  const said = async (name: string, file: string): Promise<unknown[]> => {
    await rig.make(name, { harness: "pi" });
    await rig.machine.sessions.get(name).adopt({ id: "c", file });
    return history(rig, name);
  };
  expect(await said("own", own)).toHaveLength(1);
  const closed = [
    ...[outside, "/etc/passwd", join(root, "token"), join(root, "2026_link.jsonl")],
    ...[join(root, "--linked--", "2026_outside.jsonl"), join(root, "2026_pipe.jsonl")],
    ...[`${root}/../../../../elsewhere/2026_outside.jsonl`, root, join(root, "none.jsonl")],
  ];
  for (const [n, file] of closed.entries()) expect(await said(`s${n}`, file), file).toEqual([]);
  // The folder of all transcripts may be a link: that is its owner's own way.
  renameSync(root, join(rig.root, "moved"));
  symlinkSync(join(rig.root, "moved"), root);
  expect(await history(rig, "own")).toHaveLength(1);
});
