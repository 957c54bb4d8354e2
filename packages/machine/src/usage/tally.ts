// Usage as it adds up along a session's log: what each turn took, who began it, and what it cost.
//
//   AD41 Cost is what a harness's running total rose above its highest so far: it dips when a conversation is resumed.
//   AD42 The first result of a conversation that came from elsewhere only says what it had cost before. One that was begun
//        here is charged from its first turn on, and so is a new conversation of any session.
//   AD43 A turn is whose message began it: a message in the middle of it changes nothing, and what the harness begins by
//        itself is whose the last turn was.
//   AD44 Busy is from the asking to the answer; where that is two hours or more, the turn's own duration, and nothing where
//        that is as long.

import type { Usage } from "@lichen/wire";
import type { Fact } from "./facts.ts";

export interface TallyState {
  /** The highest total that was seen; null before the first of a conversation from elsewhere. */
  readonly mark: number | null;
  readonly model: string;
  /** Who began the last turn. */
  readonly by: string;
  readonly turn: {
    readonly by: string;
    readonly at: number;
    readonly isTaken: boolean;
    readonly command?: string | undefined;
  } | null;
  /** A run is live. */
  readonly isLive: boolean;
  /** Messages that came in the middle of a turn and were not taken yet. */
  readonly later: readonly string[];
}

/** What a turn came to. */
export interface Spent {
  /** When it ended: milliseconds since the epoch. */
  readonly at: number;
  readonly by: string;
  readonly model: string;
  readonly usage: Usage;
  readonly cost: number;
  readonly busyMs: number;
}

const longestBusyMs = 2 * 3_600_000;

export function firstTally(isFromElsewhere: boolean): TallyState {
  return {
    mark: isFromElsewhere ? null : 0,
    model: "",
    by: "",
    turn: null,
    isLive: false,
    later: [],
  };
}

/** The state after one more fact, and the turn that it ends. `saysResults`: the harness tells each turn's end itself. */
export function tally(
  state: TallyState,
  fact: Fact,
  saysResults: boolean,
): { readonly state: TallyState; readonly spent?: Spent } {
  switch (fact.is) {
    case "message":
      return { state: asked(state, fact) };
    case "begun":
      return { state: { ...withTurn(state, fact), isLive: true } };
    case "taken":
      return { state: state.isLive ? taken(state, fact.at) : state };
    case "work":
      return { state: state.isLive ? withTurn(state, fact) : state };
    case "model":
      return { state: { ...state, model: fact.model } };
    case "fresh":
      return { state: { ...state, mark: 0 } };
    case "result":
      return saysResults ? ended(state, fact) : { state };
    case "settled":
      return settled(state, fact, saysResults);
  }
}

function asked(
  state: TallyState,
  { at, by, command }: Fact & { readonly is: "message" },
): TallyState {
  const { turn } = state;
  if (!turn) return begun(state, by, { at, command });
  // The message of a run stands beside its beginning, before or after it.
  const isItsOwn = command !== undefined && turn.command === command;
  if (isItsOwn) return { ...state, by, turn: { ...turn, by } };
  return { ...state, later: [...state.later, by] };
}

/** What the harness begins by itself is whose the last turn was. */
function withTurn(
  state: TallyState,
  fact: { readonly at: number; readonly command?: string },
): TallyState {
  return state.turn ? state : begun(state, state.by, fact);
}

function begun(
  state: TallyState,
  by: string,
  { at, command }: { readonly at: number; readonly command?: string | undefined },
): TallyState {
  return { ...state, by, turn: { by, at, isTaken: false, command } };
}

/** The harness takes a message: the first of a turn is the one that began it. */
function taken(state: TallyState, at: number): TallyState {
  const { turn, later } = state;
  if (turn && !turn.isTaken) return { ...state, turn: { ...turn, isTaken: true } };
  const [by, ...rest] = later;
  if (turn) return { ...state, later: rest };
  return { ...begun(state, by ?? state.by, { at }), later: rest };
}

function ended(
  state: TallyState,
  { at, result }: Fact & { readonly is: "result" },
): { readonly state: TallyState; readonly spent: Spent } {
  const { usage, totalCost, durationMs } = result;
  const mark = totalCost === undefined ? state.mark : Math.max(state.mark ?? 0, totalCost);
  const cost = state.mark === null || mark === null ? 0 : mark - state.mark;
  const { turn } = state;
  const by = turn?.by ?? state.by;
  const busyMs = busyOf(turn ? at - turn.at : durationMs, durationMs);
  return {
    state: { ...state, mark, by, turn: null },
    spent: { at, by, model: state.model, usage, cost, busyMs },
  };
}

function settled(
  state: TallyState,
  { at, ran, usage }: Fact & { readonly is: "settled" },
  saysResults: boolean,
): { readonly state: TallyState; readonly spent?: Spent } {
  if (!ran) return { state };
  const { turn } = state;
  const over = { ...state, turn: null, isLive: false, later: [] };
  if (saysResults || !turn) return { state: over };
  const busyMs = busyOf(at - turn.at, 0);
  const spent = { at, by: turn.by, model: state.model, usage, cost: usage.cost ?? 0, busyMs };
  return { state: over, spent };
}

function busyOf(elapsedMs: number, durationMs: number): number {
  const fitting = [elapsedMs, durationMs].find((ms) => ms >= 0 && ms < longestBusyMs);
  return Math.round(fitting ?? 0);
}
