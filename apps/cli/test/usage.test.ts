import { expect, test } from "vitest";
import { commands } from "../src/commands.ts";
import { Home } from "./process.ts";

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
    const one = await home.run(["help", command.name]);
    expect(one).toMatchObject({ code: 0, stderr: "" });
    for (const argument of command.arguments) expect(one.stdout).toContain(argument.summary);
    for (const option of command.options) expect(one.stdout).toContain(`--${option.name}`);
    expect(await home.run([command.name, "--help"])).toEqual(one);
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
    expect(stderr).toMatch(/Try: lichen (help [a-z]+|--help)\n$/);
  },
);
