import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commands } from "../src/commands.ts";
import { renderHelp } from "../src/help.ts";
import { parse } from "../src/parse.ts";
import { Home, repository } from "./process.ts";

test("[K1] help goes to stdout and names every command, its arguments and its options", async () => {
  await using home = await Home.make();
  const whole = await home.run(["--help"]);
  expect(whole).toMatchObject({ code: 0, stderr: "" });
  for (const { name, summary } of commands) {
    expect(whole.stdout).toMatch(new RegExp(`^ +${name}\\b.* ${summary}$`, "m"));
  }
  expect(await home.run([])).toEqual(whole);
  expect(await home.run(["help"])).toEqual(whole);
  for (const command of commands) {
    const name = command.name.split(" ");
    const one = await home.run(["help", ...name]);
    expect(one).toMatchObject({ code: 0, stderr: "" });
    for (const argument of command.arguments) expect(one.stdout).toContain(argument.summary);
    for (const option of command.options) expect(one.stdout).toContain(`--${option.name}`);
    expect(await home.run([...name, "--help"])).toEqual(one);
  }
});

test("[K1] the version goes to stdout", async () => {
  await using home = await Home.make();
  for (const flag of ["--version", "-v"]) {
    const { code, stdout } = await home.run([flag]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  }
});

const misunderstood: [string, string[], RegExp][] = [
  ["a command that is not there", ["strat"], /no command "strat"; did you mean start\?/],
  ["a command like no other", ["xyzzy"], /no command "xyzzy"\n/],
  ["help about such a command", ["help", "modles"], /did you mean models\?/],
  [
    "an option that is not there",
    ["start", "--prot", "1"],
    /no option --prot; did you mean --port/,
  ],
  ["a short option that is not there", ["start", "-p", "1"], /no option -p/],
  ["an option before the command", ["--port", "1", "start"], /options follow the command/],
  ["a port that is no number", ["start", "--port", "http"], /from 0 to 65535, not "http"/],
  ["a port beyond the last", ["start", "--port", "65536"], /from 0 to 65535/],
  ["a bind that is no address", ["start", "--bind", "example.org"], /IP address or localhost/],
  ["a model without a provider", ["start", "--model", "gpt"], /provider\/id/],
  ["an option without its value", ["start", "--port"], /--port needs a value: --port <number>/],
  ["an option in place of a value", ["start", "--state", "--json"], /--state needs a value/],
  ["a flag with a value", ["start", "--json=yes"], /--json takes no value/],
  ["a missing argument", ["invoke"], /invoke: needs <text>/],
  ["an argument too many", ["init", "a", "b"], /"b"/],
  ["a number that is too large", ["sessions", "--limit", "99999999"], /from 1 to 999999, not/],
  ["a word that needs another", ["capability"], /capability: say what, such as/],
  [
    "another word that is not there",
    ["capability", "shwo"],
    /does not know "shwo"; did you mean show/,
  ],
  [
    "a kind that is not there",
    ["capability", "add", "ftp"],
    /no kind "ftp": there are mcp, openapi/,
  ],
  [
    "a program for a file server",
    ["capability", "add", "files", "--", "x"],
    /a program is for mcp/,
  ],
  ["an option of another kind", ["capability", "add", "ui", "--url", "http:"], /--url is for mcp/],
  ["a server without a place", ["capability", "add", "mcp"], /an address .* or a program/],
  ["a label that is none", ["capability", "add", "ui", "--label", "a=b"], /read, write or confirm/],
  ["a change of nothing", ["capability", "change", "x"], /say what: --name/],
  ["an empty message", ["invoke", " \n"], /the message is empty/],
  ["a session that cannot be one", ["invoke", "x", "--session", ".."], /session/],
];

test.for(misunderstood)(
  "[K2] %s ends with 2, says so on stderr and leaves stdout empty",
  async ([, args, reason]) => {
    await using home = await Home.make();
    const { code, stdout, stderr } = await home.run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(reason);
    expect(stderr).toMatch(/Try: lichen (help [a-z]+( [a-z]+)?|--help)\n$/);
  },
);

/** The words of an example as a shell hands them to lichen; other programs, redirections and variables are left out. */
function wordsOf(example: string): string[] {
  const line = /(?:^|[|=…] ?)lichen (.*)$/.exec(example)?.[1] ?? "";
  const found = line.matchAll(/'([^']*)'|"((?:\$\([^)]*\)|[^"])*)"|([^\s'"]+)/g);
  const words = Array.from(found, ([, single, double, plain]) => single ?? double ?? plain ?? "");
  const redirected = words.findIndex((word) => word === "<" || word === ">");
  return redirected === -1 ? words : words.slice(0, redirected);
}

test("[K1] every example of the help is understood, and names agents and tools that there are", async () => {
  const tools = new Set<string>();
  for (const command of commands)
    for (const example of command.examples) {
      const words = wordsOf(example);
      expect(words.join(" ").startsWith(command.name), example).toBe(true);
      const parsed = parse(words, commands);
      expect(parsed.kind, example).toBe("run");
      if (parsed.kind !== "run") continue;
      const folder = words.find((word) => word.startsWith("examples/"));
      if (folder === undefined) continue;
      expect(existsSync(join(repository, folder, "lichen.config.ts")), example).toBe(true);
      const name = parsed.input.argument("name");
      if (command.name !== "tool" || name === undefined) continue;
      expect(existsSync(join(repository, folder, "tools", `${name}.ts`)), example).toBe(true);
      tools.add(name);
    }
  expect([...tools].toSorted()).toEqual(["dice", "note_write"]);
  await using home = await Home.make();
  const rolled = await home.run([
    "tool",
    "dice",
    '{"count":2}',
    join(repository, "examples/hello"),
  ]);
  expect(rolled.code).toBe(0);
});

test("[K1] help names every variable of the environment that a command reads", () => {
  const help = renderHelp(commands);
  const sources = readdirSync(join(repository, "apps/cli/src"), { recursive: true })
    .map((name) => join(repository, "apps/cli/src", String(name)))
    .filter((path) => path.endsWith(".ts"));
  const read = sources.flatMap((path) =>
    Array.from(
      readFileSync(path, "utf8").matchAll(/(?:env\[|variable\()"(LICHEN_\w+)"/g),
      ([, name]) => name,
    ),
  );
  expect(read.length).toBeGreaterThan(5);
  for (const name of new Set(read)) expect(help).toContain(`  ${name} `);
});
