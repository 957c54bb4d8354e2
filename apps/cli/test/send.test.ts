import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { kindsOf, StartedHost } from "./host.ts";
import { Home } from "./process.ts";

/** Each of these starts many processes. */
const slow = { timeout: 90_000 };

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

function said(entries: readonly { kind: string; data: Record<string, unknown> }[]): unknown[] {
  return entries.flatMap(({ kind, data }) => (kind === "message.user" ? [data["text"]] : []));
}

test(
  "[K33] send prints the command's id at once; --wait prints the answer, and ends with 1 where there is none",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const provider = await Provider.start(home, dir, {
      steps: [
        { parts: [{ gate: "held" }, { text: "One." }] },
        "Two.",
        { refuse: "unauthenticated" },
      ],
    });
    const host = await StartedHost.start(home, dir);
    const first = await home.run(["send", "s", "first", dir, "--new"]);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(first.stdout).toMatch(/^cmd_\S+\n$/);
    await provider.atGate("held");
    const second = home.start(["send", "s", "-", dir, "--wait"], { input: "second" });
    await second.until(({ stderr }) => /sent as cmd_/.exec(stderr) ?? undefined);
    await provider.open("held");
    expect(await second.ended).toMatchObject({ code: 0 });
    expect(second.stdout).toBe("Two.\n");
    expect(said(await host.entries("s"))).toEqual(["first", "second"]);
    const third = await home.run(["send", "s", "third", dir, "--wait", "--json"]);
    expect(third.code).toBe(1);
    expect(JSON.parse(third.stdout)).toMatchObject({ terminal: "failed" });
  },
);

test(
  "[K33] without a host a message is kept and not begun, looking at it begins nothing, and the next host answers it",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const provider = await Provider.start(home, dir, { steps: ["Answered."] });
    const sent = await home.run(["send", "s", "later", dir, "--new", "--json"]);
    expect(sent.code).toBe(0);
    expect(sent.stderr).toContain(`lichen start ${dir}`);
    const { commandId } = JSON.parse(sent.stdout) as { commandId: string };
    const list = await home.run(["sessions", dir]);
    expect(list.stdout).toMatch(/^s {2}queued {2}1 queued/);
    await home.run(["approve", dir]);
    expect(await provider.requests()).toBe(0);
    const host = await StartedHost.start(home, dir);
    const path = `/agents/${await host.agent()}/sessions/s/settlement?commandId=${commandId}&timeoutMs=30000`;
    expect(await (await host.ask(path)).json()).toMatchObject({ answer: "Answered." });
    expect(await provider.requests()).toBe(1);
  },
);

test("[K33] without a host --wait runs the message here", slow, async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await Provider.start(home, dir, { steps: ["Here."] });
  const { code, stdout } = await home.run(["send", "s", "now", dir, "--new", "--wait"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Here.\n" });
});

test(
  "[K33] two sends at once under one request id send once and print the same, with a host and without",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const provider = await Provider.start(home, dir, { steps: [], then: "Once." });
    const twice = (id: string) => {
      const args = ["send", id, "hello", dir, "--new", "--request-id", "mine"];
      return Promise.all([home.run(args), home.run(args)]);
    };
    const [one, two] = await twice("alone");
    expect(one).toMatchObject({ code: 0, stdout: expect.stringMatching(/^cmd_/) as string });
    expect(two).toMatchObject({ code: 0, stdout: one.stdout });
    const host = await StartedHost.start(home, dir);
    const [three, four] = await twice("served");
    expect(three).toMatchObject({ code: 0, stdout: expect.stringMatching(/^cmd_/) as string });
    expect(four).toMatchObject({ code: 0, stdout: three.stdout });
    const answer = await home.run([
      ...["send", "served", "hello", dir, "--new", "--request-id", "mine", "--wait"],
    ]);
    expect(answer).toMatchObject({ code: 0, stdout: "Once.\n" });
    for (const id of ["alone", "served"]) {
      const entries = await host.entries(id);
      expect(kindsOf(entries).filter((kind) => kind === "command.queued")).toHaveLength(1);
    }
    const other = await home.run(["send", "served", "bye", dir, "--new", "--request-id", "mine"]);
    expect(other).toMatchObject({ code: 1, stdout: "" });
    expect(await provider.requests()).toBe(2);
  },
);

test(
  "[K33] send --wait outlives a kill of its host: the message is there once, and the answer is the next host's",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const provider = await Provider.start(home, dir, {
      steps: [{ parts: [{ text: "half" }, { gate: "killed" }] }],
      then: "the whole answer",
    });
    const first = await StartedHost.start(home, dir);
    const running = home.start(["send", "s", "go", dir, "--new", "--wait"]);
    await provider.atGate("killed");
    await first.running.stop("SIGKILL");
    const second = await StartedHost.start(home, dir);
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(running.stdout).toBe("the whole answer\n");
    expect(said(await second.entries("s"))).toEqual(["go"]);
  },
);

test(
  "[K33] Ctrl-C ends the waiting alone and says how to take the message back",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const provider = await Provider.start(home, dir, {
      steps: [{ parts: [{ gate: "held" }, { text: "Done." }] }],
    });
    const host = await StartedHost.start(home, dir);
    const running = home.start(["send", "s", "go", dir, "--new", "--wait"]);
    await provider.atGate("held");
    await running.until(({ stderr }) => /sent as cmd_/.exec(stderr) ?? undefined);
    expect(await running.stop("SIGINT")).toBe(130);
    expect(running.stderr).toMatch(/lichen cancel s cmd_\S+ /);
    expect(kindsOf(await host.entries("s"))).not.toContain("command.cancelled");
    await provider.open("held");
    await home.run(["send", "s", "and", dir, "--wait"]);
    expect((await host.entries("s")).find(({ kind }) => kind === "run.settled")).toMatchObject({
      data: { terminal: "completed", answer: "Done." },
    });
  },
);

test("[K33] send steers a run, records a line, and takes images", slow, async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, { "tools/note.ts": noteTool });
  const call = { call: { name: "note", input: { text: "x" } } };
  const provider = await Provider.start(home, dir, {
    steps: [{ parts: [{ gate: "held" }, call] }, "Steered.", "Seen."],
  });
  const host = await StartedHost.start(home, dir);
  await home.run(["send", "s", "go", dir, "--new"]);
  await provider.atGate("held");
  const steer = home.start(["send", "s", "faster", dir, "--steer", "--wait"]);
  await steer.until(({ stderr }) => /sent as cmd_/.exec(stderr) ?? undefined);
  const line = await home.run(["send", "s", "for the record", dir, "--line"]);
  expect(line.stdout).toMatch(/^ent_\S+\n$/);
  await provider.open("held");
  expect(await steer.ended).toMatchObject({ code: 0 });
  expect(steer.stdout).toBe("Steered.\n");
  await writeFile(home.path("a.png"), png);
  await writeFile(home.path("b.png"), png);
  const images = ["--image", "a.png", "--image", "b.png"];
  const seen = await home.run(["send", "s", "look", dir, ...images, "--wait"]);
  expect(seen).toMatchObject({ code: 0, stdout: "Seen.\n" });
  const entries = await host.entries("s");
  expect(entries.find(({ data }) => data["text"] === "faster")).toMatchObject({
    kind: "command.queued",
    data: { delivery: "steer" },
  });
  expect(entries.findLast(({ kind }) => kind === "message.user")?.data["images"]).toHaveLength(2);
  await writeFile(home.path("no.png"), "no image");
  const refused = await home.run(["send", "s", "look", dir, "--image", "no.png"]);
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("no.png is no PNG");
  execFileSync("mkfifo", [home.path("pipe.png")]);
  const piped = await home.run(["send", "s", "look", dir, "--image", "pipe.png"]);
  expect(piped).toMatchObject({ code: 1, stdout: "" });
  expect(piped.stderr).toContain("pipe.png is no regular file");
});

test(
  "[K33] send to a conversation that is not there is refused and names `lichen sessions`",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    await StartedHost.start(home, dir);
    const { code, stdout, stderr } = await home.run(["send", "typo", "hello", dir]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/no session "typo".*lichen sessions.*--new/);
  },
);

test("[K33] words that were not quoted are refused with what to do, and nothing is sent", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const { code, stdout, stderr } = await home.run(["send", "s", "hello", "there"], { cwd: dir });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain(
    '"there" is no folder, and the last word is to be that of an agent: quote',
  );
});
