import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Rig } from "./rig.ts";
import { scriptedHarness } from "./scripted.ts";

test("[MA12] a request that is refused leaves no directory, no session and no name that is taken", async () => {
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness(),
      scriptedHarness({
        name: "pi",
        title: "pi",
        find: () => ({ missing: "pi is not here: install it." }),
      }),
      scriptedHarness({ name: "acp", title: "ACP", takesCommand: true }),
    ],
  });
  await rig.make("taken");
  writeFileSync(join(rig.home, "file"), "");
  const dir = "~/not/made";
  const refused: [object, RegExp][] = [
    [{ name: "taken", dir }, /already/],
    [{ name: ".hidden", dir }, /name:/],
    [{ name: "a/b", dir }, /name:/],
    [{ name: "x", dir, harness: "codex" }, /no codex on this machine: choose claude, pi, acp/],
    [{ name: "x", dir, harness: "pi" }, /install it/],
    [{ name: "x", dir, harness: "acp" }, /command:/],
    [{ name: "x", dir, harness: "acp", command: [] }, /command:/],
    [{ name: "x", dir, command: ["ls"] }, /program of its own/],
    [{ name: "x", dir: "~/file" }, /is a file/],
    [{ name: "x", dir: "~/file/below" }, /is a file/],
    [{ name: "x", dir: "" }, /dir:/],
    [{ name: "x", dir: join(rig.root, "state", "inside") }, /state/],
    [{ name: "x", dir, cage: {} }, /cage/],
    [{ name: "x", dir, colour: "red" }, /unknown field "colour"/],
    [{ name: "x" }, /dir/],
    [{ dir }, /name/],
  ];
  for (const [json, words] of refused) {
    const { status, body } = await rig.tell("/v1/sessions", { json });
    expect([status, json]).toEqual([400, json]);
    expect((body as { error: string }).error).toMatch(words);
  }
  expect(existsSync(join(rig.home, "not"))).toBe(false);
  expect((await rig.list()).map(({ name }) => name)).toEqual(["taken"]);
  expect(readdirSync(join(rig.root, "state"))).not.toContain("inside");
  const made = await rig.make("x", { dir: "~/not/made", cage: null });
  expect(made.dir).toBe(join(rig.home, "not/made"));
  expect(existsSync(made.dir)).toBe(true);
});

test("[MA12] a place that is hidden from agents is refused, by a link and below it too, and nothing is made there", async () => {
  const root = mkdtempSync(join(tmpdir(), "lichen-machine-"));
  const hidden = join(root, "home", "hidden");
  mkdirSync(hidden, { recursive: true });
  symlinkSync(hidden, join(root, "home", "link"));
  const behind = (argv: readonly string[]) => ({ argv, release: () => {} });
  await using rig = await Rig.open({
    root,
    wall: () => Object.assign(behind, { hidden: () => [hidden] }),
  });
  for (const dir of ["~/hidden", "~/hidden/below/it", "~/link", "~/link/below"]) {
    const { status, body } = await rig.tell("/v1/sessions", { json: { name: "x", dir } });
    expect([status, dir]).toEqual([400, dir]);
    expect((body as { error: string }).error).toMatch(/^dir: .* choose another place\.$/);
  }
  expect(readdirSync(hidden)).toEqual([]);
  await rig.make("x");
});

test("[MA12] a directory that two requests make at once stays for the one that is accepted, and goes where both are refused", async () => {
  const gate = Promise.withResolvers<void>();
  const harness = scriptedHarness({
    told: (what) => what === "settingsChanged" && gate.resolve(),
    deaf: () => true,
  });
  await using rig = await Rig.open({ harnesses: [harness] });
  const ask = (name: string, more = {}) =>
    rig.tell("/v1/sessions", { json: { name, dir: "~/new/dir", ...more } });
  const refused = ask("a", { auto_approve: true });
  await gate.promise;
  const [first, second, third] = await Promise.all([refused, ask("b"), ask("c")]);
  expect([first.status, second.status, third.status]).toEqual([500, 201, 201]);
  expect(existsSync(join(rig.home, "new/dir"))).toBe(true);
  for (const name of ["d", "e"])
    expect((await ask(name, { dir: "~/other/dir", auto_approve: true })).status).toBe(500);
  expect(existsSync(join(rig.home, "other"))).toBe(false);
});

test("[MA12] a directory that was there stays when its session is deleted, with what is in it", async () => {
  await using rig = await Rig.open();
  mkdirSync(join(rig.home, "work"));
  writeFileSync(join(rig.home, "work", "mine"), "");
  await rig.make("work");
  expect((await rig.tell("/v1/sessions/work", { method: "DELETE" })).status).toBe(204);
  expect(existsSync(join(rig.home, "work", "mine"))).toBe(true);
});

test("[MA13] of many that ask for one name at once, exactly one gets it", async () => {
  await using rig = await Rig.open();
  const asked = await Promise.all(
    Array.from({ length: 12 }, (_, at) =>
      rig.tell("/v1/sessions", { json: { name: "one", dir: `~/at-${at}` } }),
    ),
  );
  expect(asked.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
    201,
    ...Array(11).fill(400),
  ]);
  expect(readdirSync(rig.home)).toHaveLength(1);
  await rig.make("other");
  const renamed = await Promise.all(
    ["one", "other"].map((name) =>
      rig.tell(`/v1/sessions/${name}/rename`, { json: { name: "new" } }),
    ),
  );
  expect(renamed.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409]);
  expect((await rig.list()).map(({ name }) => name)).toContain("new");
  expect(await rig.list()).toHaveLength(2);
});

test("[MA13] a session that is renamed twice at once has one name, and one that is deleted meanwhile has none", async () => {
  await using rig = await Rig.open();
  const rename = async (name: string, to: string): Promise<number> =>
    (await rig.tell(`/v1/sessions/${name}/rename`, { json: { name: to } })).status;
  await rig.make("a");
  // Whoever comes when it is done finds it no more under the name that it had.
  const both = await Promise.all([rename("a", "b"), rename("a", "c")]);
  expect(both.filter((status) => status !== 200 && status !== 404)).toEqual([]);
  expect(both).toContain(200);
  expect(await rig.list()).toHaveLength(1);
  const { name } = (await rig.list())[0]!;
  const [renamed, deleted] = await Promise.all([
    rename(name, "d"),
    rig.tell(`/v1/sessions/${name}`, { method: "DELETE" }),
  ]);
  expect([200, 404, 409]).toContain(renamed);
  expect([204, 404]).toContain(deleted.status);
  if (deleted.status === 204) expect(await rig.list()).toEqual([]);
  for (const free of ["a", "b", "c"]) expect(await rig.make(free)).toMatchObject({ name: free });
  expect(rig.bugs).toEqual([]);
});

test("[MA31] what a session is made with is set, and logged as its settings are", async () => {
  await using rig = await Rig.open();
  const made = await rig.make("a", { auto_approve: true, keep_running: true });
  expect(made).toMatchObject({ auto_approve: true, keep_running: true, last_seq: 2 });
  await using reader = await rig.events("a");
  expect((await reader.take(2)).map(({ kind, data }) => [kind, data])).toEqual([
    ["setting", { auto_approve: true }],
    ["setting", { keep_running: true }],
  ]);
});

test("[MA32] the machine says which coding agents it runs, and of the others what is missing", async () => {
  await using rig = await Rig.open({
    harnesses: [
      scriptedHarness({ title: "Claude Code" }),
      scriptedHarness({ name: "pi", title: "pi", find: () => ({ missing: "Install pi." }) }),
      scriptedHarness({ name: "acp", title: "ACP", takesCommand: true }),
    ],
  });
  const { status, body } = await rig.tell("/v1/harnesses");
  expect(status).toBe(200);
  expect(body).toEqual({
    harnesses: [
      { name: "claude", title: "Claude Code", caps: { approve: true, takeover: true } },
      { name: "acp", title: "ACP", caps: { approve: true, takeover: true }, takes_command: true },
    ],
    missing: [{ name: "pi", title: "pi", missing: "Install pi." }],
    cage: expect.objectContaining({ available: false, images: [] }),
  });
});

test("[MA12] a session that continues a conversation begins in its directory, which is never made for it", async () => {
  await using rig = await Rig.open({
    adopt:
      ({ sessions }) =>
      ({ resume, dir = "~/elsewhere", ...wish }, by) =>
        sessions.create({ ...wish, dir, conversation: { id: resume, file: "/t.jsonl" } }, by),
  });
  const json = { name: "a", resume: "c-1" };
  const refused = await rig.tell("/v1/sessions", { json });
  expect(refused).toMatchObject({
    status: 400,
    body: { error: expect.stringContaining("not on this machine") },
  });
  expect(readdirSync(rig.home)).toEqual([]);
  mkdirSync(join(rig.home, "elsewhere"));
  expect((await rig.tell("/v1/sessions", { json })).status).toBe(201);
  expect(rig.machine.sessions.get("a").conversation).toEqual({ id: "c-1", file: "/t.jsonl" });
});
