import { expect, test } from "vitest";
import { checkSession } from "../src/doctor/session.ts";
import type { MachineSession } from "../src/machine/reach-machine.ts";

const at = Date.UTC(2026, 0, 1, 12);
const minutes = 60_000;

function session(more: Partial<MachineSession>): MachineSession {
  return {
    ...{ id: "a", name: "demo", dir: "/work", harness: "claude", preview: "" },
    ...{ state: "working", pending: 0, running: true, auto_approve: false, keep_running: false },
    ...{ starred: false, model: "" },
    last_time: new Date(at).toISOString(),
    ...more,
  };
}

test("[UP14] a session that works without a word for longer than a quarter of an hour may be stuck, and is told of with the way out", () => {
  const of = (ms: number, more: Partial<MachineSession> = {}) =>
    checkSession(session(more), " --state x", at + ms);
  expect(of(15 * minutes)).toEqual([]);
  expect(of(16 * minutes)).toMatchObject([
    {
      name: "session demo",
      level: "note",
      text: "it has worked for 16 minutes without a word",
      fix: expect.stringMatching(
        /`.*lichen log demo --state x`; `.*lichen restart demo --state x`/,
      ),
    },
  ]);
  expect(of(60 * minutes, { state: "idle" })).toEqual([]);
  // Who waits for a person is not stuck.
  expect(of(60 * minutes, { state: "waiting", pending: 2 })).toMatchObject([
    { text: "it waits for 2 answers" },
  ]);
  expect(of(0, { state: "idle", missing: "pi is not here: install it" })).toMatchObject([
    { text: "it cannot start", fix: "pi is not here: install it" },
  ]);
});
