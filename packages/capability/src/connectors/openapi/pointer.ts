// `$ref` within one document. Nothing outside of it is ever fetched: a document is the one that its owner named.

import type { Json, JsonObject } from "../../json.ts";
import { isList, isObject, memberOf, textAt } from "../read-json.ts";

const maxChain = 32;

/** What `#/a/b` points at; undefined where nothing stands there, or where it points out of the document. */
export function at(document: JsonObject, ref: string): Json | undefined {
  if (ref === "#") return document;
  if (!ref.startsWith("#/")) return undefined;
  let value: Json | undefined = document;
  for (const part of ref.slice(2).split("/")) {
    const name = plainPart(part);
    if (isObject(value)) value = memberOf(value, name);
    else if (isList(value)) value = /^\d{1,9}$/.test(name) ? value[Number(name)] : undefined;
    else return undefined;
  }
  return value;
}

/** The object itself or, through its `$ref`s, the one that is meant; a sentence where there is none. */
export function follow(document: JsonObject, value: Json | undefined): JsonObject | string {
  let found = value;
  for (let step = 0; step < maxChain; step++) {
    if (!isObject(found)) return "it is described by nothing";
    const ref = textAt(found, "$ref");
    if (ref === undefined) return found;
    if (!ref.startsWith("#"))
      return `it is described in another document (${ref.slice(0, 100)}), and those are not read`;
    found = at(document, ref);
  }
  return "its $ref goes round in circles";
}

/** The last part of a pointer, for a name. */
export function lastPart(ref: string): string {
  return plainPart(ref.slice(ref.lastIndexOf("/") + 1));
}

function plainPart(part: string): string {
  let text = part;
  try {
    text = decodeURIComponent(part);
  } catch {
    // A % that begins nothing stands for itself.
  }
  return text.replaceAll("~1", "/").replaceAll("~0", "~");
}
