import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { CappedOutput } from "../../src/tools/capped-output.ts";
import { use, workbench } from "./workbench.ts";

/** Settles once `isTrue` is, looking again each turn of the loop; the test's own timeout ends it. */
async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

test("[C9] bash answers what a command said and how it ended; a failure is an error", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const fine = await use(tools, "bash", { command: "echo out; echo err >&2; pwd" });
  expect(fine).toMatchObject({ isError: false, data: { exitCode: 0, ended: "ended" } });
  expect(fine.text).toBe(`out\nerr\n${bench.cwd}`);
  const failed = await use(tools, "bash", { command: "echo half; exit 3" });
  expect(failed).toMatchObject({
    isError: true,
    text: "half\n[Exit code 3]",
    data: { exitCode: 3 },
  });
  expect((await use(tools, "bash", { command: "true" })).text).toBe("(no output)");
  expect((await use(tools, "bash", { command: "kill -9 $$" })).text).toBe("[Ended by SIGKILL.]");
});

test("[C9] output is shown while the command runs, the whole of it so far", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const shown: string[] = [];
  const go = join(bench.cwd, "go");
  const running = use(
    tools,
    "bash",
    { command: "echo first; while [ ! -e go ]; do sleep 0.02; done; echo second" },
    { output: (text) => shown.push(text) },
  );
  await until(() => shown.includes("first\n"));
  await use(tools, "write", { path: go, content: "" });
  await running;
  expect(shown.at(-1)).toBe("first\nsecond\n");
});

test("[C9] of a long output the beginning and the end are kept, whole characters, with a notice between", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const { text } = await use(tools, "bash", {
    command: "echo begin; yes ä | head -c 3000000; echo; echo end",
  });
  expect(Buffer.byteLength(text)).toBeLessThan(52_000);
  expect(text).toMatch(/^begin\n/);
  expect(text).toMatch(/\nend$/);
  expect(text).toMatch(/\[… \d+ bytes left out/);
  expect(text).not.toContain("\uFFFD");
});

test("[C9] capped output keeps everything up to its limit, and its limit beyond, however it is cut", () => {
  const bytes = Uint8Array.from({ length: 1_000 }, (_, index) => 97 + (index % 26));
  for (const size of [1, 7, 100, 1_000]) {
    const whole = new CappedOutput(1_000);
    const cut = new CappedOutput(100);
    for (let at = 0; at < 1_000; at += size) {
      whole.push(bytes.subarray(at, at + size));
      cut.push(bytes.subarray(at, at + size));
    }
    const all = new TextDecoder().decode(bytes);
    expect(whole.text()).toBe(all);
    expect(whole.isCut).toBe(false);
    expect(cut.text().startsWith(`${all.slice(0, 40)}\n[… 900 bytes`)).toBe(true);
    expect(cut.text().endsWith(all.slice(-60))).toBe(true);
  }
});

test("[C10] an abort ends the command and all below it, also what left its group or ignores the request", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const cancel = new AbortController();
  const command = `
    sleep 300 & echo $! >> pids
    setsid sleep 300 & echo $! >> pids
    (sleep 300 & echo $! >> pids; wait) &
    bash -c 'trap "" TERM; echo $$ >> pids; while true; do sleep 0.05; done' &
    echo $$ >> pids; touch ready; wait`;
  const running = use(tools, "bash", { command }, { signal: cancel.signal });
  const pids = () => readFileSync(join(bench.cwd, "pids"), "utf8").trim().split("\n").map(Number);
  await until(() => existsSync(join(bench.cwd, "ready")) && pids().length === 5);
  expect(pids().every(isAlive)).toBe(true);
  cancel.abort(new Error("cancelled"));
  const outcome = await running;
  expect(outcome).toMatchObject({ isError: true, data: { ended: "aborted" } });
  await until(() => !pids().some(isAlive));
});

test("[C10] a command is asked to end before it is killed", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const cancel = new AbortController();
  const command = `trap 'echo tidied > tidy; exit 0' TERM; touch ready; while true; do sleep 0.02; done`;
  const running = use(tools, "bash", { command }, { signal: cancel.signal });
  await until(() => existsSync(join(bench.cwd, "ready")));
  cancel.abort(new Error("cancelled"));
  await running;
  expect(readFileSync(join(bench.cwd, "tidy"), "utf8")).toBe("tidied\n");
});

test("[C10] a command that takes too long is stopped and says so; one that was cancelled before it began never runs", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const slow = await use(tools, "bash", { command: "echo begun; sleep 300", timeout: 0.3 });
  expect(slow).toMatchObject({ isError: true, text: "begun\n[Stopped after 0.3 seconds.]" });
  const never = await use(
    tools,
    "bash",
    { command: "touch ran" },
    { signal: AbortSignal.abort(new Error("no")) },
  );
  expect(never.isError).toBe(true);
  expect(existsSync(join(bench.cwd, "ran"))).toBe(false);
  expect((await use(tools, "bash", { command: "true", timeout: 601 })).text).toContain(
    "Invalid arguments",
  );
});

test("[C10] what a command leaves running ends with it, and keeps nobody waiting", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  const { text } = await use(tools, "bash", { command: "sleep 300 & echo $! > pid; echo done" });
  expect(text).toBe("done");
  await until(() => !isAlive(Number(readFileSync(join(bench.cwd, "pid"), "utf8"))));
  const left = await use(tools, "bash", {
    command: "setsid sleep 300 & echo $! > pid; sleep 0.1; echo done",
  });
  expect(left.text).toBe("done");
  await until(() => !isAlive(Number(readFileSync(join(bench.cwd, "pid"), "utf8"))));
});

test("[C11] a command gets six variables, the mark of its command and what the options name, nothing else of the host's", async () => {
  using bench = workbench();
  process.env["LICHEN_TOKEN"] = "canary";
  process.env["MODEL_PROVIDER_KEY"] = "canary";
  process.env["BASH_ENV"] = "/dev/null";
  try {
    const tools = await bench.tools({ environment: { STAGE: "test" } });
    const { text } = await use(tools, "bash", { command: "env" });
    const names = text.split("\n").map((line) => line.split("=")[0] ?? "");
    const shell = ["PWD", "OLDPWD", "SHLVL", "_"];
    const allowed = [
      "PATH",
      "HOME",
      "LANG",
      "TERM",
      "TMPDIR",
      "USER",
      "LICHEN_COMMAND",
      "STAGE",
      ...shell,
    ];
    expect(names.filter((name) => !allowed.includes(name))).toEqual([]);
    expect(names).toContain("PATH");
    expect(text).toContain("STAGE=test");
    expect(text).not.toContain("canary");
  } finally {
    for (const name of ["LICHEN_TOKEN", "MODEL_PROVIDER_KEY", "BASH_ENV"]) delete process.env[name];
  }
});

test("[C11] a command that asks for input gets its end at once", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  expect((await use(tools, "bash", { command: "cat; read line; echo $?" })).text).toBe("1");
});
