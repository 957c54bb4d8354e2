// `lichen completion --words <words>`: what the shells' scripts ask at each Tab. The last word is the one being typed.
//
//   An answer is one offer a line, a tab and a summary behind it; the line `:folder` or `:file` lets the shell offer its
//   own. It comes within a second (LICHEN_COMPLETION_MS says otherwise), with what was found by then, and no trouble is ever
//   told: whoever types wants to go on. It starts no host, opens no store and runs no code of an agent. An offer has no character that a shell reads as more
//   than itself.

import { commands } from "../commands.ts";
import { oneLine } from "../printable.ts";
import type { Terminal } from "../terminal.ts";
import { type Offer, startsWith, wantedBy } from "./wanted.ts";

const defaultMs = 1_000;
const longestMs = 60_000;

/** Answers 0, whatever happens. */
export async function answerWords(words: readonly string[], terminal: Terminal): Promise<number> {
  const { kinds, prefix, ...wanted } = wantedBy(words, commands);
  const current = words.at(-1) ?? "";
  const offers = [...wanted.words];
  const live = kinds.filter((kind) => kind !== "folder" && kind !== "file");
  if (live.length > 0) {
    const take = (found: readonly Offer[]) => {
      const whole = found.map((offer) => ({ ...offer, word: `${prefix}${offer.word}` }));
      offers.push(...whole.filter(startsWith(current)));
    };
    const finding = (async () => {
      const { findLive } = await import("./live.ts");
      await Promise.allSettled(live.map((kind) => findLive(kind, wanted, take)));
    })();
    await within(limitMs(), finding);
  }
  const lines = offers
    .filter(({ word }) => /^[\w@%+=:,./-]+$/.test(word))
    .map(({ word, summary }) => `${word}\t${oneLine(summary, 80)}`);
  for (const kind of ["folder", "file"] as const) if (kinds.includes(kind)) lines.push(`:${kind}`);
  terminal.answer(lines.map((line) => `${line}\n`).join(""));
  return 0;
}

function limitMs(): number {
  const given = Number(process.env["LICHEN_COMPLETION_MS"]);
  return given > 0 && given <= longestMs ? given : defaultMs;
}

async function within(ms: number, work: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.max(0, ms - performance.now()));
  try {
    await Promise.race([work, late]);
  } catch {
    // What cannot be found out is not offered.
  } finally {
    clearTimeout(timer);
  }
}
