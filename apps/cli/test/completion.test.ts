import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { expect, test } from "vitest";
import { commands } from "../src/commands.ts";
import { answerWords } from "../src/completion/words.ts";
import { oneLine } from "../src/printable.ts";
import { noteTool, Provider, writeAgent } from "./agent.ts";
import { StartedHost } from "./host.ts";
import { Home, repository, type Settings } from "./process.ts";

/** A second is short where many tests run at once. */
const patient = { LICHEN_COMPLETION_MS: "20000" };

/** The words that are offered behind `lichen`, the last of them being typed. */
async function offered(home: Home, words: readonly string[], settings?: Settings) {
  const env = { ...patient, ...settings?.env };
  const answer = await home.run(["completion", "--words", ...words], { ...settings, env });
  expect(answer).toMatchObject({ code: 0, stderr: "" });
  return answer.stdout.split("\n").filter(Boolean);
}

function wordsOf(lines: readonly string[]): string[] {
  return lines.map((line) => line.split("\t")[0] ?? "");
}

/** The same in this process: for what only the table of commands decides. */
async function fromTable(...words: string[]): Promise<string[]> {
  let text = "";
  const nothing = () => undefined;
  const code = await answerWords(words, {
    answer: (part) => (text += part),
    say: nothing,
    show: nothing,
    ...{ showsLive: false, showsProgress: false, canAsk: false },
    flush: async () => undefined,
  });
  expect(code).toBe(0);
  return text.split("\n").filter(Boolean);
}

test("[K44] every command, option and closed set of the table is offered where it can stand, with its summary", async () => {
  await using home = await Home.make();
  const first = await offered(home, [""]);
  const alone = commands.filter(({ name }) => !name.includes(" "));
  for (const { name, summary } of alone)
    expect(first).toContain(`${name}\t${oneLine(summary, 80)}`);
  expect(first).toContain("capability\tlist, show, add, change, refresh, detach, auth, call");
  expect(first).toContain("service\tinstall, uninstall, status");
  expect(first).toHaveLength(alone.length + "capability service help".split(" ").length);
  expect(first.at(-1)).toBe("help\texplain a command");
  expect(await fromTable()).toEqual(first);
  expect(wordsOf(await fromTable("help", ""))).toEqual(wordsOf(first));
  for (const { name, options } of commands) {
    const all = wordsOf(await fromTable(...name.split(" "), "--"));
    expect(all).toEqual([...options.map((option) => `--${option.name}`), "--help"]);
  }
  const inner = ["list", "show", "add", "change", "refresh", "detach", "auth", "call"];
  expect(wordsOf(await fromTable("capability", ""))).toEqual(inner);
  expect(wordsOf(await fromTable("help", "capability", "d"))).toEqual(["detach"]);
  expect(await fromTable("help", "capability", "add", "")).toEqual([]);
  expect(wordsOf(await fromTable("capability", "add", "o"))).toEqual(["openapi"]);
  expect(await fromTable("capability", "nonsense", "")).toEqual([]);
  expect(wordsOf(await fromTable("start", "--port", "0", "--s"))).toEqual(["--state"]);
  expect(await fromTable("start", "--json", "--js")).toEqual([]);
  expect(await fromTable("start", "--port=0", "--po")).toEqual([]);
  expect(wordsOf(await fromTable("completion", ""))).toEqual(["bash", "zsh", "fish"]);
  expect(await fromTable("start", "")).toEqual([":folder"]);
  expect(await fromTable("start", "--state", "")).toEqual([":folder"]);
  expect(await fromTable("start", "--state=x")).toEqual([":folder"]);
  expect(await fromTable("invoke", "hello", "")).toEqual([":folder"]);
  expect(await fromTable("invoke", "hello", "--", "--")).toEqual([":folder"]);
  expect(await fromTable("send", "s", "hi", "--image", "")).toEqual([":file"]);
  expect(wordsOf(await fromTable("chat", "--theme=d"))).toEqual(["--theme=dark"]);
  expect(await fromTable("start", "--port", "")).toEqual([]);
  expect(await fromTable("crashtest", ".", "")).toEqual([]);
  expect(await fromTable("nonsense", "")).toEqual([]);
  expect(await fromTable("start", "--nonsense=x")).toEqual([]);
});

test("[K44] tools are offered by their files, and models by name; no code of the folder runs for it", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home, {
    "tools/note.ts": `throw new Error("ran");\n`,
    "tools/nap.ts": `import { writeFileSync } from "node:fs"; writeFileSync("ran", "");\n`,
    "tools/readme.md": "",
    "models.json": JSON.stringify({
      providers: {
        mine: {
          ...{ baseUrl: "http://127.0.0.1:1/v1", api: "openai-completions", apiKey: "k" },
          models: [{ id: "one" }],
        },
      },
    }),
  });
  const settings = { cwd: dir };
  expect(await offered(home, ["tool", "n"], settings)).toEqual([
    "nap\ttools/nap.ts",
    "note\ttools/note.ts",
    ":folder",
  ]);
  expect(await offered(home, ["tool", "nothing"], settings)).toEqual([":folder"]);
  expect(wordsOf(await offered(home, ["start", "--model", "mine/"], settings))).toEqual([
    "mine/one",
  ]);
  expect(wordsOf(await offered(home, ["start", "--model=de"], settings))).toContain("--model=demo");
  expect(existsSync(join(dir, "ran"))).toBe(false);
  expect(existsSync(join(dir, ".lichen"))).toBe(false);
  expect(existsSync(home.path(".local"))).toBe(false);
});

test("[K44] sessions are offered from a host that runs; what a shell would read as more is not", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const host = await StartedHost.start(home, dir);
  for (const session of ["garden", "greenhouse", "$(touch ran)", "a;b", "two words"]) {
    const body = { requestId: session, session, title: "Line\nof \u001b[31mtomatoes" };
    const made = await host.ask(`/agents/${await host.agent()}/sessions`, body);
    expect(made.status).toBe(201);
  }
  const sessions = await offered(home, ["invoke", "hi", dir, "--session", ""]);
  expect(wordsOf(sessions).toSorted()).toEqual(["garden", "greenhouse"]);
  expect(sessions).toContain("greenhouse\tLine of [31mtomatoes");
  const elsewhere = await offered(home, ["approve", "--session=gree"]);
  expect(wordsOf(elsewhere)).toEqual(["--session=greenhouse"]);
  await host.running.stop();
  expect(await offered(home, ["approve", "--session", ""], { cwd: dir })).toEqual([]);
});

test("[K44] approvals are offered from a host that runs, with what they ask", async () => {
  await using home = await Home.make();
  const asking = noteTool.replace("description:", "confirm: true,\n  description:");
  const dir = await writeAgent(home, { "tools/note.ts": asking });
  const call = { parts: [{ call: { name: "note", input: { text: "hello" } } }] };
  await Provider.start(home, dir, { steps: [call, "Done."] });
  const waiting = await home.run(["invoke", "note", dir, "--session", "s"]);
  const id = /approve (apr_\S+)/.exec(waiting.stderr)?.[1] ?? "none";
  await StartedHost.start(home, dir);
  expect(await offered(home, ["approve", ""], { cwd: dir })).toEqual([
    `${id}\tMay the agent call note {"text":"hello"}?`,
    ":folder",
  ]);
});

test("[K44] a host that does not answer holds nobody up: the time that Tab has ends it, in silence", async () => {
  await using home = await Home.make();
  const dir = await writeAgent(home);
  const host = await StartedHost.start(home, dir);
  host.running.child.kill("SIGSTOP");
  try {
    const within = async (limit: string) => {
      const settings = { cwd: dir, env: { LICHEN_COMPLETION_MS: limit } };
      expect(await offered(home, ["approve", "--session", ""], settings)).toEqual([]);
      return limit;
    };
    const both = [within("60000"), within("1")];
    expect(await Promise.race(both)).toBe("1");
    await Promise.all(both);
    await within("no number");
  } finally {
    host.running.child.kill("SIGCONT");
  }
});

/** What bash puts in for a line with the cursor at its end, by the function that it would call. */
async function inBash(home: Home, line: string, words: readonly string[]): Promise<string[]> {
  const script =
    'set -u; eval "$(lichen completion bash)"; complete -p lichen >&2; ' +
    'COMP_LINE=$1; shift; COMP_POINT=${#COMP_LINE}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ' +
    'COMP_WORDBREAKS=$\' \\t\\n"\\\'><=;|&(:\'; _lichen lichen; printf "%s\\n" ${COMPREPLY[@]+"${COMPREPLY[@]}"}';
  const { code, stdout, stderr } = await home.run(
    ["--norc", "-c", script, "bash", line, ...words],
    {
      program: ["bash"],
      env: withLichen(),
    },
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "complete -F _lichen lichen\n" });
  return stdout.split("\n").filter(Boolean).toSorted();
}

function withLichen(): Record<string, string> {
  const own = join(repository, "node_modules", ".bin");
  return { ...patient, PATH: [own, process.env["PATH"] ?? ""].join(delimiter) };
}

test("[K44] bash completes words, values behind = and :, and folders whose names have spaces", async () => {
  await using home = await Home.make();
  await mkdir(home.path("my agent"));
  await mkdir(home.path("mine"));
  expect(await inBash(home, "lichen sta", ["lichen", "sta"])).toEqual(["start"]);
  expect(await inBash(home, "lichen start --mo", ["lichen", "start", "--mo"])).toEqual(["--model"]);
  expect(await inBash(home, "lichen start m", ["lichen", "start", "m"])).toEqual([
    "mine",
    "my agent",
  ]);
  const state = ["lichen", "start", "--state", "=", "mi"];
  expect(await inBash(home, "lichen start --state=mi", state)).toEqual(["mine"]);
  const model = "amazon-bedrock/anthropic.claude-haiku-4-5-20251001-v1";
  const colon = ["lichen", "start", "--model", model, ":"];
  expect(await inBash(home, `lichen  start --model ${model}:`, colon)).toEqual(["0"]);
  const both = ["lichen", "start", "--model", "=", model, ":", "0"];
  expect(await inBash(home, `lichen start --model=${model}:0`, both)).toEqual(["0"]);
});

test("[K44] completion prints a script for bash, zsh and fish, and refuses any other shell", async () => {
  await using home = await Home.make();
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, stdout, stderr } = await home.run(["completion", shell]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("lichen completion --words");
    expect((await home.run(["help", "completion"])).stdout).toContain(`lichen completion ${shell}`);
  }
  const other = await home.run(["completion", "bsh"]);
  expect(other).toMatchObject({ code: 2, stdout: "" });
  expect(other.stderr).toMatch(/did you mean bash\?/);
  for (const { name, examples } of commands) {
    expect(examples.length, name).toBeGreaterThan(0);
    for (const example of examples) expect(example).toContain(`lichen ${name}`);
  }
});
