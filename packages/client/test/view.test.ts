import { type Baseline, type Entry, foldBaseline, textOf } from "@lichen/wire";
import { type Move, textOutcome } from "@lichen/runtime/testing";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type Item, type Session, settled, ViewFold, viewOf } from "../src/index.ts";
import { baselineAt, lineAt } from "./hand-host.ts";
import { openTestHost } from "./host.ts";
import { png, prompt } from "./messages.ts";
import { until } from "./session.contract.ts";

const scripts: Record<string, readonly Move[]> = {
  tools: [
    {
      text: "I look",
      calls: [
        { name: "look", input: { at: "☃" }, effect: () => textOutcome("seen", { lines: 2 }) },
        {
          name: "break",
          effect: () => ({ content: [{ type: "text", text: "no" }], isError: true }),
        },
        {
          name: "erase",
          label: "write",
          confirm: {},
          input: { file: "a" },
          effect: (input) => textOutcome(`erased ${JSON.stringify(input["file"])}`),
        },
        {
          name: "burn",
          label: "write",
          confirm: {},
          input: {},
          effect: () => textOutcome("burnt"),
        },
      ],
    },
    { ask: { kind: "question", questions: [{ text: "really?" }] } },
    {
      append: [
        { kind: "compaction", data: { summary: "so far", tokensBefore: 9, automatic: true } },
      ],
    },
    { say: "done", usage: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } },
  ],
  fails: [{ fail: "the model said no" }],
  short: [{ say: "short answer" }],
  hang: [{ partials: ["thin", "thinking"] }, { hang: true }],
};

/** A host whose agent plays what the prompt's first word names, and a session with everything in it. */
async function openFullSession() {
  const host = await openTestHost({
    script: (work) => scripts[textOf(work.text).split(" ")[0]!] ?? [{ say: "ok" }],
  });
  const agent = host.client().agent("a");
  await agent.create({ requestId: "c", session: "s" });
  const session = agent.session("s");
  const start = await session.read();
  await session.send({ type: "line", requestId: "l", text: "a line" });
  const { commandId } = await session.send({
    ...prompt("p1", "tools please"),
    images: [{ mimeType: "image/png", data: png }],
  });
  const answer = async (wanted: string, allow: boolean, extra: object = {}): Promise<void> => {
    const approval = await until(
      session,
      (fold) => fold.view!.approvals.some((it) => (it.tool ?? "question") === wanted),
      (fold) => fold.view!.approvals.find((it) => (it.tool ?? "question") === wanted)!,
    );
    await session.send({
      type: "answer",
      requestId: `y-${wanted}`,
      approvalId: approval.approvalId,
      allow,
      ...extra,
    });
  };
  await answer("erase", true, { input: { file: "b" } });
  await answer("burn", false, { message: "rather not" });
  await answer("question", true, { answers: { really: "yes" } });
  await settled(session, commandId!);
  await settled(session, (await session.send(prompt("p2", "fails now"))).commandId!);
  const hanging = await session.send(prompt("p3", "hang on"));
  const queued = await session.send(prompt("p4", "short one"));
  await session.send({
    type: "cancel",
    requestId: "c4",
    commandId: queued.commandId!,
    onlyIfPending: true,
  });
  await session.send({ type: "cancel", requestId: "c3", commandId: hanging.commandId! });
  await settled(session, hanging.commandId!);
  return { host, session, start };
}

async function allEntries(session: Session): Promise<Entry[]> {
  let page = await session.read({ limit: 7 });
  const entries = [...page.entries];
  while (page.more) {
    page = await session.read({ limit: 7, before: entries[0]!.seq });
    entries.unshift(...page.entries);
  }
  return entries;
}

const said = (items: readonly Item[]): string[] =>
  items.map((item) =>
    item.type === "user" || item.type === "line"
      ? `${item.type}: ${textOf(item.text)}`
      : item.type === "assistant"
        ? `assistant: ${item.content.map((block) => (block.type === "text" ? textOf(block.text) : block.type)).join(" ")}`
        : item.type,
  );

test("[N24] the view shows the branch with its calls and how each ended, the remarks where they came, and the usage", async () => {
  const { host, session } = await openFullSession();
  await using _ = host;
  const view = viewOf(await session.read());
  expect(said(view.items)).toEqual([
    "line: a line",
    "user: tools please",
    "assistant: I look call call call call",
    "question",
    "compaction",
    "assistant: done",
    "user: fails now",
    "ended",
    "user: hang on",
    "cancelled",
    "cancelled",
    "ended",
  ]);
  const [, user, assistant, question] = view.items;
  expect(user).toMatchObject({ requestId: "p1", images: [{ mimeType: "image/png" }] });
  expect(assistant).toMatchObject({
    calls: [
      {
        name: "look",
        state: "done",
        input: { at: "☃" },
        data: { lines: 2 },
        isEdited: false,
        label: "read",
      },
      { name: "break", state: "failed", content: [{ text: "no" }] },
      {
        name: "erase",
        state: "done",
        input: { file: "b" },
        isEdited: true,
        content: [{ text: 'erased "b"' }],
      },
      { name: "burn", state: "failed" },
    ],
  });
  expect(question).toMatchObject({
    question: { state: "answered", answers: { really: "yes" }, questions: [{ text: "really?" }] },
  });
  expect(view.items.filter((item) => item.type === "ended")).toMatchObject([
    { terminal: "failed", diagnostic: "the model said no" },
    { terminal: "cancelled" },
  ]);
  expect(view.items.find((item) => item.type === "cancelled")).toMatchObject({
    text: "short one",
    was: "pending",
  });
  expect(view.session.usage).toMatchObject({ input: 1, output: 2 });
  expect(view).toMatchObject({ queue: [], approvals: [] });
  expect(view.running).toBeUndefined();
});

test("[N24] what runs and streams, waits in the queue and waits for a person is shown while it does", async () => {
  await using host = await openTestHost({
    script: (work) => scripts[textOf(work.text).split(" ")[0]!] ?? [{ say: "ok" }],
  });
  const session = host.client().agent("a").session("s");
  const { commandId } = await session.send(prompt("p1", "hang on"));
  await session.send(prompt("p2", "short one"));
  const view = await until(
    session,
    ({ view: it }) => it!.running?.partial?.text === "thinking" && it!.queue.length === 1,
    ({ view: it }) => it!,
  );
  expect(view).toMatchObject({
    session: { state: "running" },
    running: { commandId, partial: { text: "thinking" } },
    queue: [{ requestId: "p2", text: "short one", type: "prompt" }],
  });
  await session.send({ type: "abort", requestId: "a" });
  await settled(session, commandId!);
  const { commandId: second } = await session.send(prompt("p3", "tools"));
  const asked = await until(
    session,
    ({ view: it }) => it!.approvals.length === 2,
    ({ view: it }) => it!,
  );
  expect(asked.session.state).toBe("waiting");
  expect(asked.items.at(-1)).toMatchObject({
    type: "assistant",
    calls: [
      {},
      {},
      { state: "waiting", approvalId: asked.approvals[0]!.approvalId },
      { state: "waiting" },
    ],
  });
  await session.send({ type: "cancel", requestId: "c", commandId: second! });
  await settled(session, second!);
});

test("[N24] another branch is shown once its leaf is selected, and a new conversation begins empty", async () => {
  await using host = await openTestHost({ script: [{ say: "ok" }] });
  const session = host.client().agent("a").session("s");
  for (const id of ["one", "two", "three"]) {
    await settled(session, (await session.send(prompt(id, id))).commandId!);
  }
  const fold = new ViewFold();
  const page = await session.read();
  fold.take({ type: "baseline", id: "", data: page });
  expect(said(fold.view!.items)).toHaveLength(6);
  const first = page.entries.find((entry) => entry.kind === "message.assistant")!;
  await session.change({ leaf: first.id });
  await settled(session, (await session.send(prompt("other", "other"))).commandId!);
  await host.owner.agent("a")!.session("s").restart();
  await session.send({ type: "line", requestId: "l", text: "anew" });
  const shown: string[][] = [];
  const entries = (await session.read()).entries.slice(page.entries.length);
  for (const data of entries) {
    fold.take({ type: "entry", id: "", data });
    shown.push(said(fold.view!.items));
  }
  const begun = ["user: one", "assistant: ok"];
  expect(shown[0]).toEqual(begun);
  expect(shown).toContainEqual([...begun, "user: other", "assistant: ok"]);
  expect(shown.at(-1)).toEqual(["conversation", "line: anew"]);
  expect(fold.view).toEqual(viewOf(await session.read()));
});

test("[N14] folded entry by entry, at once, from any baseline or from older pages, the view is the same and the host's own", async () => {
  const { host, session, start } = await openFullSession();
  await using _ = host;
  const truth = await session.read();
  const entries = await allEntries(session);
  expect(entries.length).toBeGreaterThan(30);
  const whole = viewOf(truth);
  expect(viewOf(start, entries)).toEqual(whole);

  let baseline: Baseline = start;
  const fold = new ViewFold();
  fold.take({ type: "baseline", id: "", data: start });
  for (const [at, entry] of entries.entries()) {
    baseline = foldBaseline(baseline, entry);
    fold.take({ type: "entry", id: "", data: entry });
    expect(fold.view).toEqual(viewOf(baseline));
    expect(viewOf(baseline, entries.slice(at + 1))).toEqual(whole);
  }
  expect(baseline).toEqual(truth);

  const paged = new ViewFold();
  paged.take({ type: "baseline", id: "", data: await session.read({ limit: 3 }) });
  // A page that does not end where what is known begins is of no use, and changes nothing.
  const known = paged.view;
  paged.earlier(await session.read({ limit: 2, before: paged.entries[0]!.seq - 5 }));
  paged.earlier({ ...(await session.read({ before: paged.entries[0]!.seq })), epoch: "other" });
  expect(paged.view).toEqual(known);
  while (paged.view!.more)
    paged.earlier(await session.read({ limit: 5, before: paged.entries[0]!.seq }));
  expect(paged.view).toEqual(whole);
  paged.take({ type: "reset", id: "", data: await session.read({ limit: 2 }) });
  expect(paged.view).toEqual(whole);
});

test("[N14] on random trees of messages, remarks and moves, the view entry by entry is the view at once", () => {
  const step = fc.record({
    kind: fc.constantFrom(
      "line",
      "message.user",
      "command.cancelled",
      "extension.x",
      "session.changed",
      "conversation.started",
    ),
    to: fc.nat(),
    isRead: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const fold = new ViewFold();
      const start = baselineAt(0);
      fold.take({ type: "baseline", id: "", data: start });
      const entries: Entry[] = [];
      let leaf: string | undefined;
      const messages: string[] = [];
      for (const { kind, to, isRead } of steps) {
        const seq = entries.length + 1;
        const { parent: _, ...frame } = lineAt(seq);
        const entry: Entry = {
          ...frame,
          kind,
          data: dataOf(kind, seq, messages[to % messages.length]),
        };
        if (kind === "line" || kind === "message.user") {
          if (leaf !== undefined) entry.parent = leaf;
          leaf = entry.id;
          messages.push(entry.id);
        }
        if (kind === "conversation.started") leaf = undefined;
        if (kind === "session.changed" && messages.length > 0)
          leaf = messages[to % messages.length];
        entries.push(entry);
        fold.take({ type: "entry", id: "", data: entry });
        if (isRead) expect(fold.view).toEqual(viewOf(start, entries));
      }
      expect(fold.view).toEqual(viewOf(start, entries));
    }),
    { numRuns: 200 },
  );
});

function dataOf(kind: string, seq: number, leaf: string | undefined): Entry["data"] {
  if (kind === "command.cancelled") return { text: `t${seq}`, was: "pending" };
  if (kind === "session.changed") return leaf === undefined ? { title: `t${seq}` } : { leaf };
  if (kind === "conversation.started") return {};
  return { text: `t${seq}` };
}

test("[N15] a further frame reads no earlier entry, and what it leaves alone stays the same value", () => {
  const fold = new ViewFold();
  fold.take({ type: "baseline", id: "", data: baselineAt(0) });
  let reads = 0;
  for (let seq = 1; seq <= 2_000; seq++) {
    const { data, ...frame } = lineAt(seq);
    const entry = Object.defineProperty({ ...frame, data }, "data", {
      get: () => {
        reads++;
        return data;
      },
    });
    fold.take({ type: "entry", id: "", data: entry });
  }
  const before = fold.view!;
  reads = 0;
  fold.take({ type: "entry", id: "", data: lineAt(2_001) });
  const after = fold.view!;
  expect(reads).toBe(0);
  expect(after.items).toHaveLength(2_001);
  expect(before.items).toHaveLength(2_000);
  expect(after.items.slice(0, -1).every((item, at) => item === before.items[at])).toBe(true);
  expect(after.queue).toBe(before.queue);
  fold.take({ type: "outage", data: { since: 1, reason: new Error("gone") as never } });
  expect(fold.view!.outage).toEqual({ since: 1, reason: "gone" });
  expect(fold.view!.items).toBe(after.items);
  fold.take({ type: "back", data: { since: 1, at: 2 } });
  expect(fold.view).toEqual(after);
});

test("[N3] a settlement is awaited through an outage", async () => {
  const gate = Promise.withResolvers<void>();
  await using host = await openTestHost({ script: [{ gate: gate.promise }, { say: "late" }] });
  const failures: unknown[] = [];
  const down = Promise.withResolvers<void>();
  const client = host.client({
    fetch: async (url, init) => {
      try {
        return await fetch(url, init);
      } catch (error) {
        failures.push(error);
        down.resolve();
        throw error;
      }
    },
  });
  const session = client.agent("a").session("s");
  const { commandId } = await session.send(prompt("p"));
  const waiting = settled(session, commandId!, {
    platform: {
      after: (ms, wake) => {
        const timer = setTimeout(wake, Math.min(ms, 5));
        return () => clearTimeout(timer);
      },
    },
  });
  await host.stop();
  await down.promise;
  await host.start();
  gate.resolve();
  expect(await waiting).toMatchObject({ terminal: "completed", answer: "late" });
  expect(failures.length).toBeGreaterThan(0);
});
