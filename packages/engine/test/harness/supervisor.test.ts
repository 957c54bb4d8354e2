import type { Json } from "@lichen/wire";
import { afterEach, beforeEach, expect, test } from "vitest";
import { processHost } from "../../src/harness/host/launch.ts";
import { processInfo } from "../../src/harness/host/processes.ts";
import { type Gone, Supervisor } from "../../src/harness/supervisor.ts";
import { until } from "../../../runtime/test/clock.ts";
import { StandIn } from "./stand-in.ts";

let standIn: StandIn;
const opened: Supervisor[] = [];
beforeEach(async () => {
  standIn = await StandIn.open();
});
afterEach(async () => {
  for (const supervisor of opened.splice(0)) await supervisor.close();
  await standIn.close();
});

const minute = 60_000;

/** A harness that says hello, echoes, and ends with its input. */
const polite = 'echo 1; while read -r line; do echo "$line"; done; echo \'"bye"\'';
/** One that is deaf to the end of its input. */
const deaf = "echo 1; while :; do sleep 600; done";

function supervise(script: string, busy = () => false) {
  const lines: Json[] = [];
  const ends: Gone[] = [];
  const hello = { resolve: () => {} };
  const supervisor = new Supervisor({
    session: { agent: "a", session: "s", epoch: `e${standIn.folder.slice(-6)}` },
    host: standIn.host,
    options: standIn.options(["sh", "-c", script]),
    processes: processHost,
    driver: {
      start: () => ({ args: [] }),
      greet: () =>
        new Promise((resolve) => {
          if (lines.at(-1) === 1) resolve();
          else hello.resolve = resolve;
        }),
      line(value) {
        lines.push(value);
        hello.resolve();
      },
      async ended(gone) {
        ends.push(gone);
      },
      isBusy: busy,
    },
  });
  opened.push(supervisor);
  return { supervisor, lines, ends };
}

test("[HK10] whoever needs the process at once gets the same one", async () => {
  const { supervisor, lines } = supervise(polite);
  const [one, other] = await Promise.all([supervisor.ensure(), supervisor.ensure()]);
  expect(one).toBe(other);
  await one.write("word");
  await until(() => lines.length === 2, "the echo");
  expect(lines).toEqual([1, "word"]);
  expect(supervisor.standing()).toMatchObject({ isRunning: true, pid: one.group.group });
  expect(standIn.kinds).toEqual(["process"]);
});

test("[HK10] what an earlier host left running is ended before the next process starts", async () => {
  const { dir, env, report } = standIn.options([]);
  const left = await processHost.launch({
    ...{ argv: ["sh", "-c", deaf], dir, env, report, mark: "earlier", line: () => {} },
    recorded: (group) => standIn.host.record([{ kind: "harness.process", data: group }]),
  });
  const { supervisor } = supervise(polite);
  const next = await supervisor.ensure();
  expect((await processInfo(left.group.group))?.isDead ?? true).toBe(true);
  expect(next.group.group).not.toBe(left.group.group);
  expect(standIn.kinds.slice(0, 3)).toEqual(["process", "stopped", "process"]);
  expect(standIn.reasons()[0]).toBe("its host ended");
});

test("[HK10] what an earlier host left running is ended as soon as its session is there again, without a message", async () => {
  const { dir, env, report } = standIn.options([]);
  const left = await processHost.launch({
    ...{ argv: ["sh", "-c", deaf], dir, env, report, mark: "earlier", line: () => {} },
    recorded: (group) => standIn.host.record([{ kind: "harness.process", data: group }]),
  });
  const { supervisor } = supervise(polite);
  await standIn.untilRecorded("harness.stopped");
  expect((await processInfo(left.group.group))?.isDead ?? true).toBe(true);
  expect(standIn.kinds).toEqual(["process", "stopped"]);
  expect(supervisor.standing().isRunning).toBe(false);
});

test("[HK11] an idle process finishes after 30 minutes; what is busy or was used stays", async () => {
  let isBusy = false;
  const { supervisor, lines } = supervise(polite, () => isBusy);
  await supervisor.ensure();
  await standIn.clock.advance(29 * minute);
  supervisor.touch();
  await standIn.clock.advance(29 * minute);
  expect(supervisor.state).toBe("ready");
  isBusy = true;
  await standIn.clock.advance(600 * minute);
  expect(supervisor.state).toBe("ready");
  isBusy = false;
  while (supervisor.state === "ready") await standIn.clock.advance(15_000);
  await standIn.untilRecorded("harness.stopped");
  expect(standIn.reasons()).toEqual(["nothing happened for 30 minutes"]);
  expect(lines).toEqual([1, "bye"]);
});

test("[HK11] an idle process that goes on is killed 30 s later", async () => {
  const { supervisor, ends } = supervise(deaf);
  await supervisor.ensure();
  await standIn.clock.advance(30 * minute + 29_000);
  expect(supervisor.state).toBe("stopping");
  expect(ends).toEqual([]);
  await standIn.clock.advance(31_000);
  await standIn.untilRecorded("harness.stopped");
  expect(ends).toMatchObject([{ signal: "SIGKILL", wasAsked: true }]);
  expect(supervisor.standing().isRunning).toBe(false);
});

test("[HK11] a message for a process that is ending gets a new one without waiting for that", async () => {
  const { supervisor } = supervise(deaf);
  const before = await supervisor.ensure();
  await standIn.clock.advance(30 * minute + 15_000);
  expect(supervisor.state).toBe("stopping");
  const next = await supervisor.ensure();
  expect(next).not.toBe(before);
  expect(standIn.kinds).toEqual(["process", "stopped", "process"]);
});

test("[HK12] a crash loop of what is kept running slows down to one start in ten minutes", async () => {
  standIn.settings = { autoApprove: false, keepRunning: true };
  const { supervisor } = supervise("echo 1; echo 'Error: no luck' >&2; exit 3");
  const starts = () => standIn.kinds.filter((kind) => kind === "process").length;
  const waits: number[] = [];
  let waited = 0;
  while (waits.length < 9) {
    const before = starts();
    await standIn.clock.advance(15_000);
    waited += 15;
    await until(() => supervisor.state === "absent", "its end");
    if (starts() === before) continue;
    waits.push(waited);
    waited = 0;
  }
  expect(waits).toEqual([15, 15, 30, 60, 120, 240, 480, 600, 600]);
  expect(standIn.reasons()[0]).toBe("ended with code 3: Error: no luck");
});

test("[HK12] it is looked after as soon as the setting is there, and no more when it is gone", async () => {
  const { supervisor } = supervise(polite);
  await standIn.clock.advance(minute);
  expect(supervisor.state).toBe("absent");
  standIn.settings = { autoApprove: false, keepRunning: true };
  supervisor.settingsChanged();
  await standIn.clock.advance(15_000);
  await supervisor.ensure();
  await standIn.clock.advance(90 * minute);
  expect(supervisor.state).toBe("ready");
  standIn.settings = { autoApprove: false, keepRunning: false };
  await standIn.clock.advance(2 * minute);
  await standIn.untilRecorded("harness.stopped");
});

test("[HK13] a restart kills at once, says so, and starts again", async () => {
  const { supervisor, ends } = supervise(deaf);
  const before = await supervisor.ensure();
  await supervisor.restart();
  expect(supervisor.process).not.toBe(before);
  expect(standIn.kinds).toEqual(["process", "stopped", "restarted", "process"]);
  expect(ends).toMatchObject([{ reason: "it was restarted", wasAsked: true, signal: "SIGKILL" }]);
});

test("[HK13] a restart waits for the end of the former process, and not for what the next one says", async () => {
  const { supervisor } = supervise("while :; do sleep 600; done");
  const starting = supervisor.ensure();
  starting.catch(() => {});
  await standIn.untilRecorded("harness.process");
  for (const count of [1, 2]) {
    const before = supervisor.standing().pid;
    await supervisor.restart();
    expect(supervisor.state).toBe("starting");
    expect(supervisor.standing().pid).not.toBe(before);
    expect(standIn.kinds.filter((kind) => kind === "restarted")).toHaveLength(count);
  }
  await expect(starting).rejects.toThrow();
});

test("[HK14] the end stands after the last line, with a useful word of stderr and no secret", async () => {
  const { supervisor, lines } = supervise(
    "echo 1; read -r line; echo '\"last\"'; echo 'at x.js:1' >&2; echo \"Invalid key $API_KEY\" >&2; exit 2",
  );
  const process = await supervisor.ensure();
  await process.write(1);
  await standIn.untilRecorded("harness.stopped");
  expect(lines).toEqual([1, "last"]);
  expect(standIn.reasons()).toEqual(["ended with code 2: Invalid key"]);
});

test("[HK14] a program that is not there is told as that", async () => {
  const { supervisor } = supervise("exec /nowhere/claude");
  await expect(supervisor.ensure()).rejects.toThrow("is not there: install it");
  expect(supervisor.state).toBe("absent");
  expect(standIn.kinds).toEqual(["process", "stopped"]);
});
