// Text of somebody else without what nobody sees: characters without a shape, which can hide words from a person that a
// model reads, and marks that turn the direction of writing, which can show a person other words than stand there.
//
// Names and values stay as they are, since they are compared: of a schema only its words are cleaned.

import type { Json, JsonObject } from "./json.ts";

const unseen = /[\p{Default_Ignorable_Code_Point}\ufff9-\ufffb]+/gu;

export function visible(text: string): string {
  return text.replaceAll(unseen, "");
}

export function hasUnseen(text: string): boolean {
  return text.search(unseen) >= 0;
}

const words = new Set(["description", "title", "$comment"]);
const values = new Set(["const", "default", "enum", "examples", "example"]);

/** A schema whose words are `visible`. */
export function visibleSchema(schema: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(schema).map(([name, member]) => [name, visibleMember(name, member)]),
  );
}

function visibleMember(name: string, member: Json): Json {
  if (typeof member === "string") return words.has(name) ? visible(member) : member;
  return values.has(name) ? member : visibleIn(member);
}

function visibleIn(value: Json): Json {
  if (value === null || typeof value !== "object") return value;
  return isList(value) ? value.map(visibleIn) : visibleSchema(value);
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
