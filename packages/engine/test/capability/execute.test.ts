// Programs through the door in a whole host: the real runtime, sandbox and model loop, and a scripted provider.

import { OperationError, type Surface, type SurfaceNamespace } from "@lichen/capability";
import type { SqlFile } from "@lichen/runtime/node";
import { readFile } from "node:fs/promises";
import { afterEach, expect, test } from "vitest";
import { killInMidRun } from "../model/kill.ts";
import { untilAsked } from "../model/rig.ts";
import {
  Attached,
  ledgerNamespace,
  ledgerOf,
  namespace,
  type OfferedRig,
  operation,
  program,
  startOffered,
  writesDown,
} from "./attached.ts";

const open: OfferedRig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.closeAll();
});

async function start(...given: Parameters<typeof startOffered>): Promise<OfferedRig> {
  const rig = await startOffered(...given);
  open.push(rig);
  return rig;
}

const notes = () =>
  new Attached(
    namespace("notes", [
      operation("add"),
      operation("all", { label: "read" }),
      operation("erase", { confirm: true }),
    ]),
  );

const resultOf = (rig: OfferedRig, request = 1) => rig.provider.requests[request]?.results[0];

test("[D13] a program's calls are journalled, each with its label, and only its result goes to the model", async () => {
  const source = notes();
  const code = "const a = await notes.add({n: 1}); const b = await notes.all(); return {a, b}";
  const rig = await start(source, { script: [program(code), "done"] });
  expect(await rig.prompt("go")).toMatchObject({ terminal: "completed", answer: "done" });
  expect(resultOf(rig)?.text).toBe('{"a":"did add","b":"did all"}');
  expect(await rig.data("program.call")).toMatchObject([
    { ordinal: 0, capability: "id-notes", operation: "notes.add", label: "write", input: { n: 1 } },
    { ordinal: 1, capability: "id-notes", operation: "notes.all", label: "read", input: {} },
  ]);
  expect(await rig.data("call.started")).toMatchObject([{ label: "read", replaySafe: true }]);
});

test("[D7] [D8] code finds what is attached by now, with its types, and calls it in one program", async () => {
  const source = notes();
  const code = `
    const {operations} = await capabilities.search("add note");
    const types = await capabilities.describe(operations[0].name);
    return [operations[0].name, types.includes("declare const notes"), await notes.add()]`;
  const rig = await start(source, { script: [program(code), "done"] });
  await rig.prompt("go");
  expect(resultOf(rig)?.text).toBe('["notes.add",true,"did add"]');
});

test("[D1] [D2] a grant that changes between two calls of one program refuses the second, which is journalled and made by nobody", async () => {
  const source = notes();
  const rig = await start(source, {
    script: [
      program(
        "await notes.add({n: 1}); return notes.add({n: 2}).catch((e) => e.code + ' ' + e.message)",
      ),
      "done",
    ],
  });
  source.answer = async () => {
    await rig.session.deliverGrants({ version: 1, grants: { notes: "read" } });
    return "added";
  };
  await rig.prompt("go");
  expect(resultOf(rig)?.text).toMatch(/^denied Grant notes: this session may only read/);
  expect(source.made).toEqual([{ operation: "add", input: { n: 1 } }]);
  expect(await rig.data("program.outcome")).toMatchObject([
    { ordinal: 0, ok: true },
    { ordinal: 1, ok: false, code: "denied" },
  ]);
});

test("[D13] [D17] a program that waits for a person goes on after a restart: no call twice, exactly the input that was shown", async () => {
  const source = notes();
  let first = true;
  source.answer = ({ operation: name, input }) => {
    if (name !== "add") return { name, input };
    const told = { name, first };
    first = false;
    return told;
  };
  const code = `
    const added = await notes.add({n: 1});
    const erased = await notes.erase({n: 2});
    return {added, erased, random: Math.random() >= 0}`;
  const rig = await start(source, { script: [program(code), "done"] });
  const command = await rig.send({ type: "prompt", text: "go" });
  expect(await untilAsked(rig)).toMatchObject({ tool: "notes.erase", input: { n: 2 } });
  await rig.reopen();
  const { approvalId } = await untilAsked(rig);
  await rig.send({ type: "answer", approvalId, allow: true });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", answer: "done" });
  expect(JSON.parse(resultOf(rig)?.text ?? "")).toEqual({
    added: { name: "add", first: true },
    erased: { name: "erase", input: { n: 2 } },
    random: true,
  });
  expect(source.made).toEqual([
    { operation: "add", input: { n: 1 } },
    { operation: "erase", input: { n: 2 } },
  ]);
});

test("[D13] an answer that is not given to the program is not in the journal either, which holds what it was told", async () => {
  const source = notes();
  source.answer = ({ operation: name }) => (name === "all" ? "x".repeat(5_000_000) : "added");
  const code = "return notes.all().catch((e) => e.code + ' ' + e.message)";
  const rig = await start(source, { script: [program(code), "done"] });
  await rig.prompt("go");
  const told = "notes.all ran, but its answer is larger than 4096 KiB: read less of it, or a page.";
  expect(resultOf(rig)?.text).toBe(`limit ${told}`);
  expect(await rig.data("program.outcome")).toMatchObject([
    { ok: false, code: "limit", message: told },
  ]);
});

test("[D17] an input that a person edits is held to what the operation takes, and reaches nobody where it does not fit", async () => {
  const fields = { type: "object", properties: { text: { type: "string" } } };
  const input = { ...fields, required: ["text"], additionalProperties: false };
  const source = new Attached(namespace("notes", [operation("send", { confirm: true, input })]));
  const code = "return notes.send({text: 'as it was'})";
  const rig = await start(source, { script: [program(code), "done"] });
  const command = await rig.send({ type: "prompt", text: "go" });
  const { approvalId } = await untilAsked(rig);
  const answer = { type: "answer", approvalId, allow: true } as const;
  for (const [edited, words] of [
    [{ text: 5 }, /edited input does not fit: .*text/],
    [{ txt: "x" }, /edited input does not fit: .*t(e)?xt/],
  ] as const)
    await expect(rig.send({ ...answer, input: edited })).rejects.toThrow(words);
  expect(source.made).toEqual([]);
  await rig.send({ ...answer, input: { text: "better" } });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed" });
  expect(source.made).toEqual([{ operation: "send", input: { text: "better" } }]);
});

test("[D13] kill -9 while a program waits for a person, then the person's word: the right result, each call made once", async () => {
  const source = new Attached(ledgerNamespace);
  let ledger = "";
  const code = `
    const noted = await ledger.note({at: Date.now(), random: Math.random()});
    const paid = await ledger.pay({amount: 1, noted: noted.input});
    return [noted.input.at > 0, paid.input.amount, paid.input.noted.random === noted.input.random]`;
  const rig = await start(source, {
    script: [program(code), "done"],
    inherits: async (store, url) => {
      ledger = ledgerOf(store);
      source.answer = writesDown(store);
      await killInMidRun("../capability/killed-program.ts", store, url);
    },
  });
  const { approvalId, commandId } = await untilAsked(rig);
  await rig.send({ type: "answer", approvalId, allow: true });
  expect(await rig.settled(commandId)).toMatchObject({ terminal: "completed", answer: "done" });
  expect(resultOf(rig)?.text).toBe("[true,1,true]");
  const made = (await readFile(ledger, "utf8")).trimEnd().split("\n");
  expect(made.map((line) => line.split(" ")[0])).toEqual(["note", "pay"]);
});

test("[D19] a stop ends a program with its calls; where its host only stopped, what it had read is read again and the write is not", async () => {
  const source = notes();
  const hanging = Promise.withResolvers<void>();
  source.answer = ({ operation: name }, { signal }) => {
    if (name !== "all" || source.made.length > 2) return name;
    hanging.resolve();
    return new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  };
  const code = "return [await notes.add(), await notes.all()]";
  const rig = await start(source, { script: [program(code), "done", program(code), "never"] });
  const command = await rig.send({ type: "prompt", text: "go" });
  await hanging.promise;
  await rig.reopen();
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed" });
  expect(resultOf(rig)?.text).toBe('["add","all"]');
  expect(source.made.map((made) => made.operation)).toEqual(["add", "all", "all"]);

  const begun = Promise.withResolvers<void>();
  source.answer = (_, { signal }) => {
    begun.resolve();
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason as Error));
    });
  };
  const second = await rig.send({ type: "prompt", text: "again" });
  await begun.promise;
  await rig.send({ type: "cancel", commandId: second });
  expect(await rig.settled(second)).toMatchObject({ terminal: "cancelled" });
});

test("[D17] another argument asks again, and what is refused does not run", async () => {
  const source = notes();
  const code = `
    await notes.erase({n: 1});
    return notes.erase({n: 2}).catch((error) => error.code)`;
  const rig = await start(source, { script: [program(code), "done"] });
  const command = await rig.send({ type: "prompt", text: "go" });
  const one = await untilAsked(rig);
  await rig.send({ type: "answer", approvalId: one.approvalId, allow: true });
  let two = await untilAsked(rig);
  while (two.approvalId === one.approvalId) two = await untilAsked(rig);
  expect([one.input, two.input]).toEqual([{ n: 1 }, { n: 2 }]);
  await rig.send({ type: "answer", approvalId: two.approvalId, allow: false });
  await rig.settled(command);
  expect(resultOf(rig)?.text).toBe("denied");
  expect(source.made).toEqual([{ operation: "erase", input: { n: 1 } }]);
});

test("[D13] [D1] what is detached while a program waits for a person is never called, and the program hears of it", async () => {
  const source = notes();
  const code = "await notes.add(); return notes.erase({n: 1}).catch((error) => error.code)";
  const rig = await start(source, { script: [program(code), "done"] });
  const command = await rig.send({ type: "prompt", text: "go" });
  await untilAsked(rig);
  source.detach("notes");
  await rig.reopen();
  const { approvalId } = await untilAsked(rig);
  await rig.send({ type: "answer", approvalId, allow: true });
  await rig.settled(command);
  expect(resultOf(rig)?.text).toBe("detached");
  expect(source.made).toEqual([{ operation: "add", input: {} }]);
});

const lives = {
  restored: undefined,
  "replayed from its start": (sql: SqlFile["sql"]) =>
    sql.run("update program set engine = 'another'"),
};
for (const [how, meanwhile] of Object.entries(lives)) {
  /** A program that waits for a person while its surface becomes another, and then looks around. */
  const goesOn = async (source: Attached, code: string) => {
    const before = source.current;
    const changed = namespace("notes", [operation("add"), operation("share")]);
    const rig = await start(source, { script: [program(code), "done"] });
    const command = await rig.send({ type: "prompt", text: "go" });
    await untilAsked(rig);
    return async (change: (before: Surface, changed: SurfaceNamespace) => Partial<Surface>) => {
      source.current = { ...before, ...change(before, changed), revision: before.revision + 1 };
      await rig.reopen(meanwhile);
      const { approvalId } = await untilAsked(rig);
      await rig.send({ type: "answer", approvalId, allow: true });
      await rig.settled(command);
      return resultOf(rig)?.text ?? "";
    };
  };
  const asks = "await notes.add(); const asked = await notes.erase().catch((e) => e.code);";

  test(`[D20] a program ${how} whose namespaces were detached hears of it at each new call, and no other way`, async () => {
    const source = notes();
    source.current = {
      ...source.current,
      namespaces: [...source.current.namespaces, namespace("mail", [operation("send")])],
    };
    const goOn = await goesOn(
      source,
      `const has = typeof mail.send; ${asks}
       const tried = await Promise.all([notes.all(), mail.send()].map((it) => it.catch((e) => e.code)));
       return [has, typeof mail.send, asked, ...tried]`,
    );
    const text = await goOn(() => ({ namespaces: [] }));
    expect(text).toBe('["function","function","detached","detached","detached"]');
    expect(source.made).toEqual([{ operation: "add", input: {} }]);
  });

  test(`[D20] a program ${how} whose namespace was renamed is told the new name`, async () => {
    const source = notes();
    const goOn = await goesOn(
      source,
      `${asks} return [asked, await notes.all().catch((e) => e.message)]`,
    );
    const text = await goOn(({ namespaces }) => ({
      namespaces: namespaces.map((one) => ({ ...one, name: "notebook" })),
      renamed: { notes: "notebook" },
    }));
    expect(JSON.parse(text)).toEqual([
      "renamed",
      "notes is called notebook now: call notebook.all. It did not run.",
    ]);
    expect(source.made).toHaveLength(1);
  });

  test(`[D20] a program ${how} can name what it could as it began, however much that is`, async () => {
    const source = notes();
    const many = Array.from({ length: 300 }, (_, at) => operation(`operation${at}`));
    source.current = {
      ...source.current,
      namespaces: [...source.current.namespaces, namespace("many", many)],
    };
    const goOn = await goesOn(
      source,
      `const names = Object.keys(notes); ${asks}
       const tried = await notes.all().catch((e) => e.code);
       return [names, Object.keys(notes), "share" in notes, typeof other, Object.keys(many).length, asked, tried]`,
    );
    const text = await goOn((_, changed) => ({
      namespaces: [changed, namespace("other", [operation("it")])],
    }));
    const names = ["add", "all", "erase"];
    expect(JSON.parse(text)).toEqual([
      ...[names, names, false, "undefined", 300],
      ...["detached", "detached"],
    ]);
  });
}

test("[D10] [D11] images and display data of calls before a restart are there after it", async () => {
  const png = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  );
  const source = notes();
  source.answer = ({ operation: name }, { image, display }) => {
    display({ shown: name });
    return image({ mediaType: "image/png", bytes: new Uint8Array(png) });
  };
  const code = `
    const first = await notes.add();
    const second = await notes.erase();
    return [first.image, second.image]`;
  const rig = await start(source, { script: [program(code), "done"] });
  const command = await rig.send({ type: "prompt", text: "go" });
  await untilAsked(rig);
  await rig.reopen();
  const { approvalId } = await untilAsked(rig);
  await rig.send({ type: "answer", approvalId, allow: true });
  await rig.settled(command);
  const [outcome] = await rig.data("message.tool");
  expect(outcome?.content.map((block) => block.type)).toEqual([
    "text",
    "text",
    "image",
    "text",
    "image",
  ]);
  expect(outcome?.content[0]).toMatchObject({ text: "[1,2]" });
  expect(outcome?.data).toEqual({
    calls: 2,
    displayed: [
      { operation: "notes.add", data: { shown: "add" } },
      { operation: "notes.erase", data: { shown: "erase" } },
    ],
  });
  expect(source.made.map((made) => made.operation)).toEqual(["add", "erase"]);
});

test("[D16] what calls of a program ask is known by the call: no call finds another's answer, also after a restart", async () => {
  const source = notes();
  const answers: unknown[] = [];
  source.answer = async ({ input }, { ask }) => {
    const told = await ask?.([{ question: "Which?" }]);
    answers.push([input["n"], told]);
    return told;
  };
  const code = "return [await notes.all({n: 1}), await notes.all({n: 2})]";
  const rig = await start(source, { script: [program(code), "done"] });
  const command = await rig.send({ type: "prompt", text: "go" });
  const one = await untilAsked(rig);
  const say = async (approvalId: string, which: string) =>
    rig.send({ type: "answer", approvalId, allow: true, answers: { "Which?": which } });
  await say(one.approvalId, "first");
  let two = await untilAsked(rig);
  while (two.approvalId === one.approvalId) two = await untilAsked(rig);
  await rig.reopen();
  await say(two.approvalId, "second");
  await rig.settled(command);
  expect(JSON.parse(resultOf(rig)?.text ?? "")).toEqual([
    { "Which?": "first" },
    { "Which?": "second" },
  ]);
  expect(answers).toEqual([
    [1, { "Which?": "first" }],
    [2, { "Which?": "second" }],
  ]);
});

test("[D18] what a connector throws is told without the host's secrets, in the log too", async () => {
  const source = notes();
  const reported: unknown[] = [];
  source.answer = ({ operation: name }) => {
    if (name === "add") throw new OperationError("http_401", "sk-made-up-for-tests was refused.");
    throw new Error("canary-1234567");
  };
  const code =
    "return [await notes.add().catch((e) => e.message), await notes.all().catch((e) => e.message)]";
  const rig = await start(source, {
    script: [program(code), "done"],
    report: (error) => reported.push(error),
  });
  await rig.prompt("go");
  const told = JSON.stringify([
    await rig.entries(),
    rig.provider.requests.map(({ results }) => results),
  ]);
  expect(told).toContain("[redacted] was refused.");
  expect(told).not.toMatch(/canary-1234567|sk-made-up/);
  expect(reported).toMatchObject([{ message: "canary-1234567" }]);
});

test("[D12] a program that fails is an error that says why, and the model goes on", async () => {
  const rig = await start(notes(), {
    script: [program("await notes.add(); return notes.nothing()"), "done"],
  });
  expect(await rig.prompt("go")).toMatchObject({ terminal: "completed" });
  expect(resultOf(rig)).toMatchObject({ isError: true });
  expect(resultOf(rig)?.text).toContain("There is no operation notes.nothing");
  expect(resultOf(rig)?.text).toContain("It made 1 call before");
  expect((await rig.data("message.tool"))[0]).toMatchObject({ data: { calls: 1 } });
});
