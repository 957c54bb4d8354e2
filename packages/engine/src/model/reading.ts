// The branch as its model may read it. Pure; whatever builds or measures a context works on this, the log keeps the whole.
//
//   A result longer than a share of the model's window is cut in its middle, and says so.
//   Images that the model's provider refused are words from then on: those that came since it last answered, or all of
//   them where none did. Which request was refused stands in the log, so a restart changes nothing.

import type { TranscriptEntry } from "@lichen/runtime";
import { type ToolBlock, textOf } from "@lichen/wire";
import type { Reader } from "./context.ts";
import { charsPerToken } from "./cut.ts";

const resultChars = 100_000;
const noticeChars = 200;

/** Characters of one result that a model with this window gets: a quarter of it at most. */
export function resultLimit(contextWindow: number): number {
  const quarter = Math.floor((contextWindow / 4) * charsPerToken);
  return Math.max(2 * noticeChars, Math.min(resultChars, quarter));
}

/** The entries for `reader`, whose results hold `limit` characters at most. */
export function readingOf(
  entries: readonly TranscriptEntry[],
  reader: Reader,
  limit: number,
): TranscriptEntry[] {
  const refused = refusedImages(entries, reader);
  return entries.map((entry): TranscriptEntry => {
    if (entry.kind === "message.user") return refused.has(entry.id) ? withoutImages(entry) : entry;
    if (entry.kind !== "message.tool") return entry;
    const { content } = entry.data;
    const seen = refused.has(entry.id) ? content.map(inWords) : content;
    const short = shortened(seen, limit);
    return short === content ? entry : { ...entry, data: { ...entry.data, content: short } };
  });
}

function hasImages(entry: TranscriptEntry): boolean {
  if (entry.kind === "message.user") return (entry.data.images ?? []).length > 0;
  return (
    entry.kind === "message.tool" && entry.data.content.some((block) => block.type === "image")
  );
}

/** The ids of the entries whose images the reader's provider refused. */
function refusedImages(entries: readonly TranscriptEntry[], reader: Reader): Set<string> {
  const refused = new Set<string>();
  let answered: string[] = [];
  let fresh: string[] = [];
  for (const entry of entries) {
    if (hasImages(entry)) fresh.push(entry.id);
    if (entry.kind !== "message.assistant") continue;
    const { provider, api, model, imagesRefused, stop } = entry.data;
    if (provider !== reader.provider || api !== reader.api || model !== reader.id) continue;
    if (imagesRefused) {
      for (const id of fresh.length > 0 ? fresh : answered) refused.add(id);
      if (fresh.length === 0) answered = [];
      fresh = [];
    } else if (stop !== "error" && stop !== "aborted") {
      answered.push(...fresh);
      fresh = [];
    }
  }
  return refused;
}

function withoutImages(entry: Extract<TranscriptEntry, { kind: "message.user" }>): TranscriptEntry {
  const { images = [], ...data } = entry.data;
  const notice =
    images.length === 1
      ? "(An image was left out here: the provider refused it.)"
      : `(${images.length} images were left out here: the provider refused them.)`;
  const said = textOf(data.text);
  return {
    ...entry,
    data: { ...data, text: said.trim() === "" ? notice : `${said}\n\n${notice}` },
  };
}

function inWords(block: ToolBlock): ToolBlock {
  if (block.type === "text") return block;
  return { type: "text", text: "(An image was left out here: the provider refused it.)" };
}

/** The same blocks with `limit` characters of text at most: the beginning, a notice, and the end. */
function shortened(content: ToolBlock[], limit: number): ToolBlock[] {
  const lengthOf = (block: ToolBlock) => (block.type === "text" ? textOf(block.text).length : 0);
  const length = content.reduce((sum, block) => sum + lengthOf(block), 0);
  if (length <= limit) return content;
  const room = limit - noticeChars;
  const gapFrom = Math.floor(room * 0.7);
  const gapTo = length - (room - gapFrom);
  const notice = `\n\n(${gapTo - gapFrom} of ${length} characters are left out here, since the result is too long to be read at once. Ask for less of it, part by part.)\n\n`;
  let at = 0;
  let isTold = false;
  return content.flatMap((block): ToolBlock[] => {
    if (block.type === "image") return [block];
    const said = textOf(block.text);
    const from = at;
    at += said.length;
    if (at <= gapFrom || from >= gapTo) return [block];
    const head = said.slice(0, Math.max(0, gapFrom - from)).replace(/[\ud800-\udbff]$/, "");
    const tail = said.slice(Math.max(0, gapTo - from)).replace(/^[\udc00-\udfff]/, "");
    const text = `${head}${isTold ? "" : notice}${tail}`;
    isTold = true;
    return text === "" ? [] : [{ type: "text", text }];
  });
}
