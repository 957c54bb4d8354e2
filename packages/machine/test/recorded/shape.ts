// Shapes of JSON, written down as data, and in what a value differs from one: a field that is missing, one that is not
// known, a value of another type.
//
//   "string" "number" "count" "boolean" "true" "time" "day" "object" "any" "null"   a value; a count is whole and not negative
//   "'idle'|'working'"      one of several         "Turn"       the shape of that name
//   "Turn[]"                a list                 "Window{}"   an object with any names in it
//   { "a": …, "b?": … }     exactly these fields; "...": "Info" adds those of another, "*": "any" allows any more

import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Shape = string | Fields;
export interface Fields {
  readonly [field: string]: Shape;
}

/** The shapes of a file of this folder. */
export function shapesOf(file: string): Readonly<Record<string, Fields>> {
  return JSON.parse(readFileSync(join(import.meta.dirname, file), "utf8")) as Record<
    string,
    Fields
  >;
}

export class Shapes {
  readonly #named: readonly Readonly<Record<string, Fields>>[];

  /** Of a name that stands in several, the fields of all count. */
  constructor(...named: readonly Readonly<Record<string, Fields>>[]) {
    this.#named = named;
  }

  has(name: string): boolean {
    return this.#named.some((shapes) => Object.hasOwn(shapes, name));
  }

  /** In what a value differs, one line each. */
  differences(value: unknown, shape: Shape, at = "body"): string[] {
    if (typeof shape !== "string") return this.#inFields(value, shape, at);
    const options = shape.split("|").map((option) => this.#inOption(value, option.trim(), at));
    const best = options.toSorted((a, b) => a.length - b.length)[0] ?? [];
    if (best.length === 0) return [];
    // Of several options none is what was meant.
    return options.length === 1 ? best : [`${at}: ${show(value)} is not ${shape}`];
  }

  #inOption(value: unknown, option: string, at: string): string[] {
    if (option.endsWith("[]")) {
      if (!Array.isArray(value)) return [`${at}: ${show(value)} is no list`];
      return value.flatMap((it, n) => this.differences(it, option.slice(0, -2), `${at}[${n}]`));
    }
    if (option.endsWith("{}")) {
      if (!isObject(value)) return [`${at}: ${show(value)} is no object`];
      return Object.entries(value).flatMap(([name, it]) =>
        this.differences(it, option.slice(0, -2), `${at}.${name}`),
      );
    }
    const literal = /^'(.*)'$/.exec(option)?.[1];
    if (literal !== undefined) return is(value === literal, value, option, at);
    const check = values[option];
    if (check) return is(check(value), value, option, at);
    return this.#inFields(value, this.#fieldsOf(option), at);
  }

  #fieldsOf(name: string): Fields {
    if (!this.has(name)) throw new Error(`there is no shape ${name}`);
    const { "...": more, ...own } = Object.assign(
      {},
      ...this.#named.map((it) => it[name]),
    ) as Fields;
    return typeof more === "string" ? { ...this.#fieldsOf(more), ...own } : own;
  }

  #inFields(value: unknown, { "*": rest, ...fields }: Fields, at: string): string[] {
    if (!isObject(value)) return [`${at}: ${show(value)} is no object`];
    const found: string[] = [];
    const known = new Set<string>();
    for (const [field, shape] of Object.entries(fields)) {
      const name = field.replace(/\?$/, "");
      known.add(name);
      if (name in value) found.push(...this.differences(value[name], shape, `${at}.${name}`));
      else if (name === field) found.push(`${at}.${name}: missing`);
    }
    for (const [name, it] of Object.entries(value))
      if (known.has(name)) continue;
      else if (rest === undefined) found.push(`${at}.${name}: not known`);
      else found.push(...this.differences(it, rest, `${at}.${name}`));
    return found;
  }
}

const values: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  count: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  boolean: (value) => typeof value === "boolean",
  true: (value) => value === true,
  time: (value) =>
    typeof value === "string" &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value) &&
    !Number.isNaN(Date.parse(value)),
  day: (value) => typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value),
  object: isObject,
  any: () => true,
  null: (value) => value === null,
};

function is(isSo: boolean, value: unknown, shape: string, at: string): string[] {
  return isSo ? [] : [`${at}: ${show(value)} is not ${shape}`];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value).slice(0, 80);
}
