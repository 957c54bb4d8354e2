// Operations as TypeScript declarations: what code may call, with what, and what it gets.
//
//   The text is always a program that a TypeScript compiler takes: every type that it names is in it.

import type { JsonSchema } from "../json.ts";
import { commentOf, cutLine, keyOf, TypeWriter } from "./type-text.ts";
import type { Found } from "./search.ts";

export interface DeclarationOptions {
  /** Characters that the types of one operation's input may take, and those of what it answers. */
  readonly inputBudget?: number;
  readonly outputBudget?: number;
}

const usual = { inputBudget: 12_000, outputBudget: 6_000 };
const depth = 16;

/** Declarations of all these operations, by namespace, with the types that they name. */
export function declarationsOf(all: readonly Found[], options: DeclarationOptions = {}): string {
  const types = new Map<string, string>();
  const spaces = new Map<string, string[]>();
  for (const found of all) {
    const { namespace, operation } = found;
    const written = settled(found, { ...usual, ...options }, types);
    for (const [name, text] of written.types) types.set(name, text);
    const members = spaces.get(namespace.name) ?? [];
    members.push(
      `${docOf(found)}  ${keyOf(operation.property)}(${written.input}): Promise<${written.output}>;`,
    );
    spaces.set(namespace.name, members);
  }
  return [
    ...[...spaces].map(([name, members]) => `declare const ${name}: {\n${members.join("\n")}\n};`),
    ...types.values(),
  ].join("\n\n");
}

/** One operation as a call in one line: `github.reposGet({ owner: string; repo: string; })`. */
export function signatureOf({ namespace, operation }: Found, limit = 400): string {
  const writer = new TypeWriter(operation.input, { budget: limit, depth: 3, comments: false });
  const input = writer.write(operation.input);
  const name = `${namespace.name}.${operation.property}`;
  return hasMembers(operation.input) ? `${name}(${input})` : `${name}({})`;
}

interface Written {
  readonly input: string;
  readonly output: string;
  readonly types: ReadonlyMap<string, string>;
}

/** Types of other operations may have the same name and mean something else: those of this one are renamed then. */
function settled(found: Found, budgets: typeof usual, taken: ReadonlyMap<string, string>): Written {
  const renamed = new Map<string, string>();
  for (;;) {
    const written = write(found, budgets, renamed);
    const clashes = [...written.types].filter(([name, text]) => (taken.get(name) ?? text) !== text);
    if (clashes.length === 0) return written;
    for (const [name] of clashes) {
      const base = [...renamed].find(([, now]) => now === name)?.[0] ?? name;
      let count = 2;
      while (taken.has(`${base}${count}`) || [...renamed.values()].includes(`${base}${count}`))
        count++;
      renamed.set(base, `${base}${count}`);
    }
  }
}

function write(
  { operation }: Found,
  budgets: typeof usual,
  renamed: ReadonlyMap<string, string>,
): Written {
  const types = new Map<string, string>();
  const input = writeRoot(operation.input, budgets.inputBudget, { types, renamed, whole: `Input` });
  const output =
    operation.output === undefined
      ? "unknown"
      : writeRoot(operation.output, budgets.outputBudget, { types, renamed, whole: `Output` });
  const isOptional =
    !Array.isArray(operation.input["required"]) || operation.input["required"].length === 0;
  return { input: `input${isOptional ? "?" : ""}: ${input}`, output, types };
}

interface Naming {
  readonly types: Map<string, string>;
  readonly renamed: ReadonlyMap<string, string>;
  /** What the whole schema is called where it mentions itself. */
  readonly whole: string;
}

/** The type of a schema; the types that it names are added, breadth first, until the budget is spent. */
function writeRoot(root: JsonSchema, budget: number, { types, renamed, whole }: Naming): string {
  const names = new Map<string, string>();
  const waiting: string[] = [];
  const own = new Set(types.keys());
  const writer = new TypeWriter(root, {
    budget,
    depth,
    comments: true,
    name: (pointer) => {
      const known = names.get(pointer);
      if (known !== undefined) return known;
      const base = typeName(pointer, whole);
      let count = 1;
      const numbered = (): string => {
        const tried = count === 1 ? base : `${base}_${count}`;
        return renamed.get(tried) ?? tried;
      };
      while (own.has(numbered())) count++;
      const name = numbered();
      own.add(name);
      names.set(pointer, name);
      waiting.push(pointer);
      return name;
    },
  });
  const text = writer.write(root, 0, "  ");
  for (let pointer = waiting.shift(); pointer !== undefined; pointer = waiting.shift()) {
    const name = names.get(pointer)!;
    const schema = writer.at(pointer);
    types.set(
      name,
      writer.isCut
        ? `type ${name} = unknown; // left out here for its length`
        : `${commentOf(schema, "")}type ${name} = ${writer.write(schema)};`,
    );
  }
  return text;
}

function docOf({ operation }: Found): string {
  const notes = [
    cutLine(operation.description, 600),
    operation.confirm === true ? "A person is asked before it runs." : "",
    operation.label === "read" ? "Only reads." : "",
  ].filter((note) => note !== "");
  return notes.length === 0 ? "" : `  /** ${notes.join(" ")} */\n`;
}

/** `#/$defs/full-repository` is `FullRepository`. */
function typeName(pointer: string, whole: string): string {
  const last = pointer === "#" ? whole : pointer.slice(pointer.lastIndexOf("/") + 1);
  const name = last
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join("")
    .slice(0, 60);
  if (name === "" || /^\d/.test(name)) return `Type${name}`;
  return taken.has(name) ? `${name}Type` : name;
}

/** Names that mean something to the language already. */
const taken: ReadonlySet<string> = new Set(
  "Array Boolean BigInt Date Error Function Infinity JSON Map Math NaN Number Object Partial Pick Promise Proxy Record RegExp Set String Symbol".split(
    " ",
  ),
);

function hasMembers(schema: JsonSchema): boolean {
  const { properties } = schema;
  return (
    (typeof properties === "object" && properties !== null && Object.keys(properties).length > 0) ||
    ["$ref", "allOf", "oneOf", "anyOf"].some((word) => Object.hasOwn(schema, word))
  );
}
