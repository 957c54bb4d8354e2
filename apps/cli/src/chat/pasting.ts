// How a paste comes in: whole, at a cost that grows with its length alone, and no more of it than a message may have.
//
//   Terminals hand a paste over in pieces of a few kilobytes, and the library looks through all it has at each of them.

import type { StdinBuffer } from "@earendil-works/pi-tui";
import { pastedData } from "./attachments.ts";

const start = "\u001b[200~";
const end = "\u001b[201~";
/** Characters of a paste that are kept: enough for the largest image as a data URL. */
const mostKept = 16 * 1_048_576;
/** Bytes of text in one message. */
const mostText = 1_048_576;

/** From here on the buffer is given each paste in one piece; of a larger one than is taken, only the beginning. */
export function gather(buffer: StdinBuffer): void {
  const give = buffer.process.bind(buffer);
  let pieces: string[] | undefined;
  let kept = 0;
  let tail = "";
  const take = (data: string): void => {
    if (pieces === undefined) {
      // The mark itself may come in two pieces, of which the buffer holds the first.
      const held = buffer.getBuffer();
      const at = (held + data).indexOf(start);
      if (at < 0) return give(data);
      const body = at + start.length - held.length;
      give(data.slice(0, body));
      pieces = [];
      kept = 0;
      tail = "";
      if (body < data.length) take(data.slice(body));
      return;
    }
    const found = (tail + data).indexOf(end);
    const isLast = found >= 0;
    const rest = isLast ? data.slice(Math.max(0, found + end.length - tail.length)) : "";
    const piece = isLast ? data.slice(0, data.length - rest.length) : data;
    const room = mostKept - kept;
    if (room > 0) pieces.push(piece.slice(0, room));
    kept += Math.min(room, piece.length);
    if (!isLast) {
      tail = (tail + data).slice(1 - end.length);
      return;
    }
    const whole = pieces.join("");
    pieces = undefined;
    give(whole.endsWith(end) ? whole : whole + end);
    if (rest !== "") take(rest);
  };
  buffer.process = (data) => take(typeof data === "string" ? data : data.toString());
}

/** Why a paste is not taken; undefined where it is. */
export function refusedPaste(text: string): string | undefined {
  if (text.length * 3 <= mostText || Buffer.byteLength(text) <= mostText) return undefined;
  if (text.length < mostKept && pastedData(text) !== undefined) return undefined;
  return "Nothing was pasted: it is more than 1 MiB, and a message may have no more. Put it into a file that the agent can read.";
}
