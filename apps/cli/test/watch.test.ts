import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { Terminal } from "../src/terminal.ts";
import { WatchView } from "../src/watch-view.ts";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { bin, Home, type Running } from "./process.ts";

const callsNote = {
  parts: [{ text: "I write." }, { call: { name: "note", input: { text: "hello" } } }],
};

/** Each of these starts many processes. */
const slow = { timeout: 90_000 };

function seen(watching: Running, text: string): Promise<true> {
  return watching.until(({ stdout, stderr }) => `${stdout}${stderr}`.includes(text) || undefined);
}

/** A message through the host's door, which is quicker than a process. */
async function say(host: StartedHost, session: string, text: string): Promise<void> {
  const path = `/agents/${await host.agent()}/sessions/${session}/commands`;
  const response = await host.ask(path, { type: "prompt", requestId: randomUUID(), text });
  expect(response.status).toBe(202);
}

/** Settles once the session's last run is done. */
async function idle(host: StartedHost, session: string): Promise<void> {
  const entry = (await host.entries(session)).find(({ kind }) => kind === "command.queued") as
    | { commandId?: string }
    | undefined;
  const query = `commandId=${entry?.commandId ?? ""}&timeoutMs=30000`;
  const path = `/agents/${await host.agent()}/sessions/${session}/settlement?${query}`;
  expect(await (await host.ask(path)).json()).toMatchObject({ terminal: "completed" });
}

test(
  "[K31] watch shows what was said and what goes on, a line each, until Ctrl-C",
  slow,
  async () => {
    await using home = await Home.make();
    const asking = noteTool.replace("description:", "confirm: true,\n  description:");
    const dir = await writeAgent(home, { "tools/note.ts": asking });
    await Provider.start(home, dir, { steps: ["One.", callsNote, "Written."] });
    const host = await StartedHost.start(home, dir);
    await say(host, "s", "first");
    await idle(host, "s");
    const whole = home.start(["watch", "s", dir, "--from-start"]);
    await seen(whole, "= the run is done");
    const watching = home.start(["watch", "s", dir]);
    await seen(watching, "session s is idle");
    await say(host, "s", "note\nhello");
    const id = await watching.until(({ stdout }) => /lichen approve (apr_\S+)/.exec(stdout)?.[1]);
    const answer = { type: "answer", requestId: "yes", approvalId: id, allow: true };
    await host.ask(`/agents/${await host.agent()}/sessions/s/commands`, answer);
    await seen(watching, "= the run is done");
    expect(await watching.stop("SIGINT")).toBe(0);
    const news = [
      ..."> note\n> hello\nI write.\n".split("\n").slice(0, -1),
      '→ note {"text":"hello"}',
      '? May the agent call note {"text":"hello"}?',
      expect.stringContaining(`lichen approve ${id} ${dir}`),
      "? allowed",
      "✓ note noted hello",
      "Written.",
      "= the run is done",
      "",
    ] as string[];
    expect(watching.stdout.split("\n")).toEqual(news);
    await whole.until(({ stdout }) => stdout.split("= the run is done").length === 3 || undefined);
    expect(await whole.stop("SIGINT")).toBe(0);
    expect(whole.stdout.split("\n")).toEqual(["> first", "One.", "= the run is done", ...news]);
    await host.running.stop();
  },
);

test(
  "[K31] a watch outlives kills of its host and shows every entry once; what it missed follows",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home, { "tools/note.ts": noteTool });
    const provider = await Provider.start(home, dir, {
      steps: [callsNote, { parts: [{ text: "half" }, { gate: "killed" }] }, "Whole.", "Next."],
    });
    const first = await StartedHost.start(home, dir);
    await say(first, "s", "go");
    const again = home.start(["watch", "s", dir, "--from-start"]);
    await provider.atGate("killed");
    await seen(again, "✓ note");
    await first.running.stop("SIGKILL");
    await seen(again, "the host went away");
    const second = await StartedHost.start(home, dir);
    await seen(again, "= the run is done");
    await second.running.stop("SIGKILL");
    // Said while nobody watches: between two lives of the host that serves the watch.
    await home.run(["send", "s", "and", dir, "--wait"]);
    await StartedHost.start(home, dir);
    await again.until(({ stdout }) => stdout.split("= the run is done").length === 3 || undefined);
    expect(await again.stop("SIGINT")).toBe(0);
    expect(again.stdout.split("\n")).toEqual([
      ...["> go", "I write.", '→ note {"text":"hello"}', "✓ note noted hello"],
      ...["! the run goes on after a restart of its host", "Whole.", "= the run is done"],
      ...["> and", "Next.", "= the run is done", ""],
    ]);
    expect(again.stderr.match(/the host went away/g)).toHaveLength(2);
  },
);

test(
  "[K31] a watch without a host opens no store and waits for one; what was long before is all shown, in order",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const first = await StartedHost.start(home, dir);
    const commands = `/agents/${await first.agent()}/sessions/s/commands`;
    const count = 450;
    for (let at = 1; at <= count; at++)
      await first.ask(commands, { type: "line", requestId: `line:${at}`, text: `line ${at}` });
    await first.running.stop();
    const watching = home.start(["watch", "s", dir, "--from-start"]);
    const frames = home.start(["watch", "s", dir, "--from-start", "--json"]);
    await seen(watching, "no host serves this agent now");
    await StartedHost.start(home, dir);
    await seen(watching, `# line ${count}\n`);
    expect(watching.stdout.trimEnd().split("\n")).toEqual(
      Array.from({ length: count }, (_, at) => `# line ${at + 1}`),
    );
    const baseline = await frames.until(
      ({ stdout }) => /^\{"type":"baseline".*\n/m.exec(stdout)?.[0],
    );
    const { data } = JSON.parse(baseline) as { data: { entries: { seq: number }[] } };
    const before = frames.stdout
      .split("\n")
      .filter((line) => line.startsWith('{"type":"entry"'))
      .map((line) => (JSON.parse(line) as { data: { seq: number } }).data.seq);
    expect([...before, ...data.entries.map(({ seq }) => seq)]).toEqual(
      Array.from({ length: count }, (_, at) => at + 1),
    );
  },
);

test("[K31] watch of what is not there is refused and names `lichen sessions`", slow, async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  await StartedHost.start(home, dir);
  const { code, stdout, stderr } = await home.run(["watch", "typo", dir]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(/no session "typo".*lichen sessions/);
  expect(stderr).toContain(`sessions ${dir}\``);
});

test(
  "[K32] a single word that is an agent's folder is the folder, and a conversation where the folder is named too",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const watching = home.start(["watch", "agent"]);
    await watching.until(({ stderr }) => /no host serves this agent now/.exec(stderr)?.[0]);
    expect(watching.stderr).toContain("start agent\n");
    expect(await watching.stop("SIGINT")).toBe(0);
    await StartedHost.start(home, dir);
    const session = await home.run(["watch", "agent", dir]);
    expect(session.code).toBe(1);
    expect(session.stderr).toContain('no session "agent"');
  },
);

test(
  "[K31] watch --json prints each frame as a line, and ends when the conversation is deleted",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    await Provider.start(home, dir, { steps: ["One."] });
    const host = await StartedHost.start(home, dir);
    const path = `/agents/${await host.agent()}/sessions`;
    await host.ask(path, { requestId: "a", session: "s" });
    const watching = home.start(["watch", "s", dir, "--json"]);
    await watching.firstLine();
    await say(host, "s", "go");
    await seen(watching, '"kind":"run.settled"');
    await fetch(new URL(`${path}/s`, host.url), {
      method: "DELETE",
      headers: { authorization: `Bearer ${host.token}` },
    });
    expect(await watching.ended).toMatchObject({ code: 0 });
    expect(watching.stderr).toContain("session s was deleted");
    const frames = watching.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; data: { kind?: string } });
    expect(frames[0]?.type).toBe("baseline");
    expect(frames.flatMap(({ type, data }) => (type === "entry" ? [data.kind] : []))).toEqual([
      ...["command.queued", "run.started", "message.user", "message.assistant", "run.settled"],
    ]);
  },
);

test("[K31] at a terminal a message is shown as it is written", slow, async ({ skip }) => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const provider = await Provider.start(home, dir, {
    steps: [{ parts: [{ text: "half of " }, { gate: "held" }, { text: "it" }] }],
  });
  const host = await StartedHost.start(home, dir);
  await host.ask(`/agents/${await host.agent()}/sessions`, { requestId: "a", session: "s" });
  const line = [process.execPath, bin, "watch", "s", dir];
  const watching = home.start(["-qefc", line.map((it) => `'${it}'`).join(" "), "/dev/null"], {
    program: ["script"],
  });
  const isStarted = await new Promise<boolean>((resolve) => {
    watching.child.once("spawn", () => resolve(true));
    watching.child.once("error", () => resolve(false));
  });
  if (!isStarted) return skip("there is no `script` to make a terminal");
  await seen(watching, "session s is idle");
  await say(host, "s", "go");
  await provider.atGate("held");
  await seen(watching, "half of ");
  await provider.open("held");
  await seen(watching, "= the run is done");
  expect(watching.stdout).toMatch(/\n> go\r\nhalf of it\r\n= the run is done\r\n/);
});

test(
  "[K32] watch without a conversation shows a line for each change, through a restart of the host",
  slow,
  async () => {
    await using home = await Home.make();
    const dir = await writeAgent(home);
    const provider = await Provider.start(home, dir, {
      steps: [{ parts: [{ gate: "held" }, { text: "One." }] }],
      then: "More.",
    });
    const first = await StartedHost.start(home, dir);
    const watching = home.start(["watch", dir]);
    await say(first, "a", "hello");
    await provider.atGate("held");
    await seen(watching, "a  running  hello\n");
    await first.running.stop("SIGKILL");
    await seen(watching, "the host went away");
    const second = await StartedHost.start(home, dir);
    await seen(watching, "a  idle  More.\n");
    const path = `/agents/${await second.agent()}/sessions/a`;
    await fetch(new URL(path, second.url), {
      method: "DELETE",
      headers: { authorization: `Bearer ${second.token}` },
    });
    await seen(watching, "a  deleted\n");
    expect(await watching.stop("SIGINT")).toBe(0);
  },
);

test("[K31] what a watch cannot read is named, and nothing that it shows moves the cursor", () => {
  let shown = "";
  const terminal: Terminal = {
    answer: (text) => void (shown += text),
    say: () => undefined,
    show: () => undefined,
    showsLive: false,
    showsProgress: false,
    canAsk: false,
    flush: async () => undefined,
  };
  const view = new WatchView(terminal, () => "");
  const entry = { seq: 1, id: "ent_a_1", at: "2030-01-01T00:00:00.000Z" };
  view.entry({ ...entry, kind: "tomorrow.happened", data: {} });
  view.entry({ ...entry, kind: "message.user", data: { words: 3 } });
  view.entry({ ...entry, kind: "message.user", data: { text: "\u001b[2Jgone\u0007" } });
  expect(shown).toBe(
    "· tomorrow.happened, which this version cannot show\n" +
      "· message.user, which this version cannot show\n> [2Jgone\n",
  );
});
