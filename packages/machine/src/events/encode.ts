// Events of the machine API as server-sent events: `id: <number>`, one `data:` line, a blank line.

import { setImmediate } from "node:timers/promises";
import type { Entry, Json } from "@lichen/wire";
import type { LineReading } from "../harnesses/harness.ts";
import { eventOf } from "./event.ts";
import { jsonPieces, markedOf, type ReadPart, referencesIn } from "./whole.ts";

export interface EncodeOptions {
  readonly read: ReadPart;
  readonly reading: LineReading;
  /** A text that stands in no event: something random. */
  readonly mark: string;
}

const encoder = new TextEncoder();

/**
 * One event with everything that was put aside, in pieces. A long one is made little by little, as its reader takes it,
 * beside what others wait for.
 */
export async function* eventPieces(
  seq: number,
  entry: Entry,
  options: EncodeOptions,
): AsyncGenerator<Uint8Array> {
  const { read, reading, mark } = options;
  if (referencesIn(entry.data).length === 0) {
    yield encoder.encode(`id: ${seq}\ndata: ${JSON.stringify(eventOf(seq, entry, reading))}\n\n`);
    return;
  }
  // A line that reads as it is need not be looked into to be passed on.
  const isTranslated = entry.kind === "harness.line" && reading.toClaudeLine !== undefined;
  const { value, references } = isTranslated
    ? await markedOf(entry.data, { read, mark })
    : { value: entry.data, references: [] };
  const event = eventOf(seq, { ...entry, data: value as Entry["data"] }, reading);
  yield encoder.encode(`id: ${seq}\ndata: `);
  for await (const piece of jsonPieces({ ...event } as Json, { read, mark, marked: references })) {
    yield encoder.encode(piece);
    await setImmediate();
  }
  yield encoder.encode("\n\n");
}

/** Text as it is written: it has no number of its own, so that nobody resumes from it. */
export function encodePartial(
  text: string,
  { seq, at }: { readonly seq: number; readonly at: number },
): Uint8Array {
  const event = { seq, time: new Date(at).toISOString(), kind: "partial", data: { text } };
  return encoder.encode(`data: ${JSON.stringify(event)}\n\n`);
}
