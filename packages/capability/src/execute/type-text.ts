// A JSON Schema as the text of a TypeScript type. What it says is never narrower than the schema; what has no place in
// a type (patterns, bounds) is left out, and what is too deep or too long is `unknown`.

import { isList, isObject, listAt, memberOf, objectAt, textAt } from "../connectors/read-json.ts";
import type { Json, JsonObject, JsonSchema } from "../json.ts";
import { visible } from "../visible.ts";

export interface TypeOptions {
  /** Characters that all may take together; what comes later is `unknown`. */
  readonly budget: number;
  /** How deep types may stand in each other. */
  readonly depth: number;
  /** Descriptions and defaults as comments, over several lines. */
  readonly comments: boolean;
  /** What a reference is called; undefined writes out what it points at. */
  readonly name?: (pointer: string) => string;
}

const most = { literals: 80, comment: 240, members: 400, parts: 60 };

export class TypeWriter {
  readonly #root: JsonSchema;
  readonly #options: TypeOptions;
  #left: number;

  constructor(root: JsonSchema, options: TypeOptions) {
    this.#root = root;
    this.#options = options;
    this.#left = options.budget;
  }

  /** Whether something was left out for its length. */
  get isCut(): boolean {
    return this.#left < 0;
  }

  /** What `pointer` (`#`, `#/$defs/Tree`) points at. */
  at(pointer: string): Json | undefined {
    if (pointer === "#") return this.#root;
    if (!pointer.startsWith("#/")) return undefined;
    let here: Json | undefined = this.#root;
    for (const part of pointer.slice(2).split("/")) {
      const key = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
      if (isList(here)) here = /^\d{1,6}$/.test(key) ? here[Number(key)] : undefined;
      else here = isObject(here) ? memberOf(here, key) : undefined;
    }
    return here;
  }

  write(schema: Json | undefined, depth = 0, margin = ""): string {
    if (schema === false) return "never";
    if (!isObject(schema)) return "unknown";
    if (depth > this.#options.depth || this.#left < 0) return "unknown";
    const parts = this.#partsOf(schema, depth, margin).filter((part) => part !== "unknown");
    const type = parts.length === 1 ? parts[0]! : both(parts);
    if (schema["nullable"] !== true || type === "unknown") return type;
    return either([type, "null"]);
  }

  /** All of which holds at once. */
  #partsOf(schema: JsonObject, depth: number, margin: string): string[] {
    const next = (inner: Json) => this.write(inner, depth + 1, margin);
    const parts: string[] = [];
    const reference = textAt(schema, "$ref");
    if (reference !== undefined) parts.push(this.#reference(reference, depth, margin));
    if (Object.hasOwn(schema, "const")) parts.push(this.#enumeration([schema["const"] ?? null]));
    else if (isList(schema["enum"])) parts.push(this.#enumeration(schema["enum"]));
    else parts.push(this.#own(schema, depth, margin));
    for (const part of listAt(schema, "allOf").slice(0, most.parts)) parts.push(next(part));
    for (const word of ["oneOf", "anyOf"]) {
      const choices = listAt(schema, word);
      if (choices.length === 0) continue;
      if (choices.length > most.parts) parts.push("unknown");
      else parts.push(either(choices.map(next)));
    }
    return parts;
  }

  #reference(pointer: string, depth: number, margin: string): string {
    const target = this.at(pointer);
    if (target === undefined || this.#isHollow(target)) return "unknown";
    const { name } = this.#options;
    return name ? this.#spent(name(pointer)) : this.write(target, depth + 1, margin);
  }

  /** Whether it is nothing but itself, by way of others: no type can be that. */
  #isHollow(schema: Json): boolean {
    const seen = new Set<Json>();
    const open: Json[] = [schema];
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      if (!isObject(one)) continue;
      const reference = textAt(one, "$ref");
      const target = reference === undefined ? undefined : this.at(reference);
      const parts = ["allOf", "oneOf", "anyOf"].flatMap((word) => listAt(one, word));
      for (const next of target === undefined ? parts : [...parts, target]) {
        if (next === schema) return true;
        if (!seen.has(next)) open.push(next);
        seen.add(next);
      }
    }
    return false;
  }

  #enumeration(values: readonly Json[]): string {
    if (values.length === 0) return "never";
    const said = values.length <= most.literals ? either(values.map(literal)) : undefined;
    if (said !== undefined && said.length <= this.#left) return this.#spent(said);
    return either(values.map((value) => (value === null ? "null" : kindOf(value))));
  }

  /** What `type` and the words of that type say. */
  #own(schema: JsonObject, depth: number, margin: string): string {
    const types = typesOf(schema).map(String);
    if (types.length === 0) return "unknown";
    return either(
      types.map((type) => {
        switch (type) {
          case "object":
            return this.#object(schema, depth, margin);
          case "array":
            return this.#array(schema, depth, margin);
          case "integer":
            return this.#spent("number");
          case "string":
          case "number":
          case "boolean":
          case "null":
            return this.#spent(type);
          default:
            return "unknown";
        }
      }),
    );
  }

  #object(schema: JsonObject, depth: number, margin: string): string {
    const members = Object.entries(objectAt(schema, "properties") ?? {});
    const required = new Set(listAt(schema, "required"));
    const rest = this.#rest(schema, depth, margin);
    if (members.length === 0)
      return rest === undefined
        ? this.#spent("{ [name: string]: unknown }")
        : this.#spent(`{ [name: string]: ${rest} }`);
    const { comments } = this.#options;
    const inner = comments ? `${margin}  ` : margin;
    const lines: string[] = [];
    for (const [name, member] of members.slice(0, most.members)) {
      if (this.#left < name.length) break;
      const mark = required.has(name) ? "" : "?";
      const comment = comments ? this.#spent(commentOf(member, inner)) : "";
      const key = this.#spent(keyOf(name));
      lines.push(
        `${comment}${comments ? inner : ""}${key}${mark}: ${this.write(member, depth + 1, inner)};`,
      );
    }
    const isWhole = lines.length === members.length;
    if (!isWhole || rest === "unknown")
      lines.push(`${comments ? inner : ""}[name: string]: unknown;`);
    const body = comments ? `{\n${lines.join("\n")}\n${margin}}` : `{ ${lines.join(" ")} }`;
    const isTyped = rest !== undefined && rest !== "unknown" && rest !== "never";
    return isTyped && isWhole ? `(${body} & { [name: string]: ${rest} })` : body;
  }

  /** The type of the members that are not named; undefined where nothing is said of them. */
  #rest(schema: JsonObject, depth: number, margin: string): string | undefined {
    const others = Object.values(objectAt(schema, "patternProperties") ?? {});
    const { additionalProperties: more } = schema;
    if (more !== undefined && more !== false) others.push(more);
    if (others.length > 0)
      return either(
        others.map((other) => (other === true ? "unknown" : this.write(other, depth + 1, margin))),
      );
    return more === false ? "never" : undefined;
  }

  #array(schema: JsonObject, depth: number, margin: string): string {
    const { items } = schema;
    const first = isList(items) ? items : listAt(schema, "prefixItems");
    const others = isList(items) ? schema["additionalItems"] : items;
    const next = (inner: Json | undefined) => this.write(inner, depth + 1, margin);
    if (first.length === 0 || first.length > most.parts) {
      if (others === false && first.length === 0) return this.#spent("[]");
      const item = first.length === 0 ? next(others) : "unknown";
      return this.#spent(/^[\w.]+$/.test(item) ? `${item}[]` : `(${item})[]`);
    }
    const least = typeof schema["minItems"] === "number" ? schema["minItems"] : 0;
    const places = first.map((item, at) => `(${next(item)})${at < least ? "" : "?"}`);
    if (others !== false) {
      const rest = next(others);
      // A compiler resolves such a rest at once, so one that leads back to its own type is refused.
      places.push(`...${/^[a-z]+$/.test(rest) ? rest : "unknown"}[]`);
    }
    return this.#spent(`[${places.join(", ")}]`);
  }

  #spent(text: string): string {
    this.#left -= text.length;
    return text;
  }
}

/** What a value is described with, as one line of a comment; empty where there is nothing to say. */
export function commentOf(schema: Json | undefined, margin: string): string {
  if (!isObject(schema)) return "";
  const said = [
    cutLine(textAt(schema, "description") ?? textAt(schema, "title") ?? "", most.comment),
    textAt(schema, "format") === undefined
      ? ""
      : `(${cutLine(textAt(schema, "format") ?? "", 40)})`,
    Object.hasOwn(schema, "default")
      ? `Default: ${cutLine(JSON.stringify(schema["default"]), 80)}`
      : "",
  ].filter((text) => text !== "");
  return said.length === 0 ? "" : `${margin}/** ${said.join(" ")} */\n`;
}

/** A text in one line, with nothing unseen, that ends no comment. */
export function cutLine(text: string, limit: number): string {
  const line = visible(text.slice(0, limit * 4))
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .replaceAll("*/", "* /")
    .trim();
  return line.length > limit
    ? `${line.slice(0, limit - 1).trimEnd()}…`.replace(/[\ud800-\udbff]…$/, "…")
    : line;
}

/** A property's name as it stands in a type. */
export function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) && !contextual.has(name) ? name : quoted(name);
}

/** Words that begin something else than a property's name where they stand. */
const contextual: ReadonlySet<string> = new Set(["new", "get", "set", "readonly", "__proto__"]);

function typesOf(schema: JsonObject): readonly Json[] {
  const { type } = schema;
  if (typeof type === "string") return [type];
  if (isList(type)) return type;
  if (
    ["properties", "additionalProperties", "patternProperties"].some((word) =>
      isObject(schema[word]),
    )
  )
    return ["object"];
  return ["items", "prefixItems"].some((word) => Object.hasOwn(schema, word)) ? ["array"] : [];
}

function literal(value: Json): string {
  if (typeof value === "string") return quoted(value);
  if (isList(value)) return `[${value.map(literal).join(", ")}]`;
  if (isObject(value))
    return `{ ${Object.entries(value)
      .map(([name, member]) => `${keyOf(name)}: ${literal(member)};`)
      .join(" ")} }`;
  return String(value);
}

function kindOf(value: Json): string {
  return typeof value === "object" ? "unknown" : typeof value;
}

/** A string as code writes it; half characters, line separators and what nobody sees as escapes. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u2028\u2029\u007f-\u009f\p{Cf}\p{Default_Ignorable_Code_Point}]/gu,
    (unit) =>
      [...Array(unit.length).keys()]
        .map((at) => `\\u${unit.charCodeAt(at).toString(16).padStart(4, "0")}`)
        .join(""),
  );
}

/** One of them. */
function either(types: readonly string[]): string {
  const unique = [...new Set(types)];
  if (unique.length === 0 || unique.includes("unknown")) return "unknown";
  const some = unique.filter((type) => type !== "never");
  if (some.length <= 1) return some[0] ?? "never";
  return `(${some.join(" | ")})`;
}

/** All of them. */
function both(types: readonly string[]): string {
  const unique = [...new Set(types)];
  if (unique.length <= 1) return unique[0] ?? "unknown";
  return `(${unique.join(" & ")})`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
