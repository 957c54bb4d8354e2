import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home } from "./process.ts";

const lookTool = `
import { defineTool, z } from "lichen";
console.log("loaded");
export default defineTool({
  description: "Looks around.\\nTakes its time.",
  label: "read",
  input: z.object({ what: z.string().default("all"), depth: z.number().int().optional() }),
  execute(input, { cwd, session, tools, output }) {
    console.log("called");
    output("half");
    output("half done");
    const secret = process.env["LOOK_KEY"];
    return { content: [{ type: "text", text: JSON.stringify({ input, cwd, secret, tools: tools.active() }) }],
      data: { agent: session.agent } };
  },
});
`;
const failTool = `
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Fails.",
  input: z.object({}),
  execute() { throw new Error("the kettle is empty"); },
});
`;
const wipeTool = `
import { writeFileSync } from "node:fs";
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Wipes.",
  input: z.object({ all: z.boolean().default(false) }),
  confirm: ({ all }) => (all ? "This wipes everything." : undefined),
  execute({ all }) { writeFileSync("wiped", String(all)); return "wiped"; },
});
`;
/** Says that it waits; then ends at its signal, or never. */
const waitTool = `
import { writeFileSync } from "node:fs";
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Waits.",
  input: z.object({ deaf: z.boolean().default(false) }),
  execute: ({ deaf }, { cwd, signal, output }) => new Promise((resolve) => {
    signal.addEventListener("abort", () => {
      writeFileSync(cwd + "/told", "");
      if (!deaf) resolve("late");
    });
    output("waiting");
  }),
});
`;

test("[K40] tool runs one tool as a run does: its folder, variables, defaults and wall, and no model", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "lichen.config.ts": `import { defineConfig } from "lichen";\nexport default defineConfig({ codingTools: ["read"] });\n`,
    "tools/look.ts": lookTool,
    ".secrets/.env": "LOOK_KEY=made-up\n",
  });
  const { code, stdout, stderr } = await home.run(["tool", "look", dir]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({
    input: { what: "all" },
    cwd: dir,
    secret: "made-up",
    tools: ["read", "look"],
  });
  expect(stderr).toContain("half done\n");
  expect(stderr).toContain("loaded");
  expect(stderr).toContain("called");
  const given = await home.run(["tool", "look", '{"what":"sky"}', "--json"], { cwd: dir });
  expect(given.stdout).toMatch(/^\{.*\}\n$/);
  const { content, data, isError } = JSON.parse(given.stdout) as {
    content: { text: string }[];
    data: unknown;
    isError: boolean;
  };
  expect(JSON.parse(content[0]?.text ?? "")).toMatchObject({ input: { what: "sky" } });
  expect({ data, isError }).toEqual({
    data: { agent: expect.stringMatching(/^agent-/) },
    isError: false,
  });
  const piped = await home.run(["tool", "look", "-", dir], { input: '{"what":"sea"}\n' });
  expect(JSON.parse(piped.stdout)).toMatchObject({ input: { what: "sea" } });
  const walled = await home.run(["tool", "read", '{"path":".secrets/.env"}', dir]);
  expect(walled).toMatchObject({ code: 1, stdout: "" });
  expect(walled.stderr).not.toContain("made-up");
  expect(existsSync(home.path(".local/share/lichen", String(JSON.parse(stdout)), "host.db"))).toBe(
    false,
  );
});

test("[K40] what a tool answers by hand is what the model reads of it in a run; the host that runs is left alone", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": noteTool });
  const call = (text: unknown) => ({ parts: [{ call: { name: "note", input: { text } } }] });
  await Provider.start(home, dir, { steps: [call("hello"), call(5), call({}), "Done."] });
  const host = await StartedHost.start(home, dir);
  await home.run(["invoke", "note", dir, "--session", "s"]);
  const before = await host.entries("s");
  const told = before.filter(({ kind }) => kind === "message.tool").map(({ data }) => data);
  const byHand = async (input: unknown) =>
    home.run(["tool", "note", JSON.stringify(input), dir, "--json"]);
  for (const [index, text] of ["hello", 5].entries()) {
    const { stdout } = await byHand({ text });
    const { content, isError } = told[index] ?? {};
    expect(JSON.parse(stdout)).toEqual({ content, isError });
  }
  const wrong = await byHand({ text: {} });
  const reason = JSON.stringify(told[2]?.["content"]);
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain(/- (text: .+?)\\n/.exec(reason)?.[1]);
  const notes = await readFile(home.path("agent", "notes.txt"), "utf8");
  expect(notes).toBe("hello\n5\nhello\n5\n");
  expect(await host.entries("s")).toEqual(before);
  const { sessions } = (await (
    await host.ask(`/agents/${await host.agent()}/sessions`)
  ).json()) as {
    sessions: unknown[];
  };
  expect(sessions).toHaveLength(1);
  expect((await home.run(["info", dir, "--json"])).stdout).toContain(host.url);
});

test("[K41] a tool that is not there is 1 with the nearest name and the list; a broken one's fault is told", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "tools/note.ts": noteTool,
    "tools/fail.ts": failTool,
    "tools/broken.ts": "export default {};\n",
  });
  const { code, stdout, stderr } = await home.run(["tool", "noet", dir]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/no tool "noet"; did you mean note\? Its tools: fail, note\./);
  const broken = await home.run(["tool", "broken", dir]);
  expect(broken.code).toBe(1);
  expect(broken.stderr).toMatch(/tools\/broken\.ts: has no tool/);
});

test("[K41] input that is no JSON, or does not fit, is 2 and names the field; a tool that fails is 1 with its message", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/look.ts": lookTool, "tools/fail.ts": failTool });
  const inputs: [string, RegExp][] = [
    ["{what", /no JSON: /],
    ['"what"', /must be a JSON object/],
    ["nowhere", /"nowhere" is neither JSON.* nor a folder/],
    ['{"depth":"two"}', /look: depth: .*`.*tool look --schema`/],
    ["-", /no JSON: /],
  ];
  for (const [input, reason] of inputs) {
    const settings = { cwd: dir, input: "{what" };
    const { code, stdout, stderr } = await home.run(["tool", "look", input], settings);
    expect({ input, code, stdout }).toEqual({ input, code: 2, stdout: "" });
    expect(stderr).toMatch(reason);
  }
  const failed = await home.run(["tool", "fail", dir]);
  expect(failed).toMatchObject({ code: 1, stdout: "" });
  expect(failed.stderr).toContain("lichen: fail failed: the kettle is empty\n");
  const json = await home.run(["tool", "fail", dir, "--json"]);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({ isError: true });
});

test("[K41] a tool that asks a person first does not run where nobody can be asked, except with --yes", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/wipe.ts": wipeTool });
  const settings = { cwd: dir };
  const refused = await home.run(["tool", "wipe", '{"all":true}'], settings);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toMatch(/This wipes everything\.\n.*--yes/);
  expect(existsSync(home.path("agent", "wiped"))).toBe(false);
  const free = await home.run(["tool", "wipe"], settings);
  expect(free).toMatchObject({ code: 0, stdout: "wiped\n" });
  const allowed = await home.run(["tool", "wipe", '{"all":true}', "--yes"], settings);
  expect(allowed).toMatchObject({ code: 0, stdout: "wiped\n" });
  expect(await readFile(home.path("agent", "wiped"), "utf8")).toBe("true");
});

test("[K42] a first signal aborts the tool's and waits for its end; a second one ends a tool that ignores it", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/wait.ts": waitTool });
  const waits = home.start(["tool", "wait", dir]);
  await waits.until(({ stderr }) => /waiting/.exec(stderr)?.[0]);
  expect(await waits.stop("SIGINT")).toBe(130);
  expect(waits.stdout).toBe("");
  expect(existsSync(home.path("agent", "told"))).toBe(true);
  const deaf = home.start(["tool", "wait", '{"deaf":true}', dir]);
  await deaf.until(({ stderr }) => /waiting/.exec(stderr)?.[0]);
  deaf.child.kill("SIGINT");
  await deaf.until(({ stderr }) => /once more to quit at once/.exec(stderr)?.[0]);
  expect(await deaf.stop("SIGINT")).toBe(130);
  const asked = home.start(["tool", "wait", dir]);
  await asked.until(({ stderr }) => /waiting/.exec(stderr)?.[0]);
  expect(await asked.stop("SIGTERM")).toBe(143);
});

/** Tells its own process and one that it starts, then never gives way. */
const spinTool = `
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Spins.",
  input: z.object({ isBusy: z.boolean().default(true) }),
  execute({ isBusy }, { cwd }) {
    const child = spawn("sleep", ["600"], { stdio: "ignore" });
    writeFileSync(cwd + "/pids", process.pid + " " + child.pid);
    process.stderr.write("spinning\\n");
    while (isBusy);
    return new Promise(() => {});
  },
});
`;
/** Says something on stdout, in two ways, and ends its process where it is told to. */
const loudTool = `
import { defineTool, z } from "lichen";
process.stdout.write("at import\\n");
export default defineTool({
  description: "Is loud.",
  input: z.object({ leaves: z.boolean().default(false) }),
  execute({ leaves }) {
    process.stdout.write("by itself\\n");
    if (leaves) process.exit(0);
    return "said";
  },
});
`;

async function gone(pid: number): Promise<void> {
  const isThere = () => {
    try {
      // A process that nobody waits for stays as a name alone.
      return !/^\S+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
    } catch {
      return false;
    }
  };
  while (isThere()) await new Promise((wake) => setTimeout(wake, 5));
}

test("[K42] a second signal kills a tool that never gives way, and what it has started; so does the end of lichen itself", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/spin.ts": spinTool });
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    const spins = home.start(["tool", "spin", dir]);
    await spins.until(({ stderr }) => /spinning/.exec(stderr)?.[0]);
    spins.child.kill(signal);
    await spins.until(({ stderr }) => /once more to quit at once/.exec(stderr)?.[0]);
    expect(await spins.stop(signal)).toBe(code);
    for (const pid of (await readFile(home.path("agent", "pids"), "utf8")).split(" "))
      await gone(Number(pid));
  }
  for (const isBusy of [false, true]) {
    const left = home.start(["tool", "spin", JSON.stringify({ isBusy }), dir]);
    await left.until(({ stderr }) => /spinning/.exec(stderr)?.[0]);
    left.child.kill("SIGKILL");
    for (const pid of (await readFile(home.path("agent", "pids"), "utf8")).split(" "))
      await gone(Number(pid));
  }
});

test("[K42] a tool is suspended and goes on with lichen", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/spin.ts": spinTool });
  const spins = home.start(["tool", "spin", dir]);
  await spins.until(({ stderr }) => /spinning/.exec(stderr)?.[0]);
  const pids = (await readFile(home.path("agent", "pids"), "utf8")).split(" ").map(Number);
  const areSuspended = () =>
    [spins.child.pid, ...pids].map((pid) =>
      /\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8")),
    );
  spins.child.kill("SIGTSTP");
  while (areSuspended().includes(false)) await new Promise((wake) => setTimeout(wake, 5));
  spins.child.kill("SIGCONT");
  while (areSuspended().includes(true)) await new Promise((wake) => setTimeout(wake, 5));
  spins.child.kill("SIGINT");
  await spins.until(({ stderr }) => /once more to quit at once/.exec(stderr)?.[0]);
  expect(await spins.stop("SIGINT")).toBe(130);
});

test("[K42] what the folder's code writes to stdout is no answer, and where it ends its process that is said", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/loud.ts": loudTool });
  const { code, stdout, stderr } = await home.run(["tool", "loud", dir, "--json"]);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ content: [{ type: "text", text: "said" }], isError: false });
  expect(stderr).toContain("by itself");
  const list = await home.run(["tool", dir, "--json"]);
  expect(JSON.parse(list.stdout)).toMatchObject([{ name: "loud" }]);
  const left = await home.run(["tool", "loud", '{"leaves":true}', dir, "--json"]);
  expect(left).toMatchObject({ code: 1, stdout: "" });
  expect(left.stderr).toContain("ended the process in which it runs (exit code 0)");
});

test("[K41] input that is nested deeper than the door allows is refused with 2", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": noteTool });
  for (const levels of [101, 3_000, 100_000]) {
    const input = `{"text":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    const { code, stdout, stderr } = await home.run(["tool", "note", "-", dir], { input });
    expect({ levels, code, stdout }).toEqual({ levels, code: 2, stdout: "" });
    expect(stderr).toContain("nested deeper than 100 levels");
  }
});

test("[K43] tool without a name lists the tools with their labels; --schema prints what one takes", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "tools/look.ts": lookTool,
    "tools/wipe.ts": wipeTool,
    "tools/sure.ts": noteTool.replace("description:", "confirm: true,\n  description:"),
  });
  const rows = [
    "look  read                Looks around. Takes its time.",
    "sure  write, confirm      Writes a note down.",
    "wipe  write, may confirm  Wipes.",
  ];
  const here = await home.run(["tool"], { cwd: dir });
  expect(here).toMatchObject({ code: 0, stdout: `${rows.join("\n")}\n` });
  expect((await home.run(["tool", "agent"])).stdout).toBe(here.stdout);
  expect((await home.run(["tool", dir])).stdout).toBe(here.stdout);
  const json = await home.run(["tool", dir, "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject([
    { name: "look", label: "read", confirm: false, deferred: false },
    { name: "sure", label: "write", confirm: true },
    { name: "wipe", label: "write", confirm: "sometimes", description: "Wipes." },
  ]);
  const schema = await home.run(["tool", "look", dir, "--schema"]);
  expect(schema.code).toBe(0);
  expect(JSON.parse(schema.stdout)).toMatchObject({
    type: "object",
    properties: { what: { type: "string", default: "all" }, depth: { type: "integer" } },
  });
  const nameless = await home.run(["tool", "--schema"], { cwd: dir });
  expect(nameless).toMatchObject({ code: 2, stdout: "" });
});
