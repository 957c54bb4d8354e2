// SPEC.md and the tests say the same: every promise is proved by a test that names it, every test names a promise.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;
const spec = readFileSync(join(root, "SPEC.md"), "utf8");
const promised = [...spec.matchAll(/^- \*\*([A-Z]{1,2}[0-9]+)\*\*/gm)].map((match) => match[1]!);

const sources = ["packages", "apps", "test"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) =>
      join(folder, file),
    ),
  )
  .filter((file) => /\.(test|contract)\.ts$/.test(file) && !file.includes("node_modules"));

const texts = sources.map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));

const names = texts.flatMap(({ file, text }) =>
  [...text.matchAll(/^\s*(?:test|it)(?:\.each\(.*?\))?\(\s*(["'`])((?:\\.|(?!\1).)*)\1/gms)].map(
    (match) => ({ file, name: match[2]! }),
  ),
);

/** Promises by number, wherever a test's name is written: some suites are handed theirs. */
const cited = new Set(
  texts.flatMap(({ text }) =>
    [...text.matchAll(/["'`]\[([A-Z]{1,2}[0-9]+)\] /g)].map((it) => it[1]!),
  ),
);

test("[W23] every test name begins with the number of a promise", () => {
  expect(names.length).toBeGreaterThan(100);
  // A name that begins with a variable is one that was handed to the suite: its text is among the cited.
  const nameless = names.filter(
    ({ name }) => !name.startsWith("${") && !/^\[[A-Z]{1,2}[0-9]+\] /.test(name),
  );
  expect(nameless).toEqual([]);
  expect([...cited].filter((id) => !promised.includes(id))).toEqual([]);
});

test("[W24] every promise is proved by at least one test that names it", () => {
  expect(promised.filter((id) => !cited.has(id))).toEqual([]);
});

test("[W25] no two promises share a number", () => {
  expect(promised.filter((id, at) => promised.indexOf(id) !== at)).toEqual([]);
});
