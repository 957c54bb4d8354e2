// An approval made whole: what is large of it is kept beside the log, and is read back before anybody decides on it.
//
//   What is read back is what was asked: every piece has the digest it is named by, and the input that of the approval.

import { createHash } from "node:crypto";
import { type Approval, canonicalJson, Fault, Json } from "@lichen/wire";
import { bytesInWords } from "./chat/show/amounts.ts";
import { objectIn } from "./chat/show/value.ts";

/** The bytes of what is kept beside the log; undefined where there are none. */
export type ReadBlob = (sha256: string) => Promise<Uint8Array | undefined>;

/** More than a person could judge. */
const mostBytes = 1_048_576;
const textType = "text/plain; charset=utf-8";
const jsonType = "application/json";

/** Rejects with a sentence where any of it is not there, is not what was asked, or is too much to read. */
export async function wholeApproval(given: Approval, blob: ReadBlob): Promise<Approval> {
  const pieces = piecesOf(given);
  if (pieces.length === 0) return given;
  const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0);
  if (bytes > mostBytes)
    throw new Fault("too_large", `It is too much to be judged here: ${bytesInWords(bytes)}.`);
  const read = new Map<string, Uint8Array>();
  for (const { sha256 } of pieces) {
    if (read.has(sha256)) continue;
    const found = await blob(sha256);
    if (!found) throw new Fault("unknown_entry", "A part of it is not in the log any more.");
    if (createHash("sha256").update(found).digest("hex") !== sha256)
      throw new Fault("unreadable", "A part of it came other than it was asked.");
    read.set(sha256, found);
  }
  const whole = (value: Json): Json => restored(value, read);
  const { input, suggestions, questions } = given;
  const approval: Approval = {
    ...given,
    ...(input === undefined ? {} : { input: whole(input) }),
    ...(suggestions === undefined ? {} : { suggestions: suggestions.map(whole) }),
    ...(questions === undefined ? {} : { questions: questions.map(whole) }),
  };
  const asked = canonicalJson(approval.input ?? approval.questions ?? null);
  if (createHash("sha256").update(asked).digest("hex") !== given.digest)
    throw new Fault("unreadable", "It came other than it was asked.");
  return approval;
}

/** Whether nothing of it is kept beside the log. */
export function isWhole(approval: Approval): boolean {
  return piecesOf(approval).length === 0;
}

interface Piece {
  readonly sha256: string;
  readonly bytes: number;
  readonly isText: boolean;
}

function piecesOf({ input = null, suggestions = [], questions = [] }: Approval): Piece[] {
  return [input, ...suggestions, ...questions].flatMap(piecesIn);
}

function piecesIn(value: Json): Piece[] {
  if (Array.isArray(value)) return value.flatMap(piecesIn);
  const members = objectIn(value);
  if (!members) return [];
  const piece = pieceIn(value);
  return piece ? [piece] : Object.values(members).flatMap(piecesIn);
}

/** The reference in this place: an input that holds what only looks like one stands beside the log as a whole. */
function pieceIn(value: Json): Piece | undefined {
  const { blob, mimeType, bytes, ...others } = objectIn(value) ?? {};
  if (typeof blob !== "string" || !/^[0-9a-f]{64}$/.test(blob)) return undefined;
  if (typeof bytes !== "number" || Object.keys(others).length > 0) return undefined;
  if (mimeType !== textType && mimeType !== jsonType) return undefined;
  return { sha256: blob, bytes, isText: mimeType === textType };
}

function restored(value: Json, read: ReadonlyMap<string, Uint8Array>): Json {
  if (Array.isArray(value)) return value.map((item) => restored(item, read));
  const members = objectIn(value);
  if (!members) return value;
  const piece = pieceIn(value);
  if (!piece)
    return Object.fromEntries(
      Object.entries(members).map(([name, member]) => [name, restored(member, read)]),
    );
  const text = new TextDecoder("utf-8", { fatal: false, ignoreBOM: true }).decode(
    read.get(piece.sha256),
  );
  return piece.isText ? text : Json.parse(JSON.parse(text));
}
