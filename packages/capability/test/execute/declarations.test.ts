// Types for code, checked by the compiler that they are written for.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { JsonObject, JsonSchema } from "@lichen/capability";
import { declarationsOf } from "@lichen/capability/execute";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { githubOperations } from "./github.ts";
import { namespace, operation } from "./surfaces.ts";

const root = new URL("../../../../", import.meta.url).pathname;

/** What the compiler says of these modules. */
async function compiled(modules: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "lichen-types-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const files = modules.map(
    (text, at) => [join(folder, `m${at}.ts`), `${text}\nexport {};\n`] as const,
  );
  for (const [file, text] of files) await writeFile(file, text);
  const tsc = join(root, "node_modules/.bin/tsc");
  const flags = [
    "--noEmit",
    "--strict",
    "--ignoreConfig",
    "--skipLibCheck",
    "--target",
    "es2024",
    "--types",
    "",
  ];
  return promisify(execFile)(tsc, [...flags, ...files.map(([file]) => file)], {
    cwd: folder,
    maxBuffer: 1e8,
  }).then(
    () => "",
    (error: { stdout?: string; message: string }) =>
      withModule(modules, error.stdout ?? error.message),
  );
}

/** What the compiler says, with the first module that it says it of. */
function withModule(modules: readonly string[], said: string): string {
  const at = /^m(\d+)\.ts/m.exec(said)?.[1];
  return `${said.slice(0, 2_000)}\n${at === undefined ? "" : modules[Number(at)]}`;
}

function written(input: JsonSchema, output?: JsonSchema): string {
  const it = operation("call", { input, description: "", ...(output ? { output } : {}) });
  return declarationsOf([{ namespace: namespace("api", [it]), operation: it }]);
}

function typeOf(schema: JsonSchema): string {
  return written({ type: "object" }, schema).replace(/^.*?Promise<(.*?)>;\n\}.*$/s, "$1");
}

test(
  "[D9] what GitHub's whole document lends is TypeScript that compiles",
  { timeout: 120_000 },
  async () => {
    const operations = await githubOperations();
    expect(operations.length).toBeGreaterThan(1_000);
    const github = namespace("github", []);
    const found = operations.map((it, at) => ({
      namespace: github,
      operation: { ...it, property: `op${at}` },
    }));
    const modules: string[] = [];
    for (let at = 0; at < found.length; at += 10)
      modules.push(declarationsOf(found.slice(at, at + 10)));
    for (const text of modules) expect(text.length).toBeLessThan(250_000);
    expect(await compiled(modules)).toBe("");
  },
);

test("[D9] unions, tuples, records, recursion and what has no type are said as they are", async () => {
  const types: [JsonSchema, string][] = [
    [{ enum: ["a", 'b"', 1, null] }, '("a" | "b\\"" | 1 | null)'],
    [{ const: { a: [1] } }, "{ a: [1]; }"],
    [{ type: ["string", "null"] }, "(string | null)"],
    [{ type: "string", nullable: true }, "(string | null)"],
    [{ type: "array", items: { type: "integer" } }, "number[]"],
    [
      { type: "array", prefixItems: [{ type: "string" }, {}], items: false, minItems: 1 },
      "[(string), (unknown)?]",
    ],
    [{ type: "object", additionalProperties: { type: "number" } }, "{ [name: string]: number }"],
    [{ type: "object", additionalProperties: false }, "{ [name: string]: never }"],
    [{ oneOf: [{ type: "string" }, { type: "number" }] }, "(string | number)"],
    [{ anyOf: [{ type: "string" }, {}] }, "unknown"],
    [{ not: {} }, "unknown"],
  ];
  for (const [given, expected] of types) expect(typeOf(given)).toBe(expected);
  const built = operation("new", { description: "" });
  expect(declarationsOf([{ namespace: namespace("api", [built]), operation: built }])).toContain(
    '"new"(input?: ',
  );
  const tree: JsonSchema = {
    type: "object",
    properties: {
      "the name": { type: "string", description: "Ends */ here", default: "x" },
      next: { $ref: "#/$defs/tree-node" },
    },
    required: ["the name"],
    $defs: {
      "tree-node": {
        type: "object",
        properties: {
          children: { type: "array", items: { $ref: "#/$defs/tree-node" } },
          root: { $ref: "#" },
        },
      },
    },
  };
  const text = written(tree);
  expect(text).toContain('    /** Ends * / here Default: "x" */\n    "the name": string;');
  expect(text).toContain("next?: TreeNode;");
  expect(text).toContain("children?: TreeNode[];");
  expect(text).toContain("root?: Input;");
  expect(
    await compiled([
      text,
      written({ $ref: "#/nowhere" }),
      written({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } }),
    ]),
  ).toBe("");
});

test("[G25] what nobody sees is left out of a type's words and escaped in its names and choices", () => {
  const hidden = "a\u{e0041}\u202eb\ufe0fc";
  const text = written({
    type: "object",
    properties: { [hidden]: { description: hidden, enum: [hidden] } },
  });
  expect(text).toContain(
    '/** abc */\n    "a\\udb40\\udc41\\u202eb\\ufe0fc"?: "a\\udb40\\udc41\\u202eb\\ufe0fc";',
  );
});

test("[D9] whatever a schema says, its type compiles", { timeout: 60_000 }, async () => {
  const names = fc.oneof(
    fc.constantFrom("a", "new", "get", "__proto__", "constructor", "it's", "1", "", "\u2028", "*/"),
    fc.string({ maxLength: 8 }),
  );
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => {
    const inner = tie("schema");
    const some = fc.array(inner, { maxLength: 3 });
    return {
      schema: fc.oneof(
        { depthSize: "small", withCrossShrink: true },
        fc.record({
          type: fc.constantFrom("string", "integer", "boolean", "null", "object", "array", "odd"),
        }),
        fc
          .constantFrom("#", "#/$defs/one", "#/$defs/two", "#/$defs/none", "elsewhere")
          .map(($ref) => ({ $ref })),
        fc.record({ enum: fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 4 }) }),
        fc.record({ const: fc.jsonValue({ maxDepth: 2 }) }),
        fc.record(
          {
            type: fc.constant("object"),
            description: fc.string(),
            properties: fc.dictionary(names, inner, { maxKeys: 4 }),
            required: fc.array(names, { maxLength: 2 }),
            additionalProperties: fc.oneof(fc.boolean(), inner),
            patternProperties: fc.dictionary(names, inner, { maxKeys: 1 }),
          },
          { requiredKeys: ["type"] },
        ),
        fc.record({
          items: fc.oneof(inner, some, fc.boolean()),
          additionalItems: fc.oneof(inner, fc.boolean()),
        }),
        fc.record({ prefixItems: some, items: fc.oneof(inner, fc.boolean()), minItems: fc.nat(3) }),
        fc.record({ oneOf: some }),
        fc.record({ anyOf: some, nullable: fc.boolean() }),
        fc.record({ allOf: some, type: fc.constantFrom("object", "string") }),
      ) as fc.Arbitrary<JsonObject>,
    };
  });
  const roots = fc.record({ root: schema, one: schema, two: schema });
  const modules = fc
    .sample(roots, 300)
    .map(({ root: given, one, two }) =>
      written(
        { ...given, $defs: { one, two } },
        { $ref: "#/$defs/two", $defs: { one: two, two: one } },
      ),
    );
  expect(await compiled(modules)).toBe("");
});
