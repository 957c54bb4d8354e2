// SPEC.md and the tests say the same: every promise is proved by a test that names it, every test names a promise.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;
const spec = readFileSync(join(root, "SPEC.md"), "utf8");
const promised = [...spec.matchAll(/^- \*\*([A-Z][0-9]+)\*\*/gm)].map((match) => match[1]!);

const sources = ["packages", "apps", "test"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) =>
      join(folder, file),
    ),
  )
  .filter((file) => /\.(test|contract)\.ts$/.test(file) && !file.includes("node_modules"));

const names = sources.flatMap((file) =>
  [
    ...readFileSync(join(root, file), "utf8").matchAll(
      /\b(?:test|it)(?:\.\w+\([^)]*\))?\(\s*(["'`])((?:\\.|(?!\1).)*)\1/gs,
    ),
  ].map((match) => ({ file, name: match[2]! })),
);

test("[W23] every test name begins with the number of a promise", () => {
  expect(names.length).toBeGreaterThan(100);
  const nameless = names.filter(
    ({ name }) => !promised.includes(/^\[([A-Z][0-9]+)\] /.exec(name)?.[1] ?? ""),
  );
  expect(nameless).toEqual([]);
});

test("[W24] every promise is proved by at least one test that names it", () => {
  const proved = new Set(names.map(({ name }) => /^\[([A-Z][0-9]+)\]/.exec(name)?.[1]));
  expect(promised.filter((id) => !proved.has(id))).toEqual([]);
});

test("[W25] no two promises share a number", () => {
  expect(promised.filter((id, at) => promised.indexOf(id) !== at)).toEqual([]);
});
