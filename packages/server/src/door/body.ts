// Bodies and queries on their way in: capped while they are read, then parsed strictly.
//
//   Nothing beyond a cap is kept, whatever a header says about the length.
//   What a schema or a route does not know is refused by name.

import { Fault, faultCodeOf } from "@lichen/wire";
import * as z from "zod";
import { isTooDeep, maxDepth } from "./depth.ts";
import { fieldWords } from "./field-words.ts";

const plainCap = 1_048_576;
export const imageCap = 16 * 1_048_576;

/** The JSON body of a request, checked by a schema. */
export async function readJson<T>(
  request: Request,
  schema: z.ZodType<T>,
  cap: number = plainCap,
): Promise<T> {
  const type = request.headers.get("content-type");
  if (type === null || !/^application\/json *(;.*)?$/i.test(type))
    throw new Fault("unsupported_media", "The body must be sent as content-type application/json.");
  const bytes = await readCapped(request, cap);
  return check(schema, decode(bytes), "body");
}

/** The bytes of a body, of a request or an answer, at most `cap`. */
export async function readCapped(
  request: Pick<Request, "headers" | "body" | "arrayBuffer">,
  cap: number,
): Promise<Uint8Array> {
  const claimed = request.headers.get("content-length");
  if (claimed !== null) {
    // The transport cuts a body at the length it announced, so that one read in a piece is bounded.
    if (Number(claimed) > cap) throw tooLarge(cap);
    const bytes = new Uint8Array(await request.arrayBuffer().catch(cutShort));
    if (bytes.length > cap) throw tooLarge(cap);
    return bytes;
  }
  if (!request.body) return new Uint8Array();
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(cutShort);
    if (done) break;
    length += value.length;
    if (length > cap) {
      // The rest is not wanted; how the sender takes that is its own affair.
      reader.cancel().catch(() => {});
      throw tooLarge(cap);
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** A query, checked by a schema: every parameter known, none given twice. */
export function readQuery<T>(request: Request, schema: z.ZodType<T>): T {
  const query = request.url.indexOf("?");
  if (query < 0) return check(schema, {}, "query");
  const given: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(request.url.slice(query).replace(/#.*$/s, ""))) {
    if (name in given) throw new Fault("invalid", `query: ${quote(name)} is given twice`);
    given[name] = value;
  }
  return check(schema, given, "query");
}

/** Parses by a schema, or refuses and says which field is wrong. */
export function check<T>(schema: z.ZodType<T>, value: unknown, where: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [first, ...others] = parsed.error.issues;
  const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
  throw new Fault(
    first ? faultCodeOf(first) : "invalid",
    `${first ? tell(first, where) : `${where}: not valid`}${more}`,
  );
}

function decode(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch (cause) {
    throw new Fault("invalid", "body: not UTF-8", { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new Fault("invalid", text === "" ? "body: empty, JSON expected" : "body: not JSON", {
      cause,
    });
  }
  if (isTooDeep(value)) throw new Fault("invalid", `body: nested deeper than ${maxDepth} levels`);
  return value;
}

function tell(issue: z.core.$ZodIssue, where: string): string {
  const path = issue.path.map(String).join(".");
  const at = path === "" ? where : cutShortText(path);
  if (issue.code === "unrecognized_keys")
    return `${at}: unknown field ${issue.keys.slice(0, 3).map(quote).join(", ")}`;
  // Messages of our own schemas begin with the field's name; where it stands is put before it.
  const inside = issue.path.slice(0, -1).map(String).join(".");
  return issue.code === "invalid_format" || issue.code === "custom"
    ? `${inside === "" ? "" : `${inside}.`}${issue.message}`
    : `${at}: ${fieldWords(issue)}`;
}

function quote(name: string): string {
  return JSON.stringify(cutShortText(name));
}

function cutShortText(text: string): string {
  return text.length <= 64 ? text : `${text.slice(0, 64)}…`;
}

function tooLarge(cap: number): Fault {
  return new Fault("too_large", `The body is larger than ${cap} bytes, the most this route takes.`);
}

function cutShort(cause: unknown): never {
  throw new Fault("invalid", "The body ended before it was whole.", { cause });
}
