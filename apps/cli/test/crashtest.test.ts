import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readWitness } from "../src/crashtest/witness.ts";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home, repository } from "./process.ts";

interface Report {
  writes: number;
  effects: number;
  lost: number;
  repeated: number;
  unfinished: number;
  unknown: number;
  kept?: string;
  points: {
    point: string;
    after: string;
    reached: boolean;
    terminal?: string;
    lost: string[];
    repeated: string[];
    unfinished: string[];
    unknown: string[];
  }[];
}

const clean = { lost: 0, repeated: 0, unfinished: 0 };
const writesNote = [{ parts: [{ call: { name: "note", input: { text: "hi" } } }] }, "Written."];
const replaySafe = noteTool.replace("description:", "replaySafe: true,\n  description:");

async function crashtest(home: Home, args: readonly string[]) {
  await mkdir(home.path("tmp"), { recursive: true });
  const { code, stdout, stderr } = await home.run(["crashtest", ...args, "--json"], {
    env: { TMPDIR: home.path("tmp") },
  });
  const report = stdout === "" ? undefined : (JSON.parse(stdout) as Report);
  return { code, stderr, report };
}

test(
  "[Y1] the notes example loses, repeats and leaves open nothing at any crash point",
  { timeout: 120_000 },
  async () => {
    await using home = await Home.make();
    const { code, stderr, report } = await crashtest(home, [
      join(repository, "examples/notes"),
      "write a note that says hello",
    ]);
    expect({ code, stderr, report }).toMatchObject({ code: 0, stderr: "", report: clean });
    const { points, writes, effects } = report!;
    expect(points).toHaveLength(writes + effects);
    // Bookkeeping comes by the clock, and a life may end without it.
    const unreached = points.filter(({ reached, after }) => !reached && after !== "bookkeeping");
    expect(unreached).toEqual([]);
    expect(points.map(({ terminal }) => terminal)).toEqual(points.map(() => "completed"));
    expect(points.map(({ after }) => after).filter((after) => after !== "bookkeeping")).toEqual([
      "command.queued, run.started, message.user",
      "message.assistant",
      "call.started",
      "message.tool",
      "message.assistant, run.settled",
      "the effect of note_write",
    ]);
    expect(await readdir(home.path("tmp"))).toEqual([]);
    expect(existsSync(join(repository, "examples/notes/notes/hello.md"))).toBe(false);
  },
);

test("[Y2] a write that is declared replay-safe and is not is reported as repeated, with 1", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": replaySafe });
  await Provider.start(home, dir, { steps: writesNote });
  const { code, report } = await crashtest(home, [dir, "note hi", "--points", "e1"]);
  expect({ code, report }).toMatchObject({
    code: 1,
    report: { ...clean, repeated: 1, unknown: 0, points: [{ point: "e1", reached: true }] },
  });
  expect(report!.points[0]!.repeated[0]).toMatch(
    /^note is declared replay-safe, and running again/,
  );
});

test("[Y3] a write that was interrupted is listed as unknown and is no error", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": noteTool });
  const provider = await Provider.start(home, dir, { steps: writesNote });
  const { code, report } = await crashtest(home, [dir, "note hi", "--points", "e1"]);
  expect({ code, report }).toMatchObject({ code: 0, report: { ...clean, unknown: 1 } });
  expect(report!.points[0]).toMatchObject({
    terminal: "completed",
    unknown: [expect.stringMatching(/^note was interrupted/)],
  });
  expect(await provider.requests()).toBe(2);
});

test("[Y5] a command that nothing settles after the crash is unfinished, with 1", async () => {
  await using home = await Home.make();
  const dies = noteTool
    .replace("description:", 'label: "read",\n  description:')
    .replace(
      "appendFileSync(",
      "if (existsSync(join(cwd, 'notes.txt'))) process.exit(1);\nappendFileSync(",
    )
    .replace("{ appendFileSync }", "{ appendFileSync, existsSync }");
  const dir = await writeAgent(home, { "tools/note.ts": dies });
  await Provider.start(home, dir, { steps: writesNote });
  const { code, report } = await crashtest(home, [dir, "note hi", "--points", "e1"]);
  expect({ code, report }).toMatchObject({ code: 1, report: { ...clean, unfinished: 1 } });
  expect(report!.points[0]!.unfinished[0]).toMatch(/^the host did not go on: the process ended/);
});

test("[Y6] approvals are allowed in every life", { timeout: 60_000 }, async () => {
  await using home = await Home.make();
  const asks = noteTool.replace("description:", "confirm: true,\n  description:");
  const dir = await writeAgent(home, { "tools/note.ts": asks });
  const provider = await Provider.start(home, dir, { steps: writesNote });
  const { code, report } = await crashtest(home, [dir, "note hi", "--every", "3"]);
  expect({ code, report }).toMatchObject({ code: 0, report: clean });
  const { effects, points, writes } = report!;
  expect(effects).toBe(1);
  expect(points).toHaveLength(Math.ceil((writes + effects) / 3));
  expect(await provider.requests()).toBe(2);
});

const sortTool = `
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Asks where to.",
  label: "read",
  input: z.object({}),
  async execute(_input, { ask }) {
    const first = await ask([{ question: "Which?", options: [{ label: "This" }, { label: "That" }] }]);
    const second = await ask([{ question: "Sure?" }]);
    return JSON.stringify([first, second].map((asked) => asked.answers));
  },
});
`;

test(
  "[Y6] a tool's questions are answered in every life, at any crash point, and asked once",
  { timeout: 120_000 },
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home, { "tools/sort.ts": sortTool });
    const steps = [{ parts: [{ call: { name: "sort", input: {} } }] }, "Sorted."];
    await Provider.start(home, dir, { steps });
    const { code, stderr, report } = await crashtest(home, [
      dir,
      "sort it",
      "--every",
      "2",
      "--keep",
    ]);
    expect({ code, stderr, report }).toMatchObject({ code: 0, report: clean });
    const { kept, points } = report!;
    expect(points.map(({ terminal }) => terminal)).toEqual(points.map(() => "completed"));
    for (const { point } of points) {
      const seen = readWitness(join(kept!, point, "witness.jsonl"));
      const entries = seen.flatMap((it) => (it.saw === "entry" ? [it] : []));
      const asked = entries.filter(({ kind }) => kind === "approval.asked");
      expect(new Set(asked.map(({ seq }) => seq)).size).toBe(2);
      const [outcome] = entries.filter(({ kind }) => kind === "message.tool");
      expect(JSON.parse(outcome!.text)).toMatchObject({
        data: { content: [{ text: '[{"Which?":"This"},{"Sure?":"yes"}]' }] },
      });
    }
  },
);

test("[Y4] both lives of a point tell the witness what they were answered and what was delivered to them", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": noteTool });
  await Provider.start(home, dir, { steps: writesNote });
  const { report } = await crashtest(home, [dir, "note hi", "--points", "e1", "--keep"]);
  const seen = readWitness(join(report!.kept!, "e1/witness.jsonl"));
  const told = seen.map((it) => (it.saw === "entry" ? it.kind : it.saw));
  const death = told.indexOf("return") + 1;
  expect(told.slice(0, death).toSorted()).toEqual(
    [
      ...["receipt", "receipt", "command.queued", "run.started", "message.user"],
      ...["message.assistant", "call.started", "effect", "return"],
    ].toSorted(),
  );
  expect(told.slice(death)).toEqual(
    expect.arrayContaining(["receipt", "command.queued", "message.tool", "run.settled"]),
  );
});

test("[Y7] the provider is asked in the first run only, and [Y8] the originals stay as they were", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": noteTool });
  const provider = await Provider.start(home, dir, { steps: ["Before.", ...writesNote] });
  expect(await home.run(["invoke", "first", dir, "--session", "s"])).toMatchObject({ code: 0 });
  const { agent } = JSON.parse((await home.run(["info", dir, "--json"])).stdout) as {
    agent: string;
  };
  const state = home.path(".local/share/lichen", agent);
  const contents = async () => {
    const names = (await readdir(state)).toSorted();
    return Promise.all(names.map(async (name) => [name, await readFile(join(state, name))]));
  };
  const before = await contents();
  const { code, report } = await crashtest(home, [dir, "note hi", "--points", "w3,e1", "--keep"]);
  expect({ code, report }).toMatchObject({ code: 0, report: clean });
  expect(await provider.requests()).toBe(3);
  expect(await contents()).toEqual(before);
  expect(existsSync(join(dir, "notes.txt"))).toBe(false);
  const kept = report!.kept!;
  expect((await stat(kept)).mode & 0o777).toBe(0o700);
  expect((await readdir(kept)).toSorted()).toEqual(["counted", "e1", "first", "original", "w3"]);
  expect(await readFile(join(kept, "e1/folder/agent/notes.txt"), "utf8")).toBe("hi\n");
});

test("[Y8] what else runs is left alone: the host that serves the agent, and work that its state holds", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": noteTool });
  const provider = await Provider.start(home, dir, {
    steps: [{ parts: [{ gate: "open" }, { text: "Late." }] }, ...writesNote],
  });
  const host = await StartedHost.start(home, dir);
  const waiting = home.start(["invoke", "wait", dir, "--session", "s"]);
  await provider.atGate("open");
  const { code, report } = await crashtest(home, [dir, "note hi", "--points", "e1"]);
  expect({ code, report }).toMatchObject({ code: 0, report: { ...clean, unknown: 1 } });
  // The copies hold that run as well, and none of them asked for its answer again.
  expect(await provider.requests()).toBe(3);
  await provider.open("open");
  expect(await waiting.ended).toMatchObject({ code: 0 });
  expect(waiting.stdout).toBe("Late.\n");
  expect(await host.running.stop()).toBe(0);
});

test("[Y8] Ctrl-C ends it with 130 and leaves neither a copy nor a process", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, { steps: [{ parts: [{ gate: "never" }] }] });
  await mkdir(home.path("tmp"));
  const running = home.start(["crashtest", dir, "wait"], { env: { TMPDIR: home.path("tmp") } });
  await provider.atGate("never");
  expect(await running.stop("SIGINT")).toBe(130);
  expect(await readdir(home.path("tmp"))).toEqual([]);
});

test("[Y9] what cannot be understood ends with 2, and a run that fails by itself is refused with 1", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Hi."], then: { refuse: "unauthenticated" } });
  for (const args of [[], [dir, "hi", "--points", "x1"], [dir, "hi", "--every", "0"], [dir, ""]])
    expect(await crashtest(home, args)).toMatchObject({ code: 2, report: undefined });
  const unknown = await crashtest(home, [dir, "hi", "--points", "w99"]);
  expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining("only w1, w2") });
  const failed = await crashtest(home, [dir, "hi"]);
  expect(failed).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/Nothing was tested: without any crash the run ended failed/),
  });
  expect(await readdir(home.path("tmp"))).toEqual([]);
});

test("[Y8] copies that would lie in the folder that they are made of are refused in a sentence", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tmp/kept": "" });
  const { code, stdout, stderr } = await home.run(["crashtest", dir, "go"], {
    env: { TMPDIR: join(dir, "tmp") },
  });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("Set TMPDIR to a place outside");
  expect(await readdir(join(dir, "tmp"))).toEqual(["kept"]);
});
