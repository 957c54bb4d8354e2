// The program of the stored databases: it looks, writes, asks a person, and keeps a snapshot on its way.

import type { Program } from "../../src/index.ts";
import type { Move } from "../../src/testing/index.ts";
import { type GuestCall, runGuest } from "../guest.ts";

/** `pays`: with a call that a person must allow. */
export function storedProgram(pays: boolean): readonly Move[] {
  const pay: GuestCall = {
    ...{ operation: "bank.pay", label: "write", input: { amount: 9 } },
    ...{ confirm: { description: "Pay 9?" }, effect: () => "paid 9" },
  };
  const calls: readonly GuestCall[] = [
    { operation: "files.read", input: { path: "a.txt" }, effect: () => ({ text: "seen" }) },
    {
      ...{ operation: "files.write", label: "write", input: { path: "b.txt" } },
      effect: () => undefined,
      then: [{ operation: "files.gone", effect: () => Promise.reject(new Error("no such file")) }],
    },
    ...(pays ? [pay] : []),
  ];
  const program = async (running: Program): Promise<string> =>
    JSON.stringify(await runGuest(running, calls, (told) => told.length === 2));
  return [
    { calls: [{ name: "execute", replaySafe: true, input: { code: "" }, program }] },
    { say: ({ outcomes }) => JSON.stringify(outcomes[0]?.content) },
  ];
}
