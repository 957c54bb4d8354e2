import { existsSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

const scratch = join(tmpdir(), `lichen-tests-${userInfo().uid}`);

const onNode = {
  isolate: false,
  pool: "threads",
  // Many wait for processes of their own, beside another file that does the same.
  testTimeout: 60_000,
  // A host keeps its state and its cache below these: never in the home of whoever runs the tests.
  env: { XDG_DATA_HOME: join(scratch, "data"), XDG_CACHE_HOME: join(scratch, "cache") },
  // Agent folders of tests are loaded by Node itself, as everywhere else.
  server: { deps: { external: [/\/lichen-folder-/] } },
} as const;

const everywhere = "{packages,apps}/*/{src,test}/**";

export default defineConfig({
  test: {
    // Most tests wait for processes of their own; on two cores the default is one worker.
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...onNode,
          name: "node",
          include: [`${everywhere}/*.test.ts`, "test/**/*.test.ts"],
          exclude: ["**/*.{sandbox,page,terminal,zsh,fish,harness}.test.ts", "**/node_modules/**"],
        },
      },
      ...withProgram("bwrap", "bubblewrap", {
        test: { ...onNode, name: "sandbox", include: [`${everywhere}/*.sandbox.test.ts`] },
      }),
      ...withProgram("tmux", "tmux", {
        test: {
          ...onNode,
          name: "terminal",
          include: [`${everywhere}/*.terminal.test.ts`, "test/*.terminal.test.ts"],
          // Each has a host, a provider and a screen or two, all started from nothing.
          testTimeout: 90_000,
        },
      }),
      ...["zsh", "fish"].flatMap((shell) =>
        withProgram(shell, shell, {
          test: { ...onNode, name: shell, include: [`${everywhere}/*.${shell}.test.ts`] },
        }),
      ),
      ...withProgram("chromium", "chromium", {
        test: { ...onNode, pool: "forks", name: "page", include: [`${everywhere}/*.page.test.ts`] },
      }),
      ...withHarnesses({
        test: {
          ...onNode,
          name: "harness",
          include: [`${everywhere}/*.harness.test.ts`],
          // Each starts real coding agents, some of them several times.
          testTimeout: 120_000,
        },
      }),
      {
        plugins: [
          cloudflareTest({ wrangler: { configPath: "./packages/runtime/workers/wrangler.jsonc" } }),
        ],
        test: {
          name: "workers",
          include: ["packages/*/workers/**/*.workers.test.ts"],
          testTimeout: 60_000,
        },
      },
    ],
  },
});

/** Tests of a program that npm can't bring: left out aloud where it is missing, except in CI, where they fail. */
function withProgram(
  program: string,
  packageName: string,
  project: TestProjectInlineConfiguration,
): TestProjectInlineConfiguration[] {
  const places = (process.env["PATH"] ?? "").split(delimiter);
  const isThere = places.some((place) => existsSync(join(place, program)));
  return unlessMissing(
    isThere,
    `${packageName}, which is not installed (apt-get install ${packageName})`,
    project,
  );
}

/** Tests that drive real coding agents, which are no dependencies of Lichen. */
function withHarnesses(project: TestProjectInlineConfiguration): TestProjectInlineConfiguration[] {
  const isThere = existsSync(new URL("test/harnesses/node_modules/.bin/claude", import.meta.url));
  return unlessMissing(isThere, "real coding agents (npm run harnesses)", project);
}

function unlessMissing(
  isThere: boolean,
  needed: string,
  project: TestProjectInlineConfiguration,
): TestProjectInlineConfiguration[] {
  if (process.env["CI"] || isThere) return [project];
  console.warn(`Left out: tests that need ${needed}.`);
  return [];
}
