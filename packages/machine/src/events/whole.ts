// What was put aside from an entry, brought back: whole values for whoever reads them here, and pieces of JSON for
// whoever is sent them, so that a text of many megabytes holds up nobody.

import type { Json, JsonObject } from "@lichen/wire";

/** Reads bytes that an entry of the session refers to. */
export type ReadBlob = (sha256: string) => Promise<Uint8Array | undefined>;

interface Reference {
  readonly blob: string;
  /** Text, or the JSON of a whole value. */
  readonly isText: boolean;
}

const textType = "text/plain; charset=utf-8";
const jsonType = "application/json";
/** Bytes of a text that are encoded at a time. */
const sliceBytes = 262_144;

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
  const references = referencesIn(value);
  if (references.length === 0) return value;
  const values = new Map<string, Json>();
  for (const { blob, isText } of references) {
    const bytes = await read(blob);
    const text = bytes && new TextDecoder().decode(bytes);
    if (text !== undefined) values.set(blob, isText ? text : (JSON.parse(text) as Json));
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

/**
 * The JSON text of a value with everything back in its place, in pieces of bounded size. `mark` is a text that stands
 * in no value: something random.
 */
export async function* jsonPieces(
  value: Json,
  { read, mark }: { readonly read: ReadBlob; readonly mark: string },
): AsyncGenerator<string> {
  const references: Reference[] = [];
  const text = JSON.stringify(value, (_name, member: Json) => {
    const reference = referenceIn(member);
    return reference ? `${mark}${references.push(reference) - 1}` : member;
  });
  const pattern = new RegExp(`"${mark}(\\d+)"`);
  // Every second part of the split is the number of a reference.
  for (const [at, part] of text.split(pattern).entries())
    if (at % 2 === 0) yield part;
    else yield* blobPieces(references[Number(part)]!, read);
}

async function* blobPieces({ blob, isText }: Reference, read: ReadBlob): AsyncGenerator<string> {
  const bytes = await read(blob);
  if (!bytes) {
    yield JSON.stringify(`[${blob} is not in the store any more]`);
    return;
  }
  // Whole characters come out, wherever the bytes are cut.
  const decoder = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true });
  if (isText) yield '"';
  for (let at = 0; at < bytes.length; at += sliceBytes) {
    const slice = bytes.subarray(at, at + sliceBytes);
    const piece = decoder.decode(slice, { stream: at + sliceBytes < bytes.length });
    yield isText ? JSON.stringify(piece).slice(1, -1) : piece;
  }
  if (isText) yield '"';
}
