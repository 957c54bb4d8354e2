// What the suites of programs share: runs that are one program, and what stands of it in the log.

import type { Entry, EntryOf, Json } from "@lichen/wire";
import type { Program, ProgramOutcome, Session } from "../src/index.ts";
import type { Move } from "../src/testing/index.ts";
import { until } from "./clock.ts";
import { effectOf, programCall, runGuest, type GuestCall } from "./guest.ts";
import { entriesOf } from "./stage.ts";

export type Does = (program: Program, signal: AbortSignal) => Promise<Json | void>;

/** A run that makes one call, which is a program; its answer is what that gave. */
export function programThat(does: Does): readonly Move[] {
  return [
    {
      calls: [
        {
          name: "execute",
          replaySafe: true,
          program: async (program, signal) => JSON.stringify((await does(program, signal)) ?? null),
        },
      ],
    },
    { say: ({ outcomes }) => textOf(outcomes[0]) },
  ];
}

export const guestThat = (calls: readonly GuestCall[]): readonly Move[] =>
  programThat(async (program) => (await runGuest(program, calls)) as unknown as Json);

export function textOf(outcome: { content: readonly object[] } | undefined): string {
  const [block] = (outcome?.content ?? []) as { text: string }[];
  return block?.text ?? "";
}

export const make = (program: Program, ordinal: number, call: GuestCall): Promise<ProgramOutcome> =>
  program.call(programCall(ordinal, call), effectOf(call));

export async function inProgram(session: Session): Promise<Entry[]> {
  return (await entriesOf(session)).filter((it) => it.kind.startsWith("program."));
}

export async function outcomes(session: Session): Promise<EntryOf<"program.outcome">["data"][]> {
  return (await inProgram(session))
    .filter((it) => it.kind === "program.outcome")
    .map((it) => it.data as EntryOf<"program.outcome">["data"]);
}

export const never = (): Promise<never> => new Promise<never>(() => {});

export async function asked(session: Session, count = 1) {
  await until(async () => (await session.info()).approvals === count, `${count} approvals`);
  return (await session.read()).approvals;
}

export const bytes = (length: number, seed = 1): Uint8Array =>
  Uint8Array.from({ length }, (_, at) => (at * 31 + seed) % 251);
