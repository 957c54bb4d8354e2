import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { globMatcher } from "../../src/tools/glob.ts";
import { isIgnored, parseIgnoreRules } from "../../src/tools/ignore-rules.ts";
import { use, workbench } from "./workbench.ts";

function plant(root: string, files: Record<string, string>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

test("[C6] grep finds lines by expression or plain text, in files that a glob names", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  plant(bench.cwd, {
    "a.ts": "const a = 1;\nfunction f(x) {}\n",
    "src/b.ts": "f(x)\nF(X)\n",
    "src/c.md": "f(x)\n",
    "picture.bin": "f(x)\0",
  });
  expect((await use(tools, "grep", { pattern: "f\\(\\w\\)" })).text).toBe(
    "a.ts:2: function f(x) {}\nsrc/b.ts:1: f(x)\nsrc/c.md:1: f(x)",
  );
  expect((await use(tools, "grep", { pattern: "f(x)", literal: true, glob: "*.md" })).text).toBe(
    "src/c.md:1: f(x)",
  );
  expect(
    (
      await use(tools, "grep", {
        pattern: "f(x)",
        literal: true,
        ignoreCase: true,
        path: "src/b.ts",
      })
    ).text,
  ).toBe("src/b.ts:1: f(x)\nsrc/b.ts:2: F(X)");
  expect((await use(tools, "grep", { pattern: "nothing" })).text).toBe("No line matches.");
  const broken = await use(tools, "grep", { pattern: "f(" });
  expect(broken).toMatchObject({ isError: true });
  expect(broken.text).toContain("not a regular expression");
});

test("[C6] grep shows lines around a match once, and separates what is apart", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  plant(bench.cwd, { "x.txt": "1\nhit\n3\nhit\n5\n6\n7\n8\nhit" });
  expect((await use(tools, "grep", { pattern: "hit", context: 1 })).text).toBe(
    [
      "x.txt-1- 1",
      "x.txt:2: hit",
      "x.txt-3- 3",
      "x.txt:4: hit",
      "x.txt-5- 5",
      "--",
      "x.txt-8- 8",
      "x.txt:9: hit",
    ].join("\n"),
  );
});

test("[C6] searches leave out .git, node_modules and what .gitignore names, also one of a folder above", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  plant(bench.cwd, {
    ".git/config": "here",
    ".gitignore": "dist/\n*.log\n!keep.log\n/top.txt\n",
    "node_modules/m/index.js": "here",
    "dist/out.js": "here",
    "a.log": "here",
    "keep.log": "here",
    "top.txt": "here",
    "pkg/top.txt": "here",
    "pkg/.gitignore": "*.tmp\n",
    "pkg/b.tmp": "here",
    "pkg/dist/out.js": "here",
    ".github/flow.yml": "here",
  });
  expect((await use(tools, "grep", { pattern: "here" })).text.split("\n")).toEqual([
    ".github/flow.yml:1: here",
    "keep.log:1: here",
    "pkg/top.txt:1: here",
  ]);
  expect((await use(tools, "find", { pattern: "**/*.{log,js,tmp}", path: "pkg" })).text).toBe(
    "Nothing matches.",
  );
  expect((await use(tools, "find", { pattern: "top.*" })).text).toBe("pkg/top.txt");
  expect((await use(tools, "find", { pattern: "pk?" })).text).toBe("pkg/");
});

test("[C6] a search says that there is more, cuts long lines and follows no link", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  plant(bench.cwd, { "long.txt": `hit${"x".repeat(5_000)}\nhit\nhit\n`, "a/b": "", "a/c": "" });
  symlinkSync("..", join(bench.cwd, "a/loop"));
  const found = await use(tools, "grep", { pattern: "hit", limit: 2 });
  expect(found.text).toContain("[There is more than these 2. Narrow the search, or raise limit.]");
  expect(found.text.length).toBeLessThan(700);
  expect((await use(tools, "find", { pattern: "**", path: "a" })).text).toBe("a/b\na/c");
});

test("[C7] an expression that never ends stalls nobody and ends with the call's signal", async () => {
  using bench = workbench();
  const tools = await bench.tools();
  plant(bench.cwd, { "x.txt": `${"a".repeat(60)}!` });
  const cancel = new AbortController();
  const searching = use(tools, "grep", { pattern: "^(a+)+$" }, { signal: cancel.signal });
  // The loop turns while the search is stuck in its own thread.
  for (let turn = 0; turn < 1_000; turn++) await new Promise((resolve) => setImmediate(resolve));
  cancel.abort(new Error("cancelled"));
  expect(await searching).toMatchObject({ isError: true, text: "cancelled" });
});

test("[C6] a glob matches names and paths as shells do", () => {
  const cases: [string, string, boolean][] = [
    ["*.ts", "src/a.ts", true],
    ["*.ts", "a.tsx", false],
    ["src/*.ts", "src/a.ts", true],
    ["src/*.ts", "src/b/a.ts", false],
    ["src/**/*.ts", "src/a.ts", true],
    ["src/**/*.ts", "src/b/c/a.ts", true],
    ["**/test/**", "a/test/b/c", true],
    ["*.{ts,js}", "x.js", true],
    ["[a-c].md", "b.md", true],
    ["[!a-c].md", "b.md", false],
    ["a+(b).txt", "a+(b).txt", true],
    ["\\*.txt", "*.txt", true],
    ["\\*.txt", "a.txt", false],
    ["{open", "{open", true],
    ["*", ".env", true],
  ];
  for (const [pattern, path, isMatch] of cases)
    expect([pattern, path, globMatcher(pattern)(path)]).toEqual([pattern, path, isMatch]);
});

test("[C6] ignore rules: the last match decides, deeper files win, odd lines do no harm", () => {
  const stack = [
    parseIgnoreRules("/r", "# note\n\n*.o\n!a.o\ndoc/*.txt\nbuild/\n\\#x\n[z-a]\n"),
    parseIgnoreRules("/r/sub", "a.o\n"),
  ];
  const ignored = (path: string, isFolder = false) => isIgnored(stack, path, isFolder);
  expect(ignored("/r/x/b.o")).toBe(true);
  expect(ignored("/r/a.o")).toBe(false);
  expect(isIgnored(stack, "/r/sub/a.o", false)).toBe(true);
  expect(ignored("/r/doc/a.txt")).toBe(true);
  expect(ignored("/r/doc/x/a.txt")).toBe(false);
  expect(ignored("/r/build")).toBe(false);
  expect(ignored("/r/x/build", true)).toBe(true);
  expect(ignored("/r/#x")).toBe(true);
});
