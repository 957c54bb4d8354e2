// How soon a text that streams is shown again: what costs little is shown almost as it comes, what many read or what is
// long is gathered.

const leastMs = 3;
const mostMs = 25;
/** Of texts shown: one to one reader costs as much as a thousand characters more. */
const shownPerMs = 8;
const charactersPerShown = 1_024;

export interface Streaming {
  /** Sessions in which something streams. */
  readonly sessions: number;
  readonly readers: number;
  /** Of what is shown each time. */
  readonly characters: number;
}

/** Milliseconds between two showings, as if every session that streams were like this one. */
export function paceMs({ sessions, readers, characters }: Streaming): number {
  const shown = sessions * readers * (1 + characters / charactersPerShown);
  return Math.min(Math.max(leastMs, Math.ceil(shown / shownPerMs)), mostMs);
}
