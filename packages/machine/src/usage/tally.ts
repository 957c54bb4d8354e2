// Usage as it adds up along a session's log: what each turn took, who began it, and what it cost.
//
//   AD41 Cost is what a harness's running total rose above its highest so far: it dips when a conversation is resumed.
//   AD60 Where a run knows that its turns cost more, that counts: some versions begin their total anew with each process.
//   AD42 The first result of a conversation that came from elsewhere only says what it had cost before. One that was begun
//        here is charged from its first turn on, and so is a new conversation of any session.
//   AD43 A turn is whose message began it: a message in the middle of it changes nothing, and what the harness begins by
//        itself is whose the last turn was.
//   AD55 A result without usage took what its messages say, each message once.
//   AD44 Busy is from the asking to the answer; where that is two hours or more, the turn's own duration, and nothing where
//        that is as long.

import { addUsage, noUsage, Usage } from "@lichen/wire";
import * as z from "zod";
import type { Fact } from "./facts.ts";

/** As it stands between two facts, and is kept with how far the log was read. */
export const TallyState = z.object({
  /** The highest total that was seen; null before the first of a conversation from elsewhere. */
  mark: z.number().nullable(),
  model: z.string(),
  /** Who began the last turn. */
  by: z.string(),
  turn: z
    .object({
      by: z.string(),
      at: z.number(),
      isTaken: z.boolean(),
      command: z.string().optional(),
    })
    .nullable(),
  /** A run is live. */
  isLive: z.boolean(),
  /** Messages that came in the middle of a turn and were not taken yet. */
  later: z.array(z.string()),
  /** What each message of the turn says that it took: each of its blocks repeats it. */
  said: z.record(z.string(), Usage).default({}),
  /** What the results of the live run were counted to cost. */
  charged: z.number().default(0),
});
export type TallyState = z.infer<typeof TallyState>;

/** What a turn came to, or what more it came to than its result told. */
export interface Spent {
  readonly turns: 0 | 1;
  /** When it ended: milliseconds since the epoch. */
  readonly at: number;
  readonly by: string;
  readonly model: string;
  readonly usage: Usage;
  readonly cost: number;
  readonly busyMs: number;
}

const longestBusyMs = 2 * 3_600_000;
/** Sums of the same costs differ by less. */
const leastCost = 1e-6;

export function firstTally(isFromElsewhere: boolean): TallyState {
  return {
    mark: isFromElsewhere ? null : 0,
    model: "",
    by: "",
    turn: null,
    isLive: false,
    later: [],
    said: {},
    charged: 0,
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
    case "work": {
      const { said } = fact;
      const heard = said ? { ...state, said: { ...state.said, [said.id]: said.usage } } : state;
      return { state: heard.isLive ? withTurn(heard, fact) : heard };
    }
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
  const { totalCost, durationMs, isFailed } = result;
  const usage = result.usage ?? Object.values(state.said).reduce(addUsage, noUsage);
  // What failed may not have got so far as to know what the conversation had cost before.
  const isUnknown = totalCost === undefined || (state.mark === null && isFailed);
  const mark = isUnknown ? state.mark : Math.max(state.mark ?? 0, totalCost);
  const cost = state.mark === null || mark === null ? 0 : mark - state.mark;
  const { turn } = state;
  const by = turn?.by ?? state.by;
  const busyMs = busyOf(turn ? at - turn.at : durationMs, durationMs);
  return {
    state: { ...state, mark, by, turn: null, said: {}, charged: state.charged + cost },
    spent: { turns: 1, at, by, model: state.model, usage, cost, busyMs },
  };
}

function settled(
  state: TallyState,
  { at, ran, usage }: Fact & { readonly is: "settled" },
  saysResults: boolean,
): { readonly state: TallyState; readonly spent?: Spent } {
  if (!ran) return { state };
  const { turn } = state;
  const over = { ...state, turn: null, isLive: false, later: [], said: {}, charged: 0 };
  const { model } = state;
  const cost = usage.cost ?? 0;
  if (saysResults) {
    const more = cost - state.charged;
    if (more < leastCost) return { state: over };
    const { by } = state;
    return {
      state: over,
      spent: { turns: 0, at, by, model, usage: noUsage, cost: more, busyMs: 0 },
    };
  }
  if (!turn) return { state: over };
  const busyMs = busyOf(at - turn.at, 0);
  return { state: over, spent: { turns: 1, at, by: turn.by, model, usage, cost, busyMs } };
}

function busyOf(elapsedMs: number, durationMs: number): number {
  const fitting = [elapsedMs, durationMs].find((ms) => ms >= 0 && ms < longestBusyMs);
  return Math.round(fitting ?? 0);
}
