// Usage as it adds up along a log, fact by fact.

import { noUsage, type Usage } from "@lichen/wire";
import { expect, test } from "vitest";
import type { Fact } from "../../src/usage/facts.ts";
import { firstTally, type Spent, tally } from "../../src/usage/tally.ts";

const hour = 3_600_000;
const used: Usage = { ...noUsage, input: 10, output: 5 };

interface Played {
  readonly saysResults?: boolean;
  readonly isFromElsewhere?: boolean;
}

function play(facts: readonly Fact[], options: Played = {}): Spent[] {
  let state = firstTally(options.isFromElsewhere === true);
  return facts.flatMap((fact) => {
    // As it is after a restart of the machine.
    const before = JSON.parse(JSON.stringify(state)) as typeof state;
    const next = tally(before, fact, options.saysResults ?? true);
    state = next.state;
    return next.spent ?? [];
  });
}

const message = (at: number, by: string, command = `c${at}`): Fact => ({
  is: "message",
  at,
  by,
  command,
});
const begun = (at: number, command = `c${at}`): Fact => ({ is: "begun", at, command });
const taken = (at: number): Fact => ({ is: "taken", at });
const result = (at: number, totalCost?: number, durationMs = 1, isFailed = false): Fact => ({
  is: "result",
  at,
  result: { usage: used, durationMs, isFailed, ...(totalCost === undefined ? {} : { totalCost }) },
});
const settled = (at: number, usage: Usage = noUsage): Fact => ({
  is: "settled",
  at,
  ran: true,
  usage,
});
const turn = (at: number, by: string, total?: number): Fact[] => [
  message(at, by),
  begun(at),
  taken(at),
  result(at + 1, total),
  settled(at + 1),
];
const costs = (spent: readonly Spent[]): number[] => spent.map(({ cost }) => cost);

test("[AD41] a total that dips and rises again is counted once, by its highest", () => {
  const totals = [1, 3, 0.5, 2, 3, 4];
  const spent = play(totals.flatMap((total, at) => turn(10 * at, "", total)));
  expect(costs(spent)).toEqual([1, 2, 0, 0, 0, 1]);
  expect(spent.every(({ usage }) => usage.output === 5)).toBe(true);
});

test("[AD60] a total that begins anew with a process is charged as its run knows it, without another turn", () => {
  const known = (at: number, total: number, cost: number): Fact[] => [
    ...turn(at, "phone", total).slice(0, -1),
    settled(at + 1, { ...used, cost }),
  ];
  // Each process counts from nothing: the second's turns are below what the first had come to.
  const anew = [...known(0, 3, 3), ...known(10, 1, 1), ...known(20, 4, 3)];
  const spent = play(anew);
  expect(spent.map(({ turns, cost }) => [turns, cost])).toEqual([
    ...[[1, 3] as const, [1, 0] as const, [0, 1] as const],
    ...[[1, 1] as const, [0, 2] as const],
  ]);
  expect(spent.filter(({ turns }) => turns === 0)).toMatchObject([
    { by: "phone", busyMs: 0, usage: noUsage },
    { by: "phone", busyMs: 0, usage: noUsage },
  ]);
  // Where it goes on, the run says the same as its results; where it knows nothing, they alone count.
  const on = [...known(0, 0.1, 0.1), ...known(10, 0.3, 0.2), ...turn(20, "phone", 0.5)];
  expect(play(on).map(({ turns }) => turns)).toEqual([1, 1, 1]);
});

test("[AD42] what a conversation from elsewhere had cost before is nobody's; what begins here is charged from its first turn", () => {
  const facts = [...turn(0, "phone", 90), ...turn(10, "phone", 91)];
  expect(costs(play(facts, { isFromElsewhere: true }))).toEqual([0, 1]);
  expect(costs(play(facts))).toEqual([90, 1]);
  const fresh: Fact = { is: "fresh", at: 20 };
  const both = [...facts, fresh, ...turn(30, "phone", 0.25)];
  expect(costs(play(both, { isFromElsewhere: true }))).toEqual([0, 1, 0.25]);
  expect(costs(play(turn(0, "")))).toEqual([0]);
});

test("[AD54] a first turn that fails does not say what a conversation from elsewhere had cost before", () => {
  const failed = (at: number, total: number): Fact[] => [
    ...[message(at, "phone"), begun(at), taken(at), result(at + 1, total, 1, true)],
    settled(at + 1),
  ];
  const facts = [
    ...failed(0, 0),
    ...failed(10, 0.01),
    ...turn(20, "phone", 91),
    ...turn(30, "", 92),
  ];
  expect(costs(play(facts, { isFromElsewhere: true }))).toEqual([0, 0, 0, 1]);
  expect(costs(play(facts))).toEqual([0, 0.01, 90.99, 1]);
  const later = [...turn(0, "", 90), ...failed(10, 91), ...turn(20, "", 92)];
  expect(costs(play(later, { isFromElsewhere: true }))).toEqual([0, 1, 1]);
});

test("[AD55] a result without usage took what its messages say, each once, and the next begins anew", () => {
  const said = (at: number, id: string, output: number): Fact => ({
    ...{ is: "work", at },
    said: { id, usage: { ...used, output } },
  });
  const bare = (at: number): Fact => ({
    ...{ is: "result", at },
    result: { durationMs: 1, isFailed: false },
  });
  const facts: Fact[] = [
    ...[message(0, ""), begun(0), taken(0)],
    ...[said(1, "a", 1), said(2, "b", 3), said(3, "a", 2), bare(4), settled(4)],
    ...[message(10, ""), begun(10), said(11, "c", 7), result(12), settled(12)],
    ...[message(20, ""), begun(20), said(21, "d", 9), settled(22)],
    ...[message(30, ""), begun(30), bare(31), settled(31)],
  ];
  expect(play(facts).map(({ usage: { input, output } }) => [input, output])).toEqual([
    [20, 5],
    [10, 5],
    [0, 0],
  ]);
});

test("[AD43] a turn is whose message began it; one that came in the middle is another's only where it begins the next", () => {
  const folded = [
    ...[begun(1), message(1, "phone", "c1"), taken(2), message(3, "laptop"), taken(4)],
    ...[result(5), settled(6)],
  ];
  expect(play(folded).map(({ by }) => by)).toEqual(["phone"]);
  const late = [
    ...[message(1, "phone"), begun(1), taken(2), message(3, "laptop"), result(4), taken(5)],
    ...[result(6), settled(7)],
  ];
  expect(play(late).map(({ by }) => by)).toEqual(["phone", "laptop"]);
  const woken: Fact[] = [
    ...turn(1, "phone"),
    { is: "work", at: 3 },
    ...[begun(5), { is: "work", at: 6 } as const, result(7), settled(8)],
    ...turn(10, "laptop"),
  ];
  expect(play(woken).map(({ by }) => by)).toEqual(["phone", "phone", "laptop"]);
});

test("[AD44] busy is from the asking to the answer; hours of waiting count as the turn's own duration, or not at all", () => {
  const busy = (end: number, durationMs: number): number | undefined =>
    play([message(0, ""), begun(0), taken(0), result(end, 0, durationMs), settled(end)])[0]?.busyMs;
  expect(busy(5_000, 3_000)).toBe(5_000);
  expect(busy(2 * hour - 1, 3_000)).toBe(2 * hour - 1);
  expect(busy(2 * hour, 3_000)).toBe(3_000);
  expect(busy(9 * hour, 2 * hour)).toBe(0);
  expect(busy(-5, 3_000)).toBe(3_000);
});

test("[AD46] a harness whose lines tell no results is counted by what its runs settle with, which begins anew with each process", () => {
  const spends = (at: number, cost: number): Fact[] => [
    ...[message(at, "phone"), begun(at)],
    { is: "settled", at: at + 9, ran: true, usage: { ...used, cost } },
    { is: "settled", at: at + 9, ran: false, usage: used },
  ];
  const facts = [...spends(0, 0.5), ...spends(20, 0.25), ...turn(50, "", 7)];
  const spent = play(facts, { saysResults: false });
  expect(spent.map(({ cost, busyMs, by }) => [cost, busyMs, by])).toEqual([
    [0.5, 9, "phone"],
    [0.25, 9, "phone"],
    [0, 1, ""],
  ]);
});
