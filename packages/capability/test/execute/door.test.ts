// The door as a structural tool, around an executor without a sandbox.

import { type Access, OperationError } from "@lichen/capability";
import { createExecuteTool, type ExecuteContext, imageLimits } from "@lichen/capability/execute";
import { expect, test } from "vitest";
import { plainExecutor } from "./plain-executor.ts";
import { namespace, operation, surface, TestSource } from "./surfaces.ts";

const signal = new AbortController().signal;
const never: ExecuteContext = { signal };

function stage(source: TestSource, report: (error: unknown) => void = () => {}) {
  const door = createExecuteTool({ executor: plainExecutor, source, report });
  const run = async (code: string, context: Partial<ExecuteContext> = {}) => {
    const { content, isError, data } = await door.execute({ code }, { ...never, ...context });
    const [first] = content;
    return { text: first?.type === "text" ? first.text : "", content, isError, data };
  };
  return { door, run };
}

const notes = () =>
  new TestSource(
    surface([
      namespace("notes", [
        operation("add"),
        operation("all", { label: "read" }),
        operation("erase", { confirm: true }),
      ]),
    ]),
  );

test("[D6] name, description and parameters of the door are the same whatever is attached", async () => {
  const source = notes();
  const { door } = stage(source);
  const before = JSON.stringify(door);
  const many = Array.from({ length: 2_000 }, (_, at) => operation(`operation${at}`));
  source.current = surface([namespace("huge", many)]);
  expect(JSON.stringify(door)).toBe(before);
  expect(JSON.stringify(createExecuteTool({ executor: plainExecutor, source }))).toBe(before);
  expect(before.length).toBeLessThan(2_500);
  for (const bad of [
    null,
    "x",
    {},
    { code: " " },
    { code: "1", more: 1 },
    { code: "1", deadlineSeconds: 901 },
  ])
    await expect(door.execute(bad, never)).rejects.toThrow(/^execute/);
});

test("[D7] each execution has what is attached as it begins", async () => {
  const source = notes();
  const { run } = stage(source);
  expect((await run("return [typeof notes, typeof mail]")).text).toBe('["object","undefined"]');
  source.current = surface([...source.current.namespaces, namespace("mail", [operation("send")])]);
  expect((await run("return mail.send({to: 'ada'})")).text).toBe("did send");
  expect(source.made).toEqual([{ id: "id-mail", operation: "send", input: { to: "ada" } }]);
});

test("[D7] a former namespace answers with what it is called now", async () => {
  const source = notes();
  const { run } = stage(source);
  source.current = surface([namespace("notebook", [operation("add")])], { notes: "notebook" });
  const { isError, text } = await run("return notes.add()");
  expect([isError, source.made]).toEqual([true, []]);
  expect(text).toContain("notes is called notebook now: call notebook.add");
  expect(text).toContain("[renamed]");
});

test("[D1] a key that is revoked between two calls of one program refuses the second", async () => {
  const source = notes();
  const { run } = stage(source);
  let access: Access = {};
  source.answer = async () => {
    access = { delivered: { notes: "read" } };
    return "added";
  };
  const code = `
    const told = [await notes.add({n: 1})];
    try { await notes.add({n: 2}) } catch (error) { told.push(error.code) }
    told.push(await notes.all());
    return told`;
  expect((await run(code, { access: () => access })).text).toBe('["added","denied","added"]');
  expect(source.made.map(({ input }) => input)).toEqual([{ n: 1 }, {}]);
  access = { strict: true };
  expect((await run("return notes.all()", { access: () => access })).text).toContain("Grant notes");
  expect((await run("return notes.add()")).text).toBe("added");
});

test("[D1] an operation of what was detached meanwhile is never called", async () => {
  const source = notes();
  const { run } = stage(source);
  source.answer = async () => {
    source.current = surface([]);
    return "added";
  };
  const { text } = await run(
    "await notes.add(); try { await notes.all() } catch (error) { return [error.code, error.message] }",
  );
  expect(JSON.parse(text)).toEqual([
    "detached",
    "notes is not attached any more, so notes.all did not run. Go on without it.",
  ]);
  expect(source.made).toHaveLength(1);
});

test("[D2] what is no object, and what is not there, reaches nobody and says why", async () => {
  const source = notes();
  const { run } = stage(source);
  const code =
    "return Promise.all([[1], 'x', null, 3].map((it) => notes.add(it).catch((e) => e.code + ': ' + e.message)))";
  const told = JSON.parse((await run(code)).text) as string[];
  expect(told[0]).toBe(
    "invalid_input: notes.add takes one object with its fields, and was given a list.",
  );
  expect(told.every((it) => it.startsWith("invalid_input"))).toBe(true);
  source.current = surface([namespace("notes", [operation("added")])]);
  expect(source.made).toEqual([]);
});

test("[D3] without a journal a person's word is asked of the host for exactly the call's input, at each call", async () => {
  const source = notes();
  const { run } = stage(source);
  expect((await run("return notes.erase({n: 1})")).text).toContain("nobody can be asked here");
  const asked: unknown[] = [];
  const confirm = async (it: { operation: string; input: unknown }) => {
    asked.push([it.operation, it.input]);
    return asked.length !== 2;
  };
  const code = `
    await notes.erase({n: 1});
    const no = await notes.erase({n: 2}).catch((error) => error.code);
    await notes.erase({n: 1});
    return no`;
  expect((await run(code, { confirm })).text).toBe("denied");
  expect(asked).toEqual([1, 2, 1].map((n) => ["notes.erase", { n }]));
  expect(source.made.map(({ input }) => input)).toEqual([{ n: 1 }, { n: 1 }]);
});

test("[D3] a grant that goes while a person is asked keeps the call from running", async () => {
  const source = notes();
  const { run } = stage(source);
  let access: Access = {};
  const confirm = async () => {
    access = { delivered: { notes: "none" } };
    return true;
  };
  const { text } = await run("return notes.erase()", { confirm, access: () => access });
  expect(text).toContain("[denied]");
  expect(source.made).toEqual([]);
});

test("[D10] images leave beside the result, code holds a note; past the bounds a call fails and leaves none", async () => {
  const bytes = Uint8Array.from({ length: 70_000 }, (_, at) => at % 256);
  const source = notes();
  const { run } = stage(source);
  source.answer = async ({ input }, { image }) => {
    const { count = 1, mediaType = "image/png", size = bytes.length, fails = false } = input;
    const given = size === bytes.length ? bytes : new Uint8Array(Number(size));
    const taken = Array.from({ length: Number(count) }, () =>
      image({ mediaType: mediaType === "image/svg+xml" ? mediaType : "image/png", bytes: given }),
    );
    if (fails) throw new OperationError("broken", "It broke.");
    return taken[0];
  };
  const one = await run("return notes.all()");
  expect(one.content).toEqual([
    { type: "text", text: '{"image":1,"mediaType":"image/png","bytes":70000}' },
    { type: "text", text: "Image 1:" },
    { type: "image", mimeType: "image/png", data: Buffer.from(bytes).toString("base64") },
  ]);
  const code = (input: object) => `return notes.all(${JSON.stringify(input)}).catch((e) => e.code)`;
  expect((await run(code({ size: imageLimits.bytes + 1 }))).text).toBe("too_large");
  expect((await run(code({ mediaType: "image/svg+xml" }))).text).toBe("invalid_image");
  expect((await run(code({ size: 0 }))).text).toBe("invalid_image");
  const full = await run(
    `await notes.all({count: 10, fails: true}).catch(() => {});
     await notes.all({count: 10});
     const over = await notes.all({count: 7}).catch((e) => e.code);
     await notes.all({count: 6});
     return over`,
  );
  expect(full.text).toBe("too_large");
  expect(full.content.filter(({ type }) => type === "image")).toHaveLength(imageLimits.count);
});

test("[D11] display data goes to people beside the result, progress and prints are seen as they come", async () => {
  const source = notes();
  const { run } = stage(source);
  source.answer = async (_, { display, progress }) => {
    display({ chart: [1, 2] });
    progress("half of it");
    return 1;
  };
  const shown: string[] = [];
  const { content, data } = await run("console.log('begun'); return notes.all()", {
    output: (text) => shown.push(text),
  });
  expect(data).toEqual({
    calls: 1,
    displayed: [{ operation: "notes.all", data: { chart: [1, 2] } }],
  });
  expect(shown).toEqual(["begun\n", "begun\nnotes.all: half of it\n"]);
  expect(JSON.stringify(content)).not.toContain("chart");
});

test("[D12] the model reads what was printed and returned, or why it failed, what was done and what to do next", async () => {
  const source = notes();
  const { run } = stage(source);
  expect((await run("console.log('one'); return {a: 1}")).text).toBe(
    'Printed:\none\n\nReturned:\n{"a":1}',
  );
  expect((await run("return 'as it is'")).text).toBe("as it is");
  expect((await run("1")).text).toContain("returned nothing");
  const failed = await run("await notes.add(); throw new Error('no')");
  expect(failed).toMatchObject({ isError: true });
  expect(failed.text).toMatch(/^The program failed \(error\): Error: no\nIt made 1 call before/);
  const long = await run("console.log('a'.repeat(200000)); return 1");
  expect(long.text.length).toBeLessThan(33_000);
  expect(long.text).toContain("characters left out");
});

test("[D18] a connector's own error is told to the host only, and no secret is in what code is told", async () => {
  const source = notes();
  const reported: unknown[] = [];
  const { run } = stage(source, (error) => reported.push(error));
  const bug = new TypeError("token canary-123456 is not a function");
  source.answer = async () => Promise.reject(bug);
  expect((await run("return notes.add()")).text).not.toContain("canary");
  expect(reported).toEqual([bug]);
  source.answer = async () => {
    throw new OperationError("http_401", "Bearer canary-123456 was refused.");
  };
  const clean = (text: string) => text.replaceAll("canary-123456", "[redacted]");
  const { text } = await run("return notes.add().catch((e) => e.message)", { clean });
  expect(text).toBe("Bearer [redacted] was refused.");
});
