// A guest: what a sandbox does with the journal of a program, with a script in the place of code.
//
// It makes calls at its start, and further ones whenever the outcome of a call is delivered to it; outcomes are
// delivered one by one in the order of the journal, as to code that runs jobs. What it does next depends on nothing else.

import type { Json, JsonObject } from "@lichen/wire";
import type { Program, ProgramCall, ProgramOutcome } from "../src/index.ts";

type Effect = (input: JsonObject, signal: AbortSignal) => Promise<Json | undefined>;

export interface GuestCall {
  readonly operation: string;
  readonly input?: JsonObject;
  readonly label?: ProgramCall["label"];
  readonly replaySafe?: boolean;
  readonly confirm?: ProgramCall["confirm"];
  readonly check?: ProgramCall["check"];
  readonly waits?: ProgramCall["waits"];
  readonly effect?: (
    input: JsonObject,
    signal: AbortSignal,
  ) => Json | undefined | Promise<Json | undefined>;
  /** What is called once the outcome of this call is delivered. */
  readonly then?: readonly GuestCall[];
}

export interface Delivered {
  readonly ordinal: number;
  readonly operation: string;
  readonly outcome: ProgramOutcome;
  /** The guest's clock by then. */
  readonly at: number;
}

/** A call of a guest as the port takes it. */
export function programCall(ordinal: number, call: GuestCall): ProgramCall {
  return {
    ordinal,
    capability: "cap",
    operation: call.operation,
    input: call.input ?? {},
    label: call.label ?? "read",
    replaySafe: call.replaySafe ?? false,
    ...(call.confirm ? { confirm: call.confirm } : {}),
    ...(call.check ? { check: call.check } : {}),
    ...(call.waits ? { waits: call.waits } : {}),
  };
}

export function effectOf(call: GuestCall): Effect {
  return async (input, signal) =>
    call.effect ? call.effect(input, signal) : `${call.operation} done`;
}

/** Runs a guest to its end; answers all that it was told, in its order. It keeps a snapshot where `keeps` says so, which sees that too. */
export async function runGuest(
  program: Program,
  calls: readonly GuestCall[],
  keeps: (delivered: readonly Delivered[]) => boolean = () => false,
): Promise<readonly Delivered[]> {
  const kept = program.snapshot();
  const delivered: Delivered[] = kept
    ? (JSON.parse(new TextDecoder().decode(kept.bytes)) as Delivered[])
    : [];
  if (delivered.length !== (kept?.delivered ?? 0)) throw new Error("another snapshot was found");
  const made: GuestCall[] = [...calls];
  for (const { ordinal } of delivered) made.push(...(made[ordinal]!.then ?? []));
  const told = new Set(delivered.map(({ ordinal }) => ordinal));
  const open = new Map<number, Promise<ProgramOutcome>>();
  const makeCalls = (from: number): void => {
    for (let ordinal = from; ordinal < made.length; ordinal++)
      if (!told.has(ordinal))
        open.set(
          ordinal,
          program.call(programCall(ordinal, made[ordinal]!), effectOf(made[ordinal]!)),
        );
    for (const calling of open.values()) calling.catch(() => undefined);
  };
  makeCalls(0);
  while (open.size > 0) {
    const next = program.order[delivered.length];
    if (next === undefined) {
      // The journal grows before a call settles.
      await Promise.race(open.values());
      if (program.order.length === delivered.length)
        throw new Error("a call settled before the journal had its outcome");
      continue;
    }
    const call = open.get(next);
    if (!call) throw new Error(`the journal delivers call ${next}, which was not made`);
    const outcome = await call;
    open.delete(next);
    told.add(next);
    const { operation, then = [] } = made[next]!;
    delivered.push({ ordinal: next, operation, outcome, at: program.recordedAt(next) });
    const before = made.length;
    made.push(...then);
    makeCalls(before);
    if (keeps(delivered))
      await program.save({
        engine: "guest",
        delivered: delivered.length,
        bytes: new TextEncoder().encode(JSON.stringify(delivered)),
      });
  }
  return delivered;
}
