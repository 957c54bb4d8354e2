// Conversations of this computer: listed as they lie on the disk, and continued as sessions.

import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ConversationInfo } from "../../src/conversations/conversations.ts";
import { Rig } from "../rig.ts";
import { scriptedHarness } from "../scripted.ts";
import {
  claudeTranscript,
  piHead,
  piSaid,
  piTranscript,
  said,
  toolResult,
  typed,
} from "./transcripts.ts";

async function list(rig: Rig, query = ""): Promise<ConversationInfo[]> {
  const { status, body } = await rig.tell(`/v1/conversations${query}`);
  if (status !== 200) throw new Error(JSON.stringify(body));
  return (body as { conversations: ConversationInfo[] }).conversations;
}

function place(rig: Rig, name = "work"): string {
  const dir = join(rig.home, name);
  mkdirSync(dir, { recursive: true });
  return dir;
}

const both = [scriptedHarness(), scriptedHarness({ name: "pi", title: "pi" })];

test("[AD1] conversations are listed newest first, with their last words, without those that cannot be continued here", async () => {
  await using rig = await Rig.open({ harnesses: both });
  const { home } = rig;
  const dir = place(rig, "work with spaces");
  const words = [typed("first words", 1, dir), said("an answer", 2), typed("last  \n words", 3)];
  claudeTranscript({ home, id: "old", lines: words, age: 1 });
  claudeTranscript({ home, id: "new", lines: [...words, said("y".repeat(300), 4)], age: 9 });
  claudeTranscript({ home, id: "empty", lines: [], age: 3 });
  claudeTranscript({ home, id: "foreign", lines: [typed("hi", 1, "/home/someone/else")], age: 4 });
  claudeTranscript({ home, id: "agent-1", lines: words, age: 5 });
  claudeTranscript({ home, id: "nowhere", lines: [typed("hi", 1)], age: 6 });
  const pi = [piHead("p-1", dir), piSaid("user", "asked pi", 1), piSaid("assistant", "pi says", 2)];
  piTranscript({ home, id: "p-1", lines: pi, age: 5 });
  const found = await list(rig);
  expect(found.map(({ id }) => id)).toEqual(["new", "p-1", "old"]);
  expect(found[2]).toEqual({
    id: "old",
    harness: "claude",
    dir,
    modified: "2026-06-01T12:01:00.000Z",
    size: expect.any(Number),
    last_user: "last words",
    last_assistant: "an answer",
    adopted_by: "",
    terminals: [],
  });
  expect(found[0]?.last_assistant).toBe("y".repeat(160));
  expect(found[1]).toMatchObject({
    harness: "pi",
    last_user: "asked pi",
    last_assistant: "pi says",
  });
  expect((await list(rig, "?limit=1")).map(({ id }) => id)).toEqual(["new"]);
  expect(await rig.tell("/v1/conversations?limit=0")).toMatchObject({ status: 400 });
  rmSync(dir, { recursive: true });
  expect(await list(rig)).toEqual([]);
});

test("[AD3] of a large transcript only the ends are read; a torn last line, a link and a pipe are no matter", async () => {
  await using rig = await Rig.open();
  const { home } = rig;
  const dir = place(rig);
  const file = claudeTranscript({ home, id: "big", lines: [typed("early", 1, dir)] });
  const filler = `${toolResult("x".repeat(60_000), 2)}\n`;
  for (let n = 0; n < 40; n++) appendFileSync(file, filler);
  expect((await list(rig))[0]).toMatchObject({ id: "big", last_user: "" });
  appendFileSync(file, `${typed("late", 3)}\n${said("done", 4)}\n{"type":"user","mess`);
  expect((await list(rig))[0]).toMatchObject({ last_user: "late", last_assistant: "done" });
  const secret = join(rig.root, "secret.jsonl");
  writeFileSync(secret, `${typed("secret", 1, dir)}\n`);
  symlinkSync(secret, join(home, ".claude", "projects", "-work", "link.jsonl"));
  mkdirSync(join(home, ".claude", "projects", "-work", "folder.jsonl"));
  expect((await list(rig)).map(({ id }) => id)).toEqual(["big"]);
  const linked = await rig.tell("/v1/sessions", { json: { name: "a", resume: "link" } });
  expect(linked.status).toBe(400);
});

test("[AD4] words of tools, sub-agents, commands and summaries are not taken for the conversation's own", async () => {
  await using rig = await Rig.open();
  const dir = place(rig);
  const own = [typed("mine", 1, dir), said("its", 2)];
  const others = [
    toolResult("result", 3),
    typed("<command-name>/clear</command-name>", 4),
    typed("meta", 5, dir, { isMeta: true }),
    typed("summary", 6, dir, { isCompactSummary: true }),
    said("sub-agent", 7, { isSidechain: true }),
    JSON.stringify({ type: "assistant", message: { model: "<synthetic>", content: "error" } }),
    JSON.stringify({ type: "user", message: { content: [{ type: "text", text: "hook" }] } }),
    "[]",
    "null",
    '{"message":',
  ];
  claudeTranscript({ home: rig.home, id: "c", lines: [...own, ...others] });
  expect(await list(rig)).toMatchObject([{ last_user: "mine", last_assistant: "its" }]);
});

test("[AD5] an id is no pattern and no path, and one that no transcript has is refused", async () => {
  await using rig = await Rig.open({ harnesses: both });
  const { home } = rig;
  const dir = place(rig);
  claudeTranscript({ home, id: "c-1", lines: [typed("hi", 1, dir)] });
  piTranscript({ home, id: "p-1", lines: [piHead("p-1", dir), piSaid("user", "hi", 1)] });
  const ids = [
    "*",
    "c-?",
    "[c]-1",
    "../-work/c-1",
    "..\\c",
    "c-1/",
    ".",
    "",
    "c-2",
    "a".repeat(65),
  ];
  for (const harness of ["claude", "pi"])
    for (const resume of [...ids, "p-*", "?-1", "2026/p-1"]) {
      const refused = await rig.tell("/v1/sessions", { json: { name: "a", resume, harness } });
      expect([resume, refused.status]).toEqual([resume, 400]);
    }
  const acp = { name: "a", resume: "c-1", harness: "acp" };
  expect((await rig.tell("/v1/sessions", { json: acp })).status).toBe(400);
  expect(await rig.list()).toEqual([]);
  // A name of pi's with a space in it is one.
  piTranscript({ home, id: "my talk", lines: [piHead("my talk", dir), piSaid("user", "hi", 1)] });
  const json = { name: "a", resume: "my talk", harness: "pi" };
  expect((await rig.tell("/v1/sessions", { json })).status).toBe(201);
});

test("[AD2] a conversation is continued under its id in the directory where it began, pi's by its file", async () => {
  await using rig = await Rig.open({ harnesses: both });
  const { home } = rig;
  const dir = place(rig, "work with spaces");
  const elsewhere = place(rig, "elsewhere");
  claudeTranscript({ home, id: "c-1", lines: [typed("hi", 1, dir), typed("cd", 2, elsewhere)] });
  const file = piTranscript({ home, id: "p-1", lines: [piHead("p-1", dir)] });
  const first = await rig.tell("/v1/sessions", { json: { name: "a", resume: "c-1", model: "m" } });
  expect(first).toMatchObject({ status: 201, body: { name: "a", dir, harness: "claude" } });
  expect(rig.machine.sessions.get("a").conversation).toEqual({ id: "c-1" });
  const pi = { name: "b", resume: "p-1", harness: "pi", dir: "~/work with spaces" };
  expect(await rig.tell("/v1/sessions", { json: pi })).toMatchObject({
    status: 201,
    body: { dir },
  });
  expect(rig.machine.sessions.get("b").conversation).toEqual({ id: "p-1", file });
  const found = new Map((await list(rig)).map(({ id, adopted_by }) => [id, adopted_by]));
  expect([found.size, found.get("c-1"), found.get("p-1")]).toEqual([2, "a", "b"]);
  await rig.close();
  await using again = await Rig.open({ harnesses: both, root: rig.root });
  expect(again.reports).toEqual([]);
  expect(again.machine.sessions.get("a").conversation).toEqual({ id: "c-1" });
});

test("[AD6] a conversation is one session's at a time, also when many ask at once; a new conversation lets it go", async () => {
  await using rig = await Rig.open();
  const { home } = rig;
  const dir = place(rig);
  claudeTranscript({ home, id: "c-1", lines: [typed("hi", 1, dir)] });
  claudeTranscript({ home, id: "c-1", lines: [typed("hi", 1, dir)], folder: "-copy" });
  const asked = ["a", "b", "c", "d"].map((name) =>
    rig.tell("/v1/sessions", { json: { name, resume: "c-1" } }),
  );
  const answers = await Promise.all(asked);
  const statuses = answers.map(({ status }) => status);
  expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 400, 400, 400]);
  const [holder] = await rig.list();
  const again = { name: "e", resume: "c-1" };
  expect(await rig.tell("/v1/sessions", { json: again })).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining(`Session ${holder?.name}`), code: "conflict" },
  });
  expect((await rig.tell(`/v1/sessions/${holder?.name}/new`, { method: "POST" })).status).toBe(200);
  expect((await list(rig))[0]?.adopted_by).toBe("");
  expect((await rig.tell("/v1/sessions", { json: again })).status).toBe(201);
});

test("[AD7] what is refused leaves nothing: no directory is made for a conversation of another machine", async () => {
  await using rig = await Rig.open();
  const { home } = rig;
  const away = join(rig.root, "home-of-another");
  claudeTranscript({ home, id: "c-1", lines: [typed("hi", 1, away)] });
  claudeTranscript({ home, id: "c-2", lines: [typed("hi", 1)] });
  claudeTranscript({ home, id: "c-3", lines: [typed("hi", 1, "relative")] });
  claudeTranscript({ home, id: "c-4", lines: [typed("hi", 1, rig.machine.stateDir)] });
  claudeTranscript({ home, id: "c-5", lines: [typed("hi", 1, place(rig))] });
  writeFileSync(join(home, "file"), "");
  const wishes = [
    { resume: "c-1" },
    { resume: "c-1", dir: "~/new" },
    { resume: "c-2" },
    { resume: "c-2", dir: "~/new" },
    { resume: "c-2", dir: "~/file" },
    { resume: "c-3" },
    { resume: "c-4" },
    { resume: "c-5", dir: "~" },
    { resume: "c-5", name: "not a name" },
    { resume: "c-5", command: ["x"] },
  ];
  for (const wish of wishes) {
    const answer = await rig.tell("/v1/sessions", { json: { name: "a", ...wish } });
    expect([wish, answer.status]).toEqual([wish, 400]);
  }
  expect(await rig.list()).toEqual([]);
  expect(readdirSync(home).sort()).toEqual([".claude", "file", "work"]);
  expect(readdirSync(rig.root)).not.toContain("home-of-another");
  const last = { name: "a", resume: "c-2", dir: "~/work" };
  expect((await rig.tell("/v1/sessions", { json: last })).status).toBe(201);
});
