// What a server's answer is to code: JSON parsed, text as text, images handed out, other bytes as base64; a refusal as an
// `OperationError` (`http_404`) with the server's own words in short. At most 8 MiB are read.

import type { CallContext, Image } from "../../connector.ts";
import { OperationError } from "../../failure.ts";
import type { Json } from "../../json.ts";
import { toBase64 } from "../../execute/base64.ts";
import { beyond, valueBounds } from "../json-bounds.ts";
import { isList, isObject, memberOf, oneLine } from "../read-json.ts";
import type { Redactor } from "../../secrets/redactor.ts";
import { type Answer, throwIfAborted } from "./send.ts";

const maxBytes = 8 * 1_024 * 1_024;
/** Of bytes that are neither text nor an image. */
const maxBinary = 1_024 * 1_024;
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export interface Reading {
  readonly signal: AbortSignal;
  /** Without it an image is bytes like others. */
  readonly image?: CallContext["image"];
}

export async function readAnswer(
  { response, url, redact }: Answer,
  method: string,
  { signal, image }: Reading,
): Promise<Json | undefined> {
  const mediaType = (response.headers.get("content-type") ?? "")
    .split(";")[0]!
    .trim()
    .toLowerCase();
  if (!response.ok) {
    const said = await readBytes(response, signal, 64 * 1_024, "cut");
    throw failure(response.status, url, textOf(said), mediaType, redact);
  }
  if (method === "HEAD") return headOf(response, redact);
  const bytes = await readBytes(response, signal, maxBytes, "refuse");
  if (bytes.length === 0) return undefined;
  if (/^application\/(?:[\w.+-]*\+)?json$/.test(mediaType)) return jsonOf(bytes, url, redact);
  if (mediaType === "" || isText(mediaType)) return redact.text(textOf(bytes));
  if (image && imageTypes.includes(mediaType))
    return image(imageOf(mediaType, redact.bytes(bytes)));
  if (bytes.length > maxBinary)
    throw new OperationError(
      "too_large",
      `${url.host} answered ${bytes.length} bytes of ${oneLine(mediaType, 100)}; of what is no text, at most ${maxBinary} are handed over.`,
    );
  return {
    mediaType: oneLine(mediaType, 100),
    bytes: bytes.length,
    base64: toBase64(redact.bytes(bytes)),
  };
}

/** The whole body, at most `limit` bytes. */
export async function readBytes(
  response: Response,
  signal: AbortSignal,
  limit: number,
  beyond: "cut" | "refuse",
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let size = 0;
  const reader = response.body?.getReader();
  try {
    while (reader) {
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
      size += value.length;
      if (size <= limit) continue;
      await reader.cancel();
      if (beyond === "cut") break;
      throw new OperationError(
        "too_large",
        `The server answers more than ${limit} bytes. Ask for less: a page, or fewer fields.`,
      );
    }
  } catch (error) {
    if (error instanceof OperationError) throw error;
    throwIfAborted(signal);
    throw new OperationError("unreachable", "The server's answer broke off.");
  }
  const whole = new Uint8Array(Math.min(size, limit));
  let at = 0;
  for (const part of parts) {
    whole.set(part.subarray(0, whole.length - at), at);
    at += Math.min(part.length, whole.length - at);
  }
  return whole;
}

export function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function isText(mediaType: string): boolean {
  return /^text\/|^application\/(?:[\w.+-]*\+)?(?:xml|yaml|javascript|x-ndjson|jsonl|x-www-form-urlencoded)$/.test(
    mediaType,
  );
}

function jsonOf(bytes: Uint8Array, url: URL, redact: Redactor): Json {
  const flaw = beyond(bytes, valueBounds);
  if (flaw !== undefined)
    throw new OperationError(
      "too_large",
      `${url.host} answered with what is not read: ${flaw}. The call was answered all the same: check what it did before you repeat it, and ask for less.`,
    );
  try {
    return redact.json(JSON.parse(textOf(bytes)) as Json);
  } catch {
    throw new OperationError("bad_answer", `${url.host} answered what says to be JSON and is not.`);
  }
}

function imageOf(mediaType: string, bytes: Uint8Array): Image {
  return { mediaType, bytes };
}

function headOf(response: Response, redact: Redactor): Json {
  const told = ["content-length", "content-type", "etag", "last-modified", "link", "allow"];
  const headers = told.flatMap((name): [string, string][] => {
    const value = response.headers.get(name);
    return value === null ? [] : [[name, redact.text(value)]];
  });
  return { status: response.status, headers: Object.fromEntries(headers) };
}

function failure(
  status: number,
  url: URL,
  said: string,
  mediaType: string,
  redact: Redactor,
): OperationError {
  const words = oneLine(wordsOf(said, mediaType, redact), 500);
  const what =
    status === 401
      ? " The auth was refused: renew the credential of this capability."
      : status === 429
        ? " It wants fewer calls: wait before the next one."
        : "";
  return new OperationError(
    `http_${status}`,
    `${url.host} answered ${status}${words === "" ? "." : `: ${words}`}${what}`,
  );
}

/** What an error's body says, wherever it says it. */
function wordsOf(said: string, mediaType: string, redact: Redactor): string {
  if (mediaType.includes("html")) return "";
  try {
    const value = redact.json(JSON.parse(said) as Json);
    if (!isObject(value)) return typeof value === "string" ? value : JSON.stringify(value);
    const error = memberOf(value, "error");
    const places = isObject(error) ? [error, value] : [value];
    const names = ["message", "error_description", "detail", "title", "error"];
    const found = places.flatMap((place) => names.map((name) => memberOf(place, name)));
    const words = found.find((it) => typeof it === "string" && it !== "");
    const list = memberOf(value, "errors");
    const more = isList(list) && list.length > 0 ? ` ${JSON.stringify(list)}` : "";
    return typeof words === "string" ? words + more : JSON.stringify(value);
  } catch {
    return redact.text(said);
  }
}
