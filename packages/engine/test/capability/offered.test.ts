// How a model is offered what is attached: as tools, or through the door; and what grants say of any tool.

import type { JsonObject } from "@lichen/wire";
import { afterEach, expect, test } from "vitest";
import { createQuickJsExecutor } from "../../src/execute/host/quickjs-executor.ts";
import { capabilityTools } from "../../src/index.ts";
import { tool, untilAsked } from "../model/rig.ts";
import { Attached, namespace, type OfferedRig, operation, startOffered } from "./attached.ts";

const open: OfferedRig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.closeAll();
});

async function start(...given: Parameters<typeof startOffered>): Promise<OfferedRig> {
  const rig = await startOffered(...given);
  open.push(rig);
  return rig;
}

const call = (name: string, input: JsonObject = {}) => ({ parts: [{ call: { name, input } }] });

test("[D14] few operations are tools of their own, and many stand behind execute", () => {
  const executor = createQuickJsExecutor();
  const long = "x".repeat(64);
  const source = new Attached(
    namespace("a", [operation("b_c"), operation("d$e", { label: "read" })]),
    namespace("a_b", [operation("c"), operation(long), operation(`${long.slice(1)}y`)]),
  );
  const few = capabilityTools({ source, executor, threshold: 5, taken: ["a_b_c"] });
  expect(few).toMatchObject({ offered: "direct", operations: 5 });
  const names = few.tools.map(({ name }) => name);
  expect(names.slice(0, 3)).toEqual(["a_b_c_2", "a_d_e", "a_b_c_3"]);
  expect(new Set(names).size).toBe(5);
  for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(few.tools[1]).toMatchObject({ label: "read", grant: "a" });
  const many = capabilityTools({ source, executor, threshold: 4 });
  expect(many).toMatchObject({ offered: "execute", operations: 5 });
  expect(many.tools.map(({ name }) => name)).toEqual(["execute"]);
  expect(capabilityTools({ source: new Attached(), executor })).toMatchObject({
    operations: 0,
    tools: [],
  });
});

test("[D14] the session says how its capabilities are offered, once for each change", async () => {
  const source = new Attached(namespace("notes", [operation("add")]));
  const rig = await start(source, { threshold: 1, script: ["one", "two", "three"] });
  await rig.prompt("1");
  await rig.reopen();
  await rig.prompt("2");
  source.current = {
    ...source.current,
    namespaces: [namespace("notes", [operation("add"), operation("all")])],
  };
  await rig.prompt("3");
  expect(await rig.data("session.changed")).toEqual([
    { capabilities: { offered: "direct", operations: 1 } },
    { capabilities: { offered: "execute", operations: 2 } },
  ]);
  expect(await rig.session.info()).toMatchObject({
    capabilities: { offered: "execute", operations: 2 },
  });
});

test("[D14] [D17] a direct tool runs its operation, asks first where it must, and says how it failed", async () => {
  const source = new Attached(
    namespace("notes", [operation("add"), operation("erase", { confirm: true })]),
  );
  const rig = await start(source, {
    threshold: 24,
    script: [call("notes_add", { n: 1 }), call("notes_erase", { n: 2 }), call("notes_add"), "done"],
  });
  const command = await rig.send({ type: "prompt", text: "go" });
  const { approvalId, input } = await untilAsked(rig);
  expect(input).toEqual({ n: 2 });
  source.answer = () => {
    source.detach("notes");
    return { erased: 1 };
  };
  await rig.send({ type: "answer", approvalId, allow: true });
  await rig.settled(command);
  const results = rig.provider.requests.map((request) => request.results.at(-1)?.text);
  expect(results.slice(1)).toEqual([
    "did add",
    '{"erased":1}',
    "notes.add failed (detached): notes is not attached any more, so notes.add did not run. Go on without it.",
  ]);
  expect(source.made.map(({ input: given }) => given)).toEqual([{ n: 1 }, { n: 2 }]);
});

test("[D15] a grant decides about a tool with a key when its call begins: what it refuses is recorded and runs nothing", async () => {
  const ran: string[] = [];
  const work = (name: string) => tool({ name, grant: "files", execute: () => ran.push(name) });
  const rig = await start(new Attached(), {
    threshold: 24,
    tools: [
      { ...work("see"), label: "read" },
      work("change"),
      { ...work("ask"), confirm: true },
      tool({ name: "free", execute: () => ran.push("free") }),
    ],
    script: [call("see"), call("change"), call("ask"), call("free"), call("ask"), "done"],
  });
  await rig.session.send({ type: "line", requestId: "l", text: "hello" });
  await rig.session.deliverGrants({ version: 1, grants: { files: "read" } });
  const command = await rig.send({ type: "prompt", text: "go" });
  expect(await rig.settled(command)).toMatchObject({ terminal: "completed", toolCalls: 5 });
  expect(ran).toEqual(["see", "free"]);
  const outcomes = await rig.data("message.tool");
  expect(outcomes.map(({ isError }) => isError)).toEqual([false, true, true, false, true]);
  expect(outcomes[1]?.content[0]).toMatchObject({
    text: expect.stringMatching(/^Grant files: this session may only read/) as string,
  });
  expect(await rig.data("approval.asked")).toEqual([]);
});

test("[D15] a grant that goes while a person is asked keeps the call from running", async () => {
  const ran: string[] = [];
  const rig = await start(new Attached(), {
    threshold: 24,
    tools: [
      tool({ name: "change", grant: "files", confirm: true, execute: () => ran.push("ran") }),
    ],
    script: [call("change"), "done"],
  });
  const command = await rig.send({ type: "prompt", text: "go" });
  const { approvalId } = await untilAsked(rig);
  await rig.session.deliverGrants({ version: 1, grants: { files: "none" } });
  await rig.send({ type: "answer", approvalId, allow: true });
  await rig.settled(command);
  expect(ran).toEqual([]);
  expect(rig.provider.requests[1]?.results[0]?.text).toContain("Grant files");
});
