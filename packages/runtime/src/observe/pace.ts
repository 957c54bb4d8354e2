// How soon a text that streams is shown again: what costs little is shown almost as it comes, what many read or what is
// long is gathered.

const leastMs = 3;
const mostMs = 25;
/** What readers are shown in a millisecond, at most; a long text counts as several. */
const shownPerMs = 8;
const charactersPerShown = 1_024;

export interface Streaming {
  /** Sessions in which something streams. */
  readonly sessions: number;
  readonly readers: number;
  /** Of what is shown each time. */
  readonly characters: number;
}

/** Milliseconds between two showings, where as many watch each session that streams. */
export function paceMs({ sessions, readers, characters }: Streaming): number {
  const shown = readers * (sessions + characters / charactersPerShown);
  return Math.min(Math.max(leastMs, Math.ceil(shown / shownPerMs)), mostMs);
}
