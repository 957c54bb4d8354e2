// Spilling: an entry's data made small enough for a row, and made whole again.
//
//   Strings above 32 KiB become blobs. While the JSON is above 512 KiB, so do the longest of the others, down to 1 KiB,
//   then whole values that have no shape of their own (a tool's input or data), then whole fields.
//   restore(spill(x)) equals restore(x): text that was a reference before is read like any other.
//   Free JSON may hold an object that only looks like our reference: then the whole of that JSON becomes a blob, so
//   that reading never mistakes it (data that was spilled is restored before it is spilled again). References to
//   images stay as they are.

import { Fault, type Json, type JsonObject, utf8Bytes } from "@lichen/wire";

const stringBytes = 32_768;
const rowBytes = 524_288;
const leastStringBytes = 1_024;
/** A UTF-16 unit takes at most three bytes of UTF-8 and six of JSON, so this many units are small by any measure. */
const smallUnits = Math.floor(stringBytes / 3);
const smallValues = 4_096;

/** Of text that was put aside. */
export const textType = "text/plain; charset=utf-8";
/** @internal Exported for its tests. */
export const jsonType = "application/json";
/** Fields of free JSON: what a tool, a harness or a person gave. */
const freeFields = new Set([
  "input",
  "data",
  "value",
  "suggestions",
  "questions",
  "answers",
  "meta",
  "line",
  "settings",
]);

interface Blob {
  readonly sha256: string;
  readonly mimeType: string;
  readonly bytes: Uint8Array;
}

export interface Spilled {
  readonly data: JsonObject;
  readonly blobs: Blob[];
}

/** What is known of a text whose bytes are stored already. */
type FindStored = (text: string) => { sha256: string; bytes: number } | undefined;

/** The data with what is large put aside; the same object where nothing is. */
export function spill(
  data: JsonObject,
  sha256: (bytes: Uint8Array) => string,
  stored: FindStored = () => undefined,
): Spilled {
  if (isSmall(data)) return { data, blobs: [] };
  const spilling = new Spilling(sha256, stored);
  return { data: spilling.reduce(data), blobs: [...spilling.blobs.values()] };
}

/** The data whole again. A blob that `read` does not know stays a reference. */
export function restore(
  data: JsonObject,
  read: (sha256: string) => Uint8Array | undefined,
): JsonObject {
  return restored(data, read) as JsonObject;
}

function restored(value: Json, read: (sha256: string) => Uint8Array | undefined): Json {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) {
    let items: Json[] | undefined;
    for (const [index, item] of value.entries()) {
      const whole = restored(item, read);
      if (whole !== item) (items ??= [...value])[index] = whole;
    }
    return items ?? value;
  }
  const reference = referenceIn(value);
  if (reference) {
    const bytes = read(reference.blob);
    if (!bytes) return value;
    const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(bytes);
    return reference.mimeType === textType ? text : (JSON.parse(text) as Json);
  }
  let members: JsonObject | undefined;
  for (const name of Object.keys(value)) {
    const member = value[name]!;
    const whole = restored(member, read);
    if (whole !== member) setMember((members ??= { ...value }), name, whole);
  }
  return members ?? value;
}

/** The reference that `restore` reads in this place; undefined for anything else. */
function referenceIn(value: JsonObject): { blob: string; mimeType: string } | undefined {
  const { blob, mimeType, bytes } = value;
  if (mimeType !== textType && mimeType !== jsonType) return undefined;
  if (typeof blob !== "string" || !/^[0-9a-f]{64}$/.test(blob)) return undefined;
  return typeof bytes === "number" && Object.keys(value).length === 3
    ? { blob, mimeType }
    : undefined;
}

/** A cheap and safe "no": few values, few characters, nothing that looks like a reference of ours. */
function isSmall(data: JsonObject): boolean {
  let units = smallUnits;
  let values = smallValues;
  const visit = (value: Json): boolean => {
    if (--values < 0) return false;
    if (typeof value === "string") return (units -= value.length) >= 0;
    if (value === null || typeof value !== "object") return true;
    if (Array.isArray(value)) return value.every(visit);
    if (referenceIn(value)) return false;
    for (const name in value) if ((units -= name.length) < 0 || !visit(value[name]!)) return false;
    return true;
  };
  return visit(data);
}

/** A value that can be put aside, and the object or array that holds it. */
interface Place {
  readonly holder: JsonObject | Json[];
  readonly key: string | number;
  readonly bytes: number;
}

class Spilling {
  readonly blobs = new Map<string, Blob>();
  readonly #sha256: (bytes: Uint8Array) => string;
  readonly #stored: FindStored;
  /** Texts that were stored before, by their digests. */
  readonly #texts = new Map<string, string>();
  #strings: Place[] = [];
  #free: { holder: JsonObject; key: string }[] = [];

  constructor(sha256: (bytes: Uint8Array) => string, stored: FindStored) {
    this.#sha256 = sha256;
    this.#stored = stored;
  }

  reduce(data: JsonObject): JsonObject {
    const whole = this.#copied(data, false) as JsonObject;
    let size = jsonBytes(whole);
    if (size <= rowBytes) return whole;
    const aside = (places: readonly Place[]): void => {
      for (const place of places.toSorted((a, b) => b.bytes - a.bytes)) {
        if (size <= rowBytes) return;
        const reference = this.#putAside(memberOf(place.holder, place.key));
        setMember(place.holder, place.key, reference);
        size -= place.bytes - jsonBytes(reference);
      }
    };
    aside(this.#strings);
    aside(this.#placesOf(this.#free));
    aside(this.#placesOf(Object.keys(whole).map((key) => ({ holder: whole, key }))));
    if (size > rowBytes)
      throw new Fault("too_large", "an entry has too many fields for one row: put them in one");
    return whole;
  }

  /** A copy whose long strings, and free JSON that looks like a reference, are put aside. */
  #copied(value: Json, isFree: boolean): Json {
    if (typeof value === "string") return isLong(value) ? this.#putAside(value) : value;
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) {
      const items: Json[] = [];
      for (const [index, item] of value.entries()) {
        items.push(this.#copied(item, isFree));
        this.#note(items, index, items[index]!);
      }
      return items;
    }
    if (!isFree && referenceIn(value)) return value;
    const members: JsonObject = {};
    for (const [name, member] of Object.entries(value)) {
      const isRoot = !isFree && freeFields.has(name);
      if (isRoot && holdsLookalike(member)) {
        setMember(members, name, this.#putAside(member));
        continue;
      }
      setMember(members, name, this.#copied(member, isFree || isRoot));
      if (isRoot) this.#free.push({ holder: members, key: name });
      this.#note(members, name, memberOf(members, name));
    }
    return members;
  }

  #note(holder: JsonObject | Json[], key: string | number, value: Json): void {
    if (typeof value !== "string" || value.length * 3 < leastStringBytes) return;
    if (utf8Bytes(value) < leastStringBytes) return;
    this.#strings.push({ holder, key, bytes: jsonBytes(value) });
  }

  /** Objects and arrays that are worth a blob of their own. What was put aside inside them is a reference by now: it is read back first. */
  #placesOf(places: readonly { holder: JsonObject; key: string }[]): Place[] {
    return places
      .map(({ holder, key }) => ({ holder, key, bytes: jsonBytes(memberOf(holder, key)) }))
      .filter((place) => place.bytes >= leastStringBytes);
  }

  #putAside(value: Json): JsonObject {
    const known = typeof value === "string" ? this.#stored(value) : undefined;
    if (known) {
      this.#texts.set(known.sha256, value as string);
      return { blob: known.sha256, mimeType: textType, bytes: known.bytes };
    }
    const whole = restored(value, (sha256) => this.#bytesOf(sha256));
    // UTF-8 has no half of a surrogate pair; the escapes of JSON do.
    const isText = typeof whole === "string" && whole.isWellFormed();
    const bytes = new TextEncoder().encode(isText ? whole : JSON.stringify(whole));
    const mimeType = isText ? textType : jsonType;
    const sha256 = this.#sha256(bytes);
    this.blobs.set(sha256, { sha256, mimeType, bytes });
    return { blob: sha256, mimeType, bytes: bytes.length };
  }

  #bytesOf(sha256: string): Uint8Array | undefined {
    const text = this.#texts.get(sha256);
    return text === undefined ? this.blobs.get(sha256)?.bytes : new TextEncoder().encode(text);
  }
}

function isLong(text: string): boolean {
  // No character takes less than a byte, and none more than three for each of its units.
  if (text.length > stringBytes) return true;
  return text.length * 3 > stringBytes && utf8Bytes(text) > stringBytes;
}

function holdsLookalike(value: Json): boolean {
  if (value === null || typeof value !== "object") return false;
  if (Array.isArray(value)) return value.some(holdsLookalike);
  return referenceIn(value) !== undefined || Object.values(value).some(holdsLookalike);
}

function jsonBytes(value: Json): number {
  return utf8Bytes(JSON.stringify(value));
}

function memberOf(holder: JsonObject | Json[], key: string | number): Json {
  return (holder as JsonObject)[key]!;
}

/** Sets an own member, also one called `__proto__`. */
function setMember(holder: JsonObject | Json[], key: string | number, value: Json): void {
  if (key !== "__proto__") (holder as JsonObject)[key] = value;
  else
    Object.defineProperty(holder, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
}
