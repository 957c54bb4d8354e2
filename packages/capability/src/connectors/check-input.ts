// Whether a value fits a JSON Schema, as far as that can be told without doubt: what is checked here is refused before
// anything is sent, and what is not (formats, `not`, conditions, exactly one of several) is the server's to refuse.

import { OperationError } from "../failure.ts";
import type { Json, JsonObject, JsonSchema } from "../json.ts";
import { hint } from "./nearest.ts";
import { isList, isObject, memberOf, textAt } from "./read-json.ts";

const maxDepth = 64;
/** How many schemas one value is held to; what a document makes more of is left to its server. */
const maxSteps = 100_000;

/** Throws an `OperationError` (`invalid_input`) that says what does not fit and where. */
export function checkInput(operation: string, input: unknown, schema: JsonSchema): void {
  const problem = misfit(input, schema);
  if (problem !== undefined)
    throw new OperationError("invalid_input", `${operation} was not called: ${problem}`);
}

/** What does not fit, as a sentence; undefined where nothing is known to be wrong. */
function misfit(value: unknown, schema: JsonSchema): string | undefined {
  return check(value, schema, {
    root: schema,
    path: "the input",
    depth: 0,
    steps: { left: maxSteps },
  });
}

interface Place {
  /** What `#/$defs/…` points into. */
  readonly root: JsonSchema;
  readonly path: string;
  readonly depth: number;
  readonly steps: { left: number };
}

function check(value: unknown, schema: Json | undefined, place: Place): string | undefined {
  if (schema === undefined || schema === true) return undefined;
  if (schema === false) return `${place.path} must be left out.`;
  if (!isObject(schema) || place.steps.left-- <= 0) return undefined;
  if (place.depth > maxDepth) return `${place.path} is nested deeper than ${maxDepth} levels.`;
  const inner = { ...place, depth: place.depth + 1 };
  return (
    checkRef(value, schema, inner) ??
    checkType(value, schema, place.path) ??
    checkChoice(value, schema, place.path) ??
    checkCombined(value, schema, inner) ??
    checkText(value, schema, place.path) ??
    checkNumber(value, schema, place.path) ??
    checkItems(value, schema, inner) ??
    checkMembers(value, schema, inner)
  );
}

function checkRef(value: unknown, schema: JsonObject, place: Place): string | undefined {
  const ref = textAt(schema, "$ref");
  if (ref === undefined) return undefined;
  const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(ref)?.[1];
  if (name === undefined) return undefined;
  const key = name.replaceAll("~1", "/").replaceAll("~0", "~");
  const places = [memberOf(place.root, "$defs"), memberOf(place.root, "definitions")];
  const definitions = places.find((it) => isObject(it) && Object.hasOwn(it, key));
  return isObject(definitions) ? check(value, definitions[key], place) : undefined;
}

function checkType(value: unknown, schema: JsonObject, path: string): string | undefined {
  const type = memberOf(schema, "type");
  const types = typeof type === "string" ? [type] : isList(type) ? type.map(String) : [];
  if (types.length === 0 || types.some((it) => isOfType(value, it))) return undefined;
  return `${path} must be ${types.map(named).join(" or ")}, not ${shown(value)}.`;
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "boolean":
    case "string":
      return typeof value === type;
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    default:
      // A type that JSON Schema does not have says nothing.
      return true;
  }
}

function named(type: string): string {
  const words: Record<string, string> = {
    string: "text",
    boolean: "true or false",
    integer: "a whole number",
    number: "a number",
    array: "a list",
    object: "an object",
  };
  return words[type] ?? type;
}

function checkChoice(value: unknown, schema: JsonObject, path: string): string | undefined {
  const fixed = memberOf(schema, "const");
  if (fixed !== undefined && !isSame(value, fixed))
    return `${path} must be ${shown(fixed)}, not ${shown(value)}.`;
  const choices = memberOf(schema, "enum");
  if (!isList(choices) || choices.some((it) => isSame(value, it))) return undefined;
  const few = choices.slice(0, 20).map(shown).join(", ");
  return `${path} must be one of ${few}${choices.length > 20 ? ", …" : ""}; it is ${shown(value)}.`;
}

/** `oneOf` is held to as `anyOf`: which one it is, the server decides. */
function checkCombined(value: unknown, schema: JsonObject, place: Place): string | undefined {
  const all = memberOf(schema, "allOf");
  if (isList(all))
    for (const part of all) {
      const problem = check(value, part, place);
      if (problem !== undefined) return problem;
    }
  for (const keyword of ["anyOf", "oneOf"]) {
    const parts = memberOf(schema, keyword);
    if (!isList(parts) || parts.length === 0) continue;
    const problems = parts.map((part) => check(value, part, place));
    if (problems.includes(undefined)) continue;
    if (parts.length === 1) return problems[0];
    return `${place.path} fits none of the ${parts.length} forms it may have; of the first: ${problems[0]}`;
  }
  return undefined;
}

function checkText(value: unknown, schema: JsonObject, path: string): string | undefined {
  if (typeof value !== "string") return undefined;
  const least = numberAt(schema, "minLength");
  const most = numberAt(schema, "maxLength");
  if (least !== undefined || most !== undefined) {
    // Characters as JSON Schema counts them: code points.
    const length = Array.from(value).length;
    if (least !== undefined && length < least)
      return least === 1
        ? `${path} must not be empty.`
        : `${path} has ${length} characters; it needs at least ${least}.`;
    if (most !== undefined && length > most)
      return `${path} has ${length} characters; at most ${most} are allowed.`;
  }
  const pattern = textAt(schema, "pattern");
  if (pattern === undefined || matches(pattern, value)) return undefined;
  return `${path} must match ${pattern}; it is ${shown(value)}.`;
}

/**
 * Only a pattern that cannot take long is tried: no repeated group, no look-around, a short text, and few places where
 * one match may be tried in several ways, since those multiply.
 */
function matches(pattern: string, value: string): boolean {
  if (pattern.length > 200 || value.length > 1_000) return true;
  if (/\)[*+?{]|\(\?[=!<]|\\[1-9k]/.test(pattern)) return true;
  const open = pattern.replaceAll("(?:", "(").match(/[*+?]|\{\d*,\d*\}/g)?.length ?? 0;
  const choices = pattern.match(/\|/g)?.length ?? 0;
  if (open > 2 || choices > (open === 0 ? 16 : 4)) return true;
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function checkNumber(value: unknown, schema: JsonObject, path: string): string | undefined {
  if (typeof value !== "number") return undefined;
  const bounds: [string, string, (bound: number) => boolean][] = [
    ["minimum", "at least", (bound) => value >= bound],
    ["maximum", "at most", (bound) => value <= bound],
    ["exclusiveMinimum", "more than", (bound) => value > bound],
    ["exclusiveMaximum", "less than", (bound) => value < bound],
  ];
  for (const [keyword, words, fits] of bounds) {
    const bound = numberAt(schema, keyword);
    if (bound !== undefined && !fits(bound))
      return `${path} must be ${words} ${bound}; it is ${value}.`;
  }
  const step = numberAt(schema, "multipleOf");
  if (step !== undefined && Number.isInteger(step) && step > 0 && value % step !== 0)
    return `${path} must be a multiple of ${step}; it is ${value}.`;
  return undefined;
}

function checkItems(value: unknown, schema: JsonObject, place: Place): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const least = numberAt(schema, "minItems");
  const most = numberAt(schema, "maxItems");
  if (least !== undefined && value.length < least)
    return `${place.path} has ${value.length} items; it needs at least ${least}.`;
  if (most !== undefined && value.length > most)
    return `${place.path} has ${value.length} items; at most ${most} are allowed.`;
  const first = memberOf(schema, "prefixItems");
  const rest = memberOf(schema, "items");
  for (const [index, item] of value.entries()) {
    const of = isList(first) && index < first.length ? first[index] : rest;
    const problem = check(item, of, { ...place, path: `${place.path}[${index}]` });
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function checkMembers(value: unknown, schema: JsonObject, place: Place): string | undefined {
  if (!isObject(value)) return undefined;
  const required = memberOf(schema, "required");
  if (isList(required))
    for (const name of required)
      if (typeof name === "string" && !Object.hasOwn(value, name))
        return `${member(place.path, name)} is missing.`;
  const properties = memberOf(schema, "properties");
  const known = isObject(properties) ? properties : {};
  const patterns = memberOf(schema, "patternProperties");
  const others = memberOf(schema, "additionalProperties");
  for (const [name, inner] of Object.entries(value)) {
    const path = member(place.path, name);
    if (Object.hasOwn(known, name)) {
      const problem = check(inner, known[name], { ...place, path });
      if (problem !== undefined) return problem;
    } else if (others === false && !isObject(patterns)) {
      return `${path} is not known.${hint(name, Object.keys(known))}`;
    } else if (isObject(others)) {
      const problem = check(inner, others, { ...place, path });
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function member(path: string, name: string): string {
  const shownName = name.length > 60 ? `${name.slice(0, 59)}…` : name;
  return path === "the input" ? `"${shownName}"` : `${path}.${shownName}`;
}

function numberAt(schema: JsonObject, name: string): number | undefined {
  const value = memberOf(schema, name);
  return typeof value === "number" ? value : undefined;
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "an object";
  if (value === undefined) return "left out";
  const text = JSON.stringify(value) ?? typeof value;
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, at) => isSame(item, b[at]));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isSame(a[name], b[name]))
  );
}
