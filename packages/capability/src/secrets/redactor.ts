// Takes secrets out of what somebody else says: some servers repeat what they were sent, as it was or in another spelling.
//
//   Spellings of JSON (`\u0063`, `\/`) are gone once it is parsed: so what is JSON is cleaned as values, names included,
//   and only what is none as text. Base64 is known at each of the three places that a secret can have in it.

import { toBase64 } from "../execute/base64.ts";

const mark = "[redacted]";
/** Less is no secret, and would be found in many words. */
const shortest = 4;
const shortestEncoded = 8;
const deepest = 500;

export class Redactor {
  readonly #spellings: readonly string[];

  constructor(secrets: Iterable<string>) {
    const spelled = [...secrets]
      .map((secret) => secret.trim())
      .filter((secret) => secret.length >= shortest)
      .flatMap(spellingsOf);
    // The longest first, so that none leaves a rest of another.
    this.#spellings = [...new Set(spelled)].sort((a, b) => b.length - a.length);
  }

  get isIdle(): boolean {
    return this.#spellings.length === 0;
  }

  /** How many of the last characters of `text` may be the beginning of a secret. */
  begun(text: string): number {
    return Math.max(0, ...this.#spellings.map((spelling) => begunOf(text, spelling)));
  }

  /** The last `length` characters, cleaned: what stands before them may hold the rest of a secret. */
  lastOf(text: string, length: number): string {
    return this.text(text).slice(-length);
  }

  readonly text = (text: string): string =>
    this.#spellings.reduce((rest, spelling) => rest.replaceAll(spelling, mark), text);

  /** A value as JSON has it, cleaned in all its texts and names; a text stays a text, a list a list. */
  json<T>(value: T): T {
    return this.isIdle ? value : (this.#json(value, 0) as T);
  }

  /** Bytes of any kind. */
  bytes(bytes: Uint8Array): Uint8Array {
    if (this.isIdle) return bytes;
    const before = binaryOf(bytes);
    const after = this.text(before);
    if (after === before) return bytes;
    return Uint8Array.from(after, (unit) => unit.charCodeAt(0));
  }

  #json(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.text(value);
    if (value === null || typeof value !== "object") return value;
    if (depth > deepest) return "[too deep]";
    if (Array.isArray(value)) return value.map((item) => this.#json(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        this.text(name),
        this.#json(member, depth + 1),
      ]),
    );
  }
}

function begunOf(text: string, spelling: string): number {
  for (let length = Math.min(spelling.length - 1, text.length); length > 0; length--)
    if (text.endsWith(spelling.slice(0, length))) return length;
  return 0;
}

function spellingsOf(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const inJson = JSON.stringify(secret).slice(1, -1);
  const encoded = [0, 1, 2].map((place) => base64At(bytes, place));
  const octets = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0"));
  const inHex = [octets.join(""), octets.map((octet) => `%${octet}`).join("")];
  const inAddress = [encodeURIComponent(secret.toWellFormed()), inForm(secret)];
  return [
    secret,
    inJson,
    inJson.replaceAll("/", "\\/"),
    ...inAddress.flatMap((text) => [text, withSmallCodes(text)]),
    ...["&#39;", "&#x27;", "&apos;"].map((quote) => inHtml(secret, quote)),
    ...[...encoded, ...encoded.map(urlSafe)].filter(({ length }) => length >= shortestEncoded),
    ...inHex
      .flatMap((text) => [text, text.toUpperCase()])
      .filter(({ length }) => length >= shortestEncoded),
    // One character a byte, as bytes are looked through.
    binaryOf(bytes),
  ];
}

/** As a form writes it: a space is a plus. */
function inForm(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

function withSmallCodes(text: string): string {
  return text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
}

function inHtml(text: string, quote: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", quote);
}

/** What of the base64 depends on these bytes alone, where `place` bytes stand before them in their group of three. */
function base64At(bytes: Uint8Array, place: number): string {
  const padded = new Uint8Array(place + bytes.length);
  padded.set(bytes, place);
  const text = toBase64(padded);
  return text.slice(Math.ceil((place * 8) / 6), Math.floor((padded.length * 8) / 6));
}

function urlSafe(base64: string): string {
  return base64.replaceAll("+", "-").replaceAll("/", "_");
}

function binaryOf(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8_192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return binary;
}
