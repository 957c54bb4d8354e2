// Events of the machine API as server-sent events: `id: <number>`, one `data:` line, a blank line.

import { setImmediate } from "node:timers/promises";
import type { Entry, Json } from "@lichen/wire";
import type { LineReading } from "../harnesses/harness.ts";
import { eventOf } from "./event.ts";
import { jsonPieces, type ReadBlob, referencesIn, wholeOf } from "./whole.ts";

export interface EncodeOptions {
  readonly read: ReadBlob;
  readonly reading: LineReading;
  /** A text that stands in no event: something random. */
  readonly mark: string;
}

const encoder = new TextEncoder();

/** One event with everything that was put aside, in pieces. A long one is made little by little, beside what others wait for. */
export async function encodeEvent(
  seq: number,
  entry: Entry,
  options: EncodeOptions,
): Promise<Uint8Array[]> {
  const { read, reading, mark } = options;
  if (referencesIn(entry.data).length === 0)
    return [
      encoder.encode(`id: ${seq}\ndata: ${JSON.stringify(eventOf(seq, entry, reading))}\n\n`),
    ];
  // A line that reads as it is need not be whole to be passed on.
  const isTranslated = entry.kind === "harness.line" && reading.toClaudeLine !== undefined;
  const data = isTranslated ? await wholeOf(entry.data, read) : entry.data;
  const event = eventOf(seq, { ...entry, data: data as Entry["data"] }, reading);
  const pieces = [encoder.encode(`id: ${seq}\ndata: `)];
  for await (const piece of jsonPieces({ ...event } as Json, { read, mark })) {
    pieces.push(encoder.encode(piece));
    await setImmediate();
  }
  pieces.push(encoder.encode("\n\n"));
  return pieces;
}

/** Text as it is written: it has no number of its own, so that nobody resumes from it. */
export function encodePartial(
  text: string,
  { seq, at }: { readonly seq: number; readonly at: number },
): Uint8Array {
  const event = { seq, time: new Date(at).toISOString(), kind: "partial", data: { text } };
  return encoder.encode(`data: ${JSON.stringify(event)}\n\n`);
}
