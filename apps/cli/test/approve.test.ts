import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { bin, Home } from "./process.ts";

const asking = noteTool.replace("description:", "confirm: true,\n  description:");
const callsNote = {
  parts: [{ text: "I write." }, { call: { name: "note", input: { text: "hello" } } }],
};

/** An agent whose session `s` waits for a person; answers the folder and the approval's id. */
async function waiting(home: Home): Promise<{ dir: string; id: string }> {
  const dir = await writeAgent(home, { "tools/note.ts": asking });
  await Provider.start(home, dir, { steps: [callsNote, "Written.", "Next."] });
  const { code, stderr } = await home.run(["invoke", "note hello", dir, "--session", "s"]);
  expect(code).toBe(1);
  const id = /lichen approve (apr_\S+)/.exec(stderr)?.[1];
  expect(id).toBeDefined();
  return { dir, id: id ?? "" };
}

test("[K18] an invoke on a session that waits says for what and how to answer, sends nothing and ends", async () => {
  await using home = await Home.make();
  const { dir, id } = await waiting(home);
  const { code, stdout, stderr } = await home.run(["invoke", "next", dir, "--session", "s"]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/May the agent call note \{"text":"hello"\}\?/);
  expect(stderr).toContain(`lichen approve ${id} ${dir}`);
  const host = await StartedHost.start(home, dir);
  const served = await home.run(["invoke", "next", dir, "--session", "s"]);
  expect(served).toMatchObject({ code: 1, stdout: "" });
  expect(served.stderr).toContain(`lichen approve ${id} ${dir}`);
  const said = (await host.entries("s")).filter(({ kind }) => kind === "message.user");
  expect(said).toHaveLength(1);
});

test("[K24] approve without an id lists what waits, for people and for programs", async () => {
  await using home = await Home.make();
  const { dir, id } = await waiting(home);
  const text = await home.run(["approve", dir]);
  expect(text.code).toBe(0);
  expect(text.stdout).toContain(id);
  expect(text.stdout).toContain("session s");
  expect(text.stdout).toContain('May the agent call note {"text":"hello"}?');
  await StartedHost.start(home, dir);
  const json = await home.run(["approve", dir, "--json"]);
  expect(JSON.parse(json.stdout)).toMatchObject([
    { session: "s", approval: { approvalId: id, tool: "note", state: "pending" } },
  ]);
  const none = await home.run(["approve", dir, "--session", "other"]);
  expect(none).toMatchObject({ code: 0, stdout: "" });
  expect(none.stderr).toMatch(/nothing waits/i);
});

test("[K24] approve without a host opens the store, answers, and lets the run finish", async () => {
  await using home = await Home.make();
  const { dir, id } = await waiting(home);
  expect(await home.run(["approve", id, dir])).toMatchObject({ code: 0, stdout: "Written.\n" });
  expect(await readFile(home.path("agent", "notes.txt"), "utf8")).toBe("hello\n");
  const again = await home.run(["approve", id, dir]);
  expect(again).toMatchObject({ code: 1, stdout: "" });
  expect(again.stderr).toMatch(/^lichen: .*apr_/m);
});

test("[K24] approve uses the running host, and --deny tells the model why", async () => {
  await using home = await Home.make();
  const { dir, id } = await waiting(home);
  const host = await StartedHost.start(home, dir);
  const args = ["approve", id, dir, "--deny", "--message", "not today", "--json"];
  const { code, stdout } = await home.run(args);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ terminal: "completed", answer: "Written." });
  expect(existsSync(home.path("agent", "notes.txt"))).toBe(false);
  const answered = (await host.entries("s")).find(({ kind }) => kind === "approval.answered");
  expect(JSON.stringify(answered)).toContain("not today");
});

const pickTool = `
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Asks which color.",
  label: "read",
  input: z.object({}),
  execute: async (_input, { ask }) => JSON.stringify(await ask([
    { question: "Which color?", header: "Color", options: [{ label: "Red", description: "like fire" }, { label: "Blue" }] },
  ])),
});
`;

test.each([
  ["2", "Blue"],
  ["red", "Red"],
  ["Neither of them", "Neither of them"],
])(
  "[K24] approve lists a question with its options, and --message %j answers it",
  async (message, color) => {
    await using home = await Home.make();
    const dir = await writeAgent(home, { "tools/pick.ts": pickTool });
    const picks = { parts: [{ call: { name: "pick", input: {} } }] };
    await Provider.start(home, dir, { steps: [picks, "Picked."] });
    const { code } = await home.run(["invoke", "pick", dir, "--session", "s"]);
    expect(code).toBe(1);
    const listed = await home.run(["approve", dir]);
    expect(listed.stdout).toContain("Color: Which color?\n    1. Red: like fire\n    2. Blue\n");
    const id = /apr_\S+/.exec(listed.stdout)![0];
    const args = ["approve", id, dir, "--message", message];
    const answered = await home.run(args);
    expect(answered).toMatchObject({ code: 0, stdout: "Picked.\n" });
    expect(answered.stderr).toContain(`"answers":{"Which color?":"${color}"}`);
  },
);

const orderTool = `
import { defineTool, z } from "lichen";
export default defineTool({
  description: "Takes an order.",
  label: "read",
  input: z.object({}),
  execute: async (_input, { ask }) => JSON.stringify(await ask([
    { question: "Which color?", header: "Color", options: [{ label: "Red" }, { label: "Blue" }] },
    { question: "Which sizes?", options: [{ label: "S" }, { label: "M" }, { label: "L" }], multiSelect: true },
    { question: "Anything else?" },
  ])),
});
`;

test("[K120] several questions are answered by approve all at once, and nothing is recorded of what leaves one open", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/order.ts": orderTool });
  const orders = { parts: [{ call: { name: "order", input: {} } }] };
  await Provider.start(home, dir, { steps: [orders, "Ordered.", orders, "Again."] });
  const host = await StartedHost.start(home, dir);
  const asks = async (): Promise<string> => {
    const asking = home.start(["invoke", "order", dir, "--session", "s"]);
    return asking.until(({ stderr }) => /lichen approve (apr_\S+)/.exec(stderr)?.[1]);
  };
  const id = await asks();
  const listed = await home.run(["approve", dir]);
  expect(listed.stderr).toContain(
    `approve ${id} ${dir} --answer 1="…" --answer 2="…" --answer 3="…"`,
  );
  const refused: [readonly string[], RegExp][] = [
    [[], /3 questions are asked at once: answer each, such as --answer 1=/],
    [["--message", "Blue"], /3 questions are asked at once: answer each/],
    [["--answer", "Blue"], /does not say which of the 3 questions it answers/],
    [
      ["--answer", "1=Blue", "--answer", "3=no"],
      /"Which sizes\?" is not answered: add --answer 2=/,
    ],
    [["--answer", "1=Blue", "--answer", "Color=Red"], /takes one answer, and two are given/],
    [["--answer", "1=", "--answer", "2=", "--answer", "3="], /all answers are empty: --deny/],
    [["--answer", "1=Blue", "--message", "x"], /with --answer or with --message/],
    [["--answer", "1=Blue", "--deny"], /--deny and --answer/],
  ];
  for (const [args, words] of refused) {
    const { code, stdout, stderr } = await home.run(["approve", id, dir, ...args]);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
    expect(stderr).toMatch(words);
  }
  expect((await host.entries("s")).map(({ kind }) => kind)).not.toContain("approval.answered");
  const all = ["--answer", "color=2", "--answer", "2=s", "--answer", "2=3", "--answer", "3="];
  const answered = await home.run(["approve", id, dir, ...all]);
  expect(answered).toMatchObject({ code: 0, stdout: "Ordered.\n" });
  expect(answered.stderr).toContain('"answers":{"Which color?":"Blue","Which sizes?":"S, L"}');
  const next = await asks();
  const words = ["Which color?=none=never", "which sizes?=M", "Anything else?=no"];
  const args = words.flatMap((each) => ["--answer", each]);
  const again = await home.run(["approve", next, dir, ...args]);
  expect(again).toMatchObject({ code: 0, stdout: "Again.\n" });
  expect(again.stderr).toContain(
    '"answers":{"Which color?":"none=never","Which sizes?":"M","Anything else?":"no"}',
  );
});

test.each(["SIGTERM", "SIGINT"] as const)(
  "[K121] an approve that follows leaves the run alone at %s, and says how to stop it",
  async (signal) => {
    await using home = await Home.make();
    const dir = await writeAgent(home, { "tools/note.ts": asking });
    const provider = await Provider.start(home, dir, {
      steps: [callsNote, { parts: [{ gate: "later" }, { text: "Written." }] }],
    });
    const host = await StartedHost.start(home, dir);
    const invoked = home.start(["invoke", "note hello", dir, "--session", "s"]);
    const id = await invoked.until(({ stderr }) => /lichen approve (apr_\S+)/.exec(stderr)?.[1]);
    const following = home.start(["approve", id, dir]);
    await provider.atGate("later");
    expect(await following.stop(signal)).toBe(130);
    expect(following.stderr).toMatch(
      /the run is left alone\. To stop it:\n {2}lichen cancel s cmd_/,
    );
    await provider.open("later");
    expect((await invoked.ended).code).toBe(0);
    expect(invoked.stdout).toContain("Written.");
    const kinds = (await host.entries("s")).map(({ kind }) => kind);
    expect(kinds).not.toContain("command.cancelled");
  },
);

test("[K121] where no host runs, an approve that is stopped leaves the run to the next one", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": asking });
  const provider = await Provider.start(home, dir, {
    steps: [callsNote, { parts: [{ gate: "later" }, { text: "Written." }] }, "Written again."],
  });
  const { stderr } = await home.run(["invoke", "note hello", dir, "--session", "s"]);
  const id = /lichen approve (apr_\S+)/.exec(stderr)?.[1] ?? "";
  const following = home.start(["approve", id, dir]);
  await provider.atGate("later");
  expect(await following.stop("SIGTERM")).toBe(130);
  expect(following.stderr).toMatch(
    /what else ran here goes on at the next `lichen start`: session s/,
  );
  const host = await StartedHost.start(home, dir);
  const whole = home.start(["watch", "s", dir, "--from-start"]);
  await whole.until(({ stdout }) => /Written again\.\n= the run is done/.exec(stdout) ?? undefined);
  expect(await whole.stop("SIGINT")).toBe(0);
  const kinds = (await host.entries("s")).map(({ kind }) => kind);
  expect(kinds).not.toContain("command.cancelled");
  expect(await readFile(home.path("agent", "notes.txt"), "utf8")).toBe("hello\n");
});

test("[K27] a token that is deleted while its host runs is written again for the next command", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: [], then: "Here." });
  const host = await StartedHost.start(home, dir, ["--state", home.path("state")]);
  await rm(home.path("state", "token"));
  const said = await home.run(["invoke", "x", dir, "--state", home.path("state")]);
  expect(said).toMatchObject({ code: 0, stdout: "Here.\n" });
  expect((await readFile(home.path("state", "token"), "utf8")).trim()).toBe(host.token);
});

test("[K27] another token that somebody writes into the file while the host runs is good for the next command", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const host = await StartedHost.start(home, dir, ["--state", home.path("state")]);
  await writeFile(home.path("state", "token"), `${"o".repeat(40)}\n`, { mode: 0o600 });
  const listed = await home.run(["sessions", dir, "--state", home.path("state"), "--json"]);
  expect(listed).toMatchObject({ code: 0, stderr: "" });
  expect((await host.ask("/agents")).status).toBe(401);
});

test("[K27] where a token is gone and its host stands still, the refusal names the token and the host", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const host = await StartedHost.start(home, dir, ["--state", home.path("state")]);
  host.running.child.kill("SIGSTOP");
  await rm(home.path("state", "token"));
  const { code, stderr } = await home.run(["invoke", "x", dir, "--state", home.path("state")]);
  expect(code).toBe(1);
  expect(stderr).toContain(home.path("state", "token"));
  expect(stderr).toContain(`process ${host.running.child.pid}`);
  host.running.child.kill("SIGCONT");
});

test("[K18] at a terminal an invoke on a session that waits asks, and its message comes after that", async ({
  skip,
}) => {
  await using home = await Home.make();
  const { dir } = await waiting(home);
  const line = [process.execPath, bin, "invoke", "next", dir, "--session", "s"];
  const terminal = home.start(["-qefc", line.map((it) => `'${it}'`).join(" "), "/dev/null"], {
    program: ["script"],
    input: "y\n",
  });
  const isStarted = await new Promise<boolean>((resolve) => {
    terminal.child.once("spawn", () => resolve(true));
    terminal.child.once("error", () => resolve(false));
  });
  if (!isStarted) return skip("there is no `script` to make a terminal");
  expect((await terminal.ended).code).toBe(0);
  expect(terminal.stdout).toMatch(/waits for an answer.*\r?\n.*May the agent call note/);
  expect(terminal.stdout).toContain("Next.");
  expect(await readFile(home.path("agent", "notes.txt"), "utf8")).toBe("hello\n");
});
