// Long texts on their way into the log: encoded, digested and stored little by little before the entry that holds them
// is written, so that a text of many megabytes holds up nobody.
//
//   S36  What is written in a session after a long text comes after it in the log.
//   S37  A long text is stored in steps of half a mebibyte; an entry refers to it only once all of it is there.

import type { Json } from "@lichen/wire";
import type { Platform } from "../platform.ts";
import type { Sql } from "../store/sql.ts";
import type { Writer } from "../store/writer.ts";
import { hasBlob, partBytes, putBlobPart, useBlob } from "./blob.ts";
import { textType } from "./spill.ts";

/** UTF-16 units from which on a text is long. */
const longUnits = 1_048_576;
/** What is encoded at a time. */
const sliceUnits = 65_536;
/** A harness's line comes first; what it says comes again, as the outcome of a call. */
const keptMs = 5_000;

/** Where a text's bytes stand. */
export interface StoredText {
  readonly sha256: string;
  readonly bytes: number;
}

interface TextsGround {
  readonly sql: Sql;
  readonly platform: Platform;
  readonly writer: Writer;
}

export class LongTexts {
  readonly #ground: TextsGround;
  readonly #stored = new Map<number, Map<string, StoredText>>();
  /** Of each session that has texts on their way: when all that came so far are stored. */
  readonly #pending = new Map<number, Promise<void>>();

  constructor(ground: TextsGround) {
    this.#ground = ground;
  }

  /** Stores the long texts among what is about to be written; undefined where nothing has to be waited for. */
  store(sid: number, data: readonly unknown[]): Promise<void> | undefined {
    const before = this.#pending.get(sid);
    const texts = new Set<string>();
    for (const value of data) collect(value as Json, texts);
    if (texts.size === 0) return before;
    const storing = this.#storeAfter(before, sid, texts);
    this.#pending.set(sid, storing);
    void storing.then(() => {
      if (this.#pending.get(sid) === storing) this.#pending.delete(sid);
    });
    return storing;
  }

  /** The text's bytes where they are stored for the session already. */
  find(sid: number, text: string): StoredText | undefined {
    return text.length < longUnits ? undefined : this.#stored.get(sid)?.get(text);
  }

  async #storeAfter(
    before: Promise<void> | undefined,
    sid: number,
    texts: ReadonlySet<string>,
  ): Promise<void> {
    await before;
    for (const text of texts)
      try {
        if (!this.find(sid, text)) await this.#store(sid, text);
      } catch {
        // Whoever writes the entry stores it, or learns why it cannot be.
      }
  }

  async #store(sid: number, text: string): Promise<void> {
    const { platform, writer, sql } = this.#ground;
    const encoded = await this.#encoded(text);
    if (!encoded) return;
    const { parts, sha256, bytes } = encoded;
    const isThere = await writer.commit(() => {
      useBlob(sql, sid, sha256, textType, bytes);
      return hasBlob(sql, sha256);
    });
    // The first part comes last: where it is, all are.
    const writing = isThere
      ? []
      : [...parts.entries()]
          .reverse()
          .map(([part, its]) => writer.commit(() => putBlobPart(sql, sha256, part, its)));
    await Promise.all(writing);
    const own = this.#stored.get(sid) ?? new Map<string, StoredText>();
    this.#stored.set(sid, own.set(text, { sha256, bytes }));
    platform.after(keptMs, () => {
      own.delete(text);
      if (own.size === 0 && this.#stored.get(sid) === own) this.#stored.delete(sid);
    });
  }

  /** UTF-8 in parts; undefined for a text that has none, with half of a pair in it. */
  async #encoded(text: string) {
    const encoder = new TextEncoder();
    const digest = this.#ground.platform.digest();
    // The same for all slices: no garbage is made of a text's size.
    const room = new Uint8Array(3 * sliceUnits);
    const parts: Uint8Array[] = [];
    let part = new Uint8Array(partBytes);
    let filled = 0;
    for (let at = 0; at < text.length;) {
      let end = Math.min(at + sliceUnits, text.length);
      // No pair is torn.
      if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1]!)) end--;
      const slice = text.slice(at, end);
      if (!slice.isWellFormed()) return undefined;
      const bytes = room.subarray(0, encoder.encodeInto(slice, room).written);
      digest.update(bytes);
      for (let from = 0; from < bytes.length;) {
        if (filled === partBytes) {
          parts.push(part);
          part = new Uint8Array(partBytes);
          filled = 0;
        }
        const some = bytes.subarray(from, from + partBytes - filled);
        part.set(some, filled);
        filled += some.length;
        from += some.length;
      }
      at = end;
      await this.#soon();
    }
    const bytes = parts.length * partBytes + filled;
    return { parts: [...parts, part.subarray(0, filled)], sha256: digest.hex(), bytes };
  }

  #soon(): Promise<void> {
    return new Promise((resolve) => this.#ground.platform.soon(resolve));
  }
}

/** The long texts in a value. */
function collect(value: Json | undefined, into: Set<string>): void {
  if (typeof value === "string") {
    if (value.length >= longUnits) into.add(value);
  } else if (Array.isArray(value)) for (const item of value) collect(item, into);
  else if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value))
    for (const name in value) collect(value[name], into);
}
