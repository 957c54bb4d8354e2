// Looking into JSON whose shape nobody promised.

import type { Json, JsonObject } from "../json.ts";
import { visible } from "../visible.ts";

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

export function objectAt(value: JsonObject | undefined, name: string): JsonObject | undefined {
  const member = memberOf(value, name);
  return isObject(member) ? member : undefined;
}

export function textAt(value: JsonObject | undefined, name: string): string | undefined {
  const member = memberOf(value, name);
  return typeof member === "string" ? member : undefined;
}

export function listAt(value: JsonObject | undefined, name: string): readonly Json[] {
  const member = memberOf(value, name);
  return isList(member) ? member : [];
}

/** A member that is the object's own: `constructor` is not one of every object. */
export function memberOf(value: JsonObject | undefined, name: string): Json | undefined {
  return value !== undefined && Object.hasOwn(value, name) ? value[name] : undefined;
}

/** The beginning of a text, in one line, with nothing unseen and without control characters. */
export function oneLine(text: string, limit: number): string {
  const line = visible(text.slice(0, limit * 4))
    .replaceAll(/[\p{Cc}\s]+/gu, " ")
    .trim();
  return line.length > limit ? `${line.slice(0, limit - 1).trimEnd()}…` : line;
}
