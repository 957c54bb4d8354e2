// The schemas of a document as JSON Schema 2020-12. What several operations share is read once and shared by them: an
// operation's schema holds, below `$defs`, exactly those that it reaches, so that cycles stay what they are.
//
// A 3.0 schema is translated (`nullable`, exclusive bounds that are true). What the sender must not send (`readOnly`)
// is not required of an input, what the server does not send (`writeOnly`) not of an output.

import type { Json, JsonObject, JsonSchema } from "../../json.ts";
import { isList, isObject, memberOf, oneLine, textAt } from "../read-json.ts";
import { at, lastPart } from "./pointer.ts";

export type Direction = "input" | "output";

const maxDepth = 64;
const maxWords = 300;
/** Of one schema; what it reaches beyond is described by nothing. */
const maxDefinitions = 1_000;
/** Keywords whose value is one schema, several by name, or several in a row. */
const single = ["additionalProperties", "contains", "else", "if", "items", "not", "propertyNames"];
const byName = ["properties", "patternProperties", "dependentSchemas"];
const inRow = ["allOf", "anyOf", "oneOf", "prefixItems"];
const plain = [
  ...["type", "enum", "const", "default", "format", "pattern", "required", "deprecated"],
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "minItems", "maxItems", "uniqueItems"],
  ...["minProperties", "maxProperties", "contentEncoding", "contentMediaType"],
];

interface Definition {
  readonly schema: Json;
  /** Names of the definitions it mentions. */
  readonly mentions: ReadonlySet<string>;
}

export class Schemas {
  readonly #document: JsonObject;
  readonly #isOld: boolean;
  readonly #names = new Map<string, string>();
  readonly #refs = new Map<string, string>();
  readonly #definitions = {
    input: new Map<string, Definition>(),
    output: new Map<string, Definition>(),
  };

  /** Of a document of version 3.0 (`isOld`) or 3.1. */
  constructor(document: JsonObject, isOld: boolean) {
    this.#document = document;
    this.#isOld = isOld;
  }

  /** A schema, and the names of the definitions it mentions added to `mentions`. */
  read(schema: Json | undefined, direction: Direction, mentions: Set<string>): Json {
    return this.#read(schema, direction, mentions, 0);
  }

  /** Everything that these names reach, for the `$defs` of a schema. */
  definitions(names: ReadonlySet<string>, direction: Direction): { $defs?: JsonObject } {
    const reached: Record<string, Json> = {};
    const waiting = [...names];
    let count = 0;
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      if (Object.hasOwn(reached, name)) continue;
      if (++count > maxDefinitions) {
        reached[name] = {};
        continue;
      }
      const definition = this.#definition(name, direction);
      reached[name] = definition.schema;
      waiting.push(...definition.mentions);
    }
    return Object.keys(reached).length === 0 ? {} : { $defs: reached };
  }

  /** A schema that stands for itself, with its definitions. */
  whole(schema: Json | undefined, direction: Direction): JsonSchema {
    const mentions = new Set<string>();
    const read = this.read(schema, direction, mentions);
    return { ...(isObject(read) ? read : {}), ...this.definitions(mentions, direction) };
  }

  #definition(name: string, direction: Direction): Definition {
    const known = this.#definitions[direction].get(name);
    if (known) return known;
    const mentions = new Set<string>();
    const schema = this.#read(at(this.#document, this.#refs.get(name)!), direction, mentions, 0);
    const definition = { schema, mentions };
    this.#definitions[direction].set(name, definition);
    return definition;
  }

  #read(value: Json | undefined, direction: Direction, mentions: Set<string>, depth: number): Json {
    if (typeof value === "boolean") return value;
    if (!isObject(value) || depth > maxDepth) return {};
    const read: Record<string, Json> = {};
    const ref = textAt(value, "$ref");
    if (ref !== undefined) {
      if (at(this.#document, ref) === undefined)
        return { description: `Described elsewhere: ${ref.slice(0, 100)}` };
      const name = this.#nameOf(ref);
      mentions.add(name);
      read["$ref"] = `#/$defs/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      if (this.#isOld) return read;
    }
    const inner = (part: Json | undefined) => this.#read(part, direction, mentions, depth + 1);
    const words = textAt(value, "description");
    if (words) read["description"] = oneLine(words, maxWords);
    for (const keyword of plain) {
      const member = memberOf(value, keyword);
      if (member !== undefined) read[keyword] = member;
    }
    for (const keyword of single) {
      const member = memberOf(value, keyword);
      if (member !== undefined) read[keyword] = inner(member);
    }
    for (const keyword of inRow) {
      const member = memberOf(value, keyword);
      if (isList(member)) read[keyword] = member.map(inner);
    }
    for (const keyword of byName) {
      const member = memberOf(value, keyword);
      if (isObject(member))
        read[keyword] = Object.fromEntries(
          Object.entries(member).map(([name, part]) => [name, inner(part)]),
        );
    }
    this.#dropHidden(read, value, direction);
    return this.#isOld ? modern(read, value) : read;
  }

  #dropHidden(read: Record<string, Json>, value: JsonObject, direction: Direction): void {
    const required = memberOf(value, "required");
    const properties = memberOf(value, "properties");
    if (!isList(required)) return void delete read["required"];
    if (!isObject(properties)) return;
    const hidden = direction === "input" ? "readOnly" : "writeOnly";
    const kept = required.filter((name) => {
      const property = typeof name === "string" ? memberOf(properties, name) : undefined;
      return !isObject(property) || memberOf(property, hidden) !== true;
    });
    if (kept.length > 0) read["required"] = kept;
    else delete read["required"];
  }

  /** `#/components/schemas/Pet` is `Pet`; another one of that name gets a number. */
  #nameOf(ref: string): string {
    const known = this.#names.get(ref);
    if (known !== undefined) return known;
    const told = lastPart(ref);
    const last = told === "" || told === "__proto__" ? "schema" : told;
    let name = last;
    for (let number = 2; this.#refs.has(name); number++) name = `${last}_${number}`;
    this.#names.set(ref, name);
    this.#refs.set(name, ref);
    return name;
  }
}

/** A 3.0 schema's own words in today's. */
function modern(read: Record<string, Json>, old: JsonObject): Json {
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (typeof read[exclusive] !== "boolean") continue;
    const isExclusive = read[exclusive];
    delete read[exclusive];
    if (!isExclusive || read[bound] === undefined) continue;
    read[exclusive] = read[bound];
    delete read[bound];
  }
  if (memberOf(old, "nullable") !== true) return read;
  const choices = read["enum"];
  if (isList(choices) && !choices.includes(null)) read["enum"] = [...choices, null];
  if (typeof read["type"] === "string") return { ...read, type: [read["type"], "null"] };
  const isFree = !["allOf", "anyOf", "oneOf", "enum", "const"].some((keyword) => keyword in read);
  return isFree ? read : { anyOf: [read, { type: "null" }] };
}
