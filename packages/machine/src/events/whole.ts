// What was put aside from an entry, brought back: whole values for whoever reads them here, beginnings for whoever needs
// no more, and pieces of JSON for whoever is sent them, so that a text of many megabytes holds up nobody.

import type { Json, JsonObject } from "@lichen/wire";

/** Reads bytes that an entry of the session refers to. */
export type ReadBlob = (sha256: string) => Promise<Uint8Array | undefined>;

/** Reads one part of bytes that an entry of the session refers to, of bounded size; undefined past their end. */
export type ReadPart = (sha256: string, part: number) => Promise<Uint8Array | undefined>;

interface Reference {
  readonly blob: string;
  /** Text, or the JSON of a whole value. */
  readonly isText: boolean;
}

/** A value in which marks stand for what was put aside. */
export interface Marked {
  readonly value: Json;
  readonly references: readonly Reference[];
}

const textType = "text/plain; charset=utf-8";
const jsonType = "application/json";
/** Bytes of a text that are encoded at a time. */
const sliceBytes = 65_536;

/** The reference that stands in the place of a value; undefined for any other value. */
function referenceIn(value: Json): Reference | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { blob, mimeType, bytes } = value;
  if (mimeType !== textType && mimeType !== jsonType) return undefined;
  if (typeof blob !== "string" || !/^[0-9a-f]{64}$/.test(blob)) return undefined;
  return typeof bytes === "number" && Object.keys(value).length === 3
    ? { blob, isText: mimeType === textType }
    : undefined;
}

/** All references in a value. */
export function referencesIn(value: Json): Reference[] {
  if (typeof value !== "object" || value === null) return [];
  const reference = referenceIn(value);
  return reference ? [reference] : Object.values(value).flatMap(referencesIn);
}

/** The value with everything back in its place; what cannot be read stays a reference. */
export async function wholeOf(value: Json, read: ReadBlob): Promise<Json> {
  return filled(value, async ({ blob, isText }) => {
    const bytes = await read(blob);
    return bytes && valueIn(bytes, isText);
  });
}

/** The value with its whole shape, and with the first `characters` of its long texts, or some more. */
export async function beginningOf(value: Json, read: ReadPart, characters: number): Promise<Json> {
  return filled(value, async ({ blob, isText }) => {
    const bytes = isText ? await read(blob, 0) : await allOf(blob, read);
    // No character takes more than four bytes; the last may be torn.
    return bytes && valueIn(isText ? bytes.subarray(0, 4 * characters) : bytes, isText);
  });
}

/**
 * The value with its whole shape, in which marks stand for its long texts: whoever moves them about need not read them.
 * `mark` is a text that stands in no value: something random.
 */
export async function markedOf(
  value: Json,
  { read, mark }: { readonly read: ReadPart; readonly mark: string },
): Promise<Marked> {
  const references: Reference[] = [];
  const marked = await filled(value, async (reference) => {
    if (reference.isText) return `${mark}${references.push(reference) - 1}"`;
    const bytes = await allOf(reference.blob, read);
    return bytes && valueIn(bytes, false);
  });
  return { value: marked, references };
}

async function filled(
  value: Json,
  valueOf: (reference: Reference) => Promise<Json | undefined>,
): Promise<Json> {
  const references = referencesIn(value);
  if (references.length === 0) return value;
  const values = new Map<string, Json>();
  for (const reference of references) {
    if (values.has(reference.blob)) continue;
    const found = await valueOf(reference);
    if (found !== undefined) values.set(reference.blob, found);
  }
  return replaced(value, values);
}

function replaced(value: Json, values: ReadonlyMap<string, Json>): Json {
  if (typeof value !== "object" || value === null) return value;
  const reference = referenceIn(value);
  if (reference) return values.get(reference.blob) ?? value;
  if (Array.isArray(value)) return value.map((item) => replaced(item, values));
  const members: JsonObject = Object.create(null);
  for (const [name, member] of Object.entries(value)) members[name] = replaced(member, values);
  return members;
}

function valueIn(bytes: Uint8Array, isText: boolean): Json {
  const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
  return isText ? text : (JSON.parse(text) as Json);
}

async function allOf(blob: string, read: ReadPart): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  for (let part = await read(blob, 0); part; part = await read(blob, parts.length))
    parts.push(part);
  return parts.length === 0 ? undefined : Buffer.concat(parts);
}

/**
 * The JSON text of a value with everything back in its place, in pieces of bounded size: its references, and the marks
 * of `marked`, also where they came to stand in the middle of a text, or in JSON in a text.
 */
export async function* jsonPieces(
  value: Json,
  options: {
    readonly read: ReadPart;
    readonly mark: string;
    readonly marked?: readonly Reference[];
  },
): AsyncGenerator<string> {
  const { read, mark, marked = [] } = options;
  const references: Reference[] = [];
  const text = JSON.stringify(value, (_name, member: Json) => {
    const reference = referenceIn(member);
    return reference ? `${mark}:${references.push(reference) - 1}` : member;
  });
  // A mark ends with a quote, which each level of JSON that it stands in escapes once more.
  const pattern = new RegExp(`"${mark}:(\\d+)"|${mark}(\\d+)(\\\\+)"`, "g");
  let from = 0;
  for (const { 0: found, 1: reference, 2: mark, 3: escapes, index } of text.matchAll(pattern)) {
    if (index > from) yield text.slice(from, index);
    from = index + found.length;
    if (reference !== undefined) yield* valuePieces(references[Number(reference)]!, read);
    else yield* textPieces(marked[Number(mark)]!.blob, read, Math.log2(escapes!.length + 1));
  }
  if (from < text.length) yield text.slice(from);
}

async function* valuePieces({ blob, isText }: Reference, read: ReadPart): AsyncGenerator<string> {
  if ((await read(blob, 0)) === undefined) {
    yield JSON.stringify(missing(blob));
    return;
  }
  if (isText) yield '"';
  yield* textPieces(blob, read, isText ? 1 : 0);
  if (isText) yield '"';
}

/** A text as it stands in JSON, `levels` deep. */
async function* textPieces(blob: string, read: ReadPart, levels: number): AsyncGenerator<string> {
  // Whole characters come out, wherever the bytes are cut.
  const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  let parts = 0;
  for (let part = await read(blob, 0); part; part = await read(blob, ++parts))
    for (let at = 0; at < part.length; at += sliceBytes)
      yield escaped(decoder.decode(part.subarray(at, at + sliceBytes), { stream: true }), levels);
  if (parts === 0) yield escaped(missing(blob), levels);
}

function escaped(text: string, levels: number): string {
  let inside = text;
  for (let level = 0; level < levels; level++) inside = JSON.stringify(inside).slice(1, -1);
  return inside;
}

function missing(blob: string): string {
  return `[${blob} is not in the store any more]`;
}
