import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import {
  commandOf,
  findProgram,
  harnessEnvironment,
  isClaudeVariable,
  isProviderVariable,
} from "../../src/index.ts";

const homes: string[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "lichen-find-"));
  homes.push(home);
  return home;
}

function program(path: string, text = "#!/bin/sh\n", mode = 0o755): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

test("[MA1] a coding agent's program is found on the PATH, and where its installers put it when the PATH does not lead there", () => {
  for (const place of [".local/bin", ".claude/local", ".npm-global/bin"]) {
    const home = makeHome();
    const there = program(join(home, place, "claude"));
    expect(findProgram("claude", { env: { PATH: "/nowhere" }, home })).toBe(there);
  }
  const home = makeHome();
  const written = program(join(home, "npm", "bin", "pi"));
  writeFileSync(join(home, ".npmrc"), "fund=false\nprefix = ~/npm\n");
  expect(findProgram("pi", { env: {}, home })).toBe(written);
  const first = program(join(home, "first", "pi"));
  expect(findProgram("pi", { env: { PATH: join(home, "first") }, home })).toBe(first);
});

test("[MA1] a file that cannot be run, a folder and a relative PATH are no program", () => {
  const home = makeHome();
  program(join(home, ".local/bin/claude"), "#!/bin/sh\n", 0o644);
  mkdirSync(join(home, ".claude/local/claude"), { recursive: true });
  expect(findProgram("claude", { env: { PATH: "bin:." }, home })).toBeUndefined();
  expect(findProgram(join(home, "gone"), { env: {}, home })).toBeUndefined();
});

test("[MA2] a program written for Node is run by the Node that runs here", () => {
  const home = makeHome();
  const script = program(join(home, "pi"), "#!/usr/bin/env node\n");
  expect(commandOf(script)).toEqual([process.execPath, script]);
  const shell = program(join(home, "claude"));
  expect(commandOf(shell)).toEqual([shell]);
});

test("[MA3] no key or token of this computer that is not a model provider's reaches a coding agent", () => {
  const named = (names: string[]) => Object.fromEntries(names.map((name) => [name, "x"]));
  const theirs = [
    ...["NPM_TOKEN", "SLACK_BOT_TOKEN", "VAULT_TOKEN", "CI_JOB_TOKEN", "GITLAB_TOKEN", "GH_TOKEN"],
    ...["STRIPE_API_KEY", "CLOUDFLARE_API_KEY", "SENTRY_BASE_URL", "OPENAI_ADMIN_KEY"],
    ...["ANTHROPIC_ADMIN_KEY", "PI_HOLE_API_TOKEN", "AWS_SECRET_ACCESS_KEY", "MY_OPENAI_API_KEY"],
    ...["QWEN_SERVER_TOKEN", "XIAOMI_TOKEN", "DATABASE_URL", "SSH_AUTH_SOCK", "LD_PRELOAD"],
    ...["NODE_OPTIONS", "BASH_ENV", "GIT_ASKPASS"],
  ];
  const providers = [
    ...["GROQ_API_KEY", "DEEPSEEK_API_KEY", "HF_TOKEN", "OPENROUTER_API_KEY", "OLLAMA_HOST"],
    ...[
      "OPENAI_BASE_URL",
      "OPENAI_MODEL",
      "GEMINI_API_KEY",
      "GOOGLE_API_KEY",
      "MINIMAX_CN_API_KEY",
    ],
    ...["PI_CODING_AGENT_DIR", "PI_OFFLINE", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    ...[
      "XIAOMI_TOKEN_PLAN_CN_API_KEY",
      "QWEN_TOKEN_PLAN_API_KEY",
      "QWEN_TOKEN_PLAN_TEAM_CN_API_KEY",
    ],
  ];
  const places = { env: named([...theirs, ...providers]), home: "/home/me" };
  const told = { session: "abc", command: ["/opt/agent"] };
  for (const takesVariable of [isProviderVariable, isClaudeVariable]) {
    const names = Object.keys(harnessEnvironment({ takesVariable }, places, told));
    expect(names.filter((name) => theirs.includes(name))).toEqual([]);
  }
  const given = harnessEnvironment({ takesVariable: isProviderVariable }, places, told);
  expect(providers.filter((name) => given[name] !== "x")).toEqual([]);
});

test("[MA3] a coding agent's process gets what a terminal has and its own provider's variables, and none of Lichen's", () => {
  const env = {
    PATH: "/usr/bin",
    LANG: "C.UTF-8",
    TZ: "UTC",
    LICHEN_TOKEN: "secret",
    LICHEN_STATE_DIR: "/secret",
    lichen_api_key: "secret",
    ANTHROPIC_API_KEY: "a",
    CLAUDE_CODE_OAUTH_TOKEN: "b",
    CLAUDE_CODE_ENTRYPOINT: "of another session",
    OPENAI_API_KEY: "c",
    GITHUB_TOKEN: "d",
    DATABASE_URL: "e",
  };
  const told = { session: "abc", command: ["/opt/claude/bin/claude"] };
  const places = { env, home: "/home/me" };
  const claude = harnessEnvironment({ takesVariable: isClaudeVariable }, places, told);
  expect(claude).toMatchObject({
    HOME: "/home/me",
    LANG: "C.UTF-8",
    TZ: "UTC",
    TERM: "dumb",
    LICHEN_SESSION: "abc",
    ANTHROPIC_API_KEY: "a",
    CLAUDE_CODE_OAUTH_TOKEN: "b",
  });
  expect(claude["PATH"]?.split(":")).toContain("/opt/claude/bin");
  expect(Object.keys(claude).filter((name) => /^lichen/i.test(name))).toEqual(["LICHEN_SESSION"]);
  expect(claude).not.toHaveProperty("OPENAI_API_KEY");
  expect(claude).not.toHaveProperty("CLAUDE_CODE_ENTRYPOINT");
  const pi = harnessEnvironment({ takesVariable: isProviderVariable }, places, told);
  expect(pi).toMatchObject({ ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "c" });
  expect(pi).not.toHaveProperty("GITHUB_TOKEN");
  expect(pi).not.toHaveProperty("DATABASE_URL");
  expect(JSON.stringify([claude, pi])).not.toContain("secret");
});
