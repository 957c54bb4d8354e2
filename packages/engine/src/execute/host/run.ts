// One program from its first line to its result, whatever sandboxes it lives in meanwhile.
//
//   R1  An outcome goes to the guest when its turn in the journal's order has come and the guest is idle: one per drain.
//   R2  A call is made once for each time that the guest asks for it and it is not open already.
//   R3  The result is given when every call has settled, or did not within the grace after it was told to stop.
//   R4  A program whose calls all wait for people holds no sandbox once its snapshot is kept; it is restored for its
//       next outcome.

import type { Bindings, ExecuteOptions, Execution, Journal } from "@lichen/capability/execute";
import { KeptSnapshots } from "../kept-snapshots.ts";
import type { Limits } from "../limits.ts";
import { nameOf, OpenCall } from "../open-call.ts";
import { failureOf, isProgramEnd, resultOf } from "../outcome.ts";
import type { Ask, Ending, Names, Outcome } from "../protocol.ts";
import { Turns } from "../turns.ts";
import type { Said, Seat, Seats } from "./pool.ts";
import { Stopwatch } from "./stopwatch.ts";

type Result = Execution["result"];

/** How long a guest that is told to stop may go on towards its next wait. */
const patienceMs = 100;

export interface RunOptions {
  readonly code: string;
  readonly bindings: Bindings;
  readonly options: ExecuteOptions;
  readonly limits: Limits;
  readonly seats: Seats;
  readonly seed: string;
  readonly now: () => number;
}

export class Run {
  readonly #given: RunOptions;
  readonly #journal: Journal | undefined;
  readonly #names: Names;
  readonly #done = Promise.withResolvers<Execution>();
  readonly #calls = new Map<number, OpenCall>();
  /** Aborts what the calls do. */
  readonly #stop = new AbortController();
  readonly #watch: Stopwatch;
  readonly #turns: Turns;
  readonly #snapshots: KeptSnapshots;
  #seat: Seat | undefined;
  #isSeating = false;
  #guest: "away" | "busy" | "idle" | "snapshot" = "away";
  #delivered = 0;
  #asked = 0;
  #printed = "";
  #result: Result | undefined;
  #isOver = false;
  #isStopped = false;
  /** What ends the execution with a rejection: a bug. */
  #failure: { readonly error: unknown } | undefined;
  #patience: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  readonly #aborted = () => this.#abort();

  constructor(given: RunOptions) {
    this.#given = given;
    this.#journal = given.options.journal;
    this.#names = Object.fromEntries(
      Object.entries(given.bindings).map(([name, operations]) => [name, Object.keys(operations)]),
    );
    this.#turns = new Turns(this.#journal, given.now);
    this.#snapshots = new KeptSnapshots(this.#journal, () => this.#guarded(() => this.#turn()));
    const deadlineMs = given.options.deadlineMs ?? given.limits.deadlineMs;
    this.#watch = new Stopwatch(deadlineMs, () =>
      this.#end({
        ok: false,
        reason: "limit",
        message: `The program and its calls took longer than ${deadlineMs / 1_000} seconds (what waits for people is not counted). Do less in one program.`,
      }),
    );
  }

  async settle(): Promise<Execution> {
    const { signal } = this.#given.options;
    signal?.addEventListener("abort", this.#aborted, { once: true });
    try {
      if (signal?.aborted) this.#abort();
      else this.#sit();
      return await this.#done.promise;
    } finally {
      signal?.removeEventListener("abort", this.#aborted);
      this.#watch.pause();
      clearTimeout(this.#patience);
      clearTimeout(this.#grace);
    }
  }

  // The sandbox.

  /** Takes a sandbox and puts the program into it: as it was left, else from its start. */
  #sit(): void {
    if (this.#isSeating || this.#seat) return;
    this.#isSeating = true;
    this.#given.seats.take(this.#stop.signal).then(
      (seat) => {
        this.#isSeating = false;
        if (this.#isStopped || this.#isOver) {
          this.#given.seats.giveBack(seat, true);
          return this.#conclude();
        }
        this.#seat = seat;
        seat.onMessage = (message) => this.#guarded(() => this.#hear(message));
        seat.onDeath = () => this.#died();
        if (seat.isDead) return this.#died();
        this.#guarded(() => this.#begin(seat));
      },
      (error: unknown) => {
        this.#isSeating = false;
        if (this.#isStopped) this.#conclude();
        else this.#fail(error);
      },
    );
  }

  #begin(seat: Seat): void {
    const snapshot = this.#snapshots.begin(seat.engine, this.#turns.order.length);
    this.#guest = "busy";
    this.#watch.run();
    if (!snapshot) return this.#start(seat);
    this.#delivered = snapshot.delivered;
    seat.post({ type: "restore", bytes: snapshot.bytes, ...this.#beginning() });
  }

  #start(seat: Seat): void {
    this.#delivered = 0;
    this.#printed = "";
    seat.post({ type: "start", code: this.#given.code, ...this.#beginning() });
  }

  #beginning() {
    const clock = this.#turns.clock(this.#delivered);
    const seed = this.#journal?.seed ?? this.#given.seed;
    return { seed, clock, names: this.#names };
  }

  #hear(message: Said): void {
    switch (message.type) {
      case "printed":
        this.#printed += message.text;
        return this.#given.options.output?.(this.#printed);
      case "unrestorable":
        this.#snapshots.refuse();
        if (this.#seat && !this.#isStopped) return this.#start(this.#seat);
        this.#guest = "idle";
        return this.#conclude();
      case "restored":
        this.#printed = message.printed;
        return this.#stepped(message.asks, message.calls);
      case "step":
        return this.#stepped(message.asks, message.calls, message.ending);
      case "snapshot":
        this.#guest = "idle";
        if (message.bytes !== undefined) this.#save(message.bytes);
        return this.#isStopped ? this.#conclude() : this.#turn();
    }
  }

  #stepped(asks: readonly Ask[], calls: number, ending?: Ending): void {
    this.#asked = calls;
    if (!this.#isStopped) for (const ask of asks) this.#call(ask);
    this.#guest = "idle";
    if (ending)
      this.#end(resultOf(ending, this.#given.limits), ending.ok || ending.reason === "error");
    if (this.#isStopped) return this.#stoppedIdle();
    this.#turn();
  }

  #died(): void {
    this.#leave(false);
    this.#end({
      ok: false,
      reason: "limit",
      message:
        "The program's sandbox broke down: it most likely needs too much memory. Do less in one program.",
    });
    this.#conclude();
  }

  #leave(isSound: boolean): void {
    const seat = this.#seat;
    this.#seat = undefined;
    this.#guest = "away";
    if (seat) this.#given.seats.giveBack(seat, isSound);
  }

  // Calls.

  #call(ask: Ask): void {
    const known = this.#calls.get(ask.ordinal);
    if (known) {
      if (known.isFor(ask)) return;
      return this.#end({
        ok: false,
        reason: "diverged",
        message: `The program asked for ${nameOf(ask)} where it had asked for ${known.name} before, so it cannot go on.`,
      });
    }
    const call = new OpenCall(ask);
    this.#calls.set(ask.ordinal, call);
    const { bindings, limits } = this.#given;
    const changed = () => this.#guarded(() => this.#turn());
    call.perform(bindings, limits, this.#stop.signal, changed).then(
      (outcome) => this.#guarded(() => this.#settled(call, outcome)),
      (error: unknown) => this.#guarded(() => this.#settled(call, this.#rejected(error))),
    );
  }

  #rejected(error: unknown): Outcome {
    const outcome = failureOf(error, this.#given.limits);
    if (outcome) return outcome;
    const ended: Outcome = { ok: false, code: "ended", message: "The program has ended." };
    if (isProgramEnd(error)) this.#end({ ok: false, reason: error.reason, message: error.message });
    else if (!this.#isStopped) this.#fail(error);
    return ended;
  }

  #settled(call: OpenCall, outcome: Outcome): void {
    call.outcome = outcome;
    if (this.#isStopped || this.#result) return this.#conclude();
    this.#turns.came(call.ask.ordinal);
    this.#turn();
  }

  /** Does what is next, if anything is. */
  #turn(): void {
    if (this.#isStopped || this.#isOver) return;
    this.#count();
    if (this.#result) return this.#conclude();
    if (this.#guest === "away") {
      const next = this.#turns.after(this.#delivered);
      if (next !== undefined && this.#calls.get(next)?.outcome) this.#sit();
      return;
    }
    if (this.#guest !== "idle") return;
    const next = this.#turns.after(this.#delivered);
    if (next !== undefined) return this.#deliver(next);
    if (this.#calls.size === 0)
      return this.#end({
        ok: false,
        reason: "error",
        message:
          "The program waits for something that never comes: no call is open. Await calls, nothing else.",
      });
    this.#leaveImage();
  }

  #deliver(ordinal: number): void {
    const call = this.#calls.get(ordinal);
    if (!call)
      return this.#end({
        ok: false,
        reason: "diverged",
        message: `The program did not ask for its call number ${ordinal} again, whose outcome is recorded, so it cannot go on.`,
      });
    if (!call.outcome) return;
    this.#calls.delete(ordinal);
    this.#delivered++;
    this.#snapshots.leave();
    this.#guest = "busy";
    this.#seat?.post({
      type: "deliver",
      ordinal,
      outcome: call.outcome,
      clock: this.#turns.clock(this.#delivered),
    });
    this.#count();
  }

  /** Time counts unless the guest is idle and all its calls wait for people. */
  #count(): void {
    const isRunning = this.#guest === "busy" || (this.#guest !== "away" && this.#calls.size === 0);
    if (isRunning || !this.#allWait()) this.#watch.run();
    else this.#watch.pause();
  }

  #allWait(): boolean {
    return this.#calls.values().every(({ isQuiet }) => isQuiet);
  }

  // Snapshots.

  #leaveImage(): void {
    if (!this.#journal || !this.#allWait()) return;
    if (this.#snapshots.isDue(this.#delivered)) return this.#snapshot();
    if (this.#snapshots.isCurrent) this.#leave(true);
  }

  #snapshot(): void {
    this.#snapshots.tried(this.#delivered);
    this.#guest = "snapshot";
    this.#seat?.post({ type: "snapshot" });
  }

  #save(bytes: Uint8Array): void {
    const engine = this.#seat?.engine;
    if (engine === undefined) return;
    const delivered = this.#delivered;
    this.#snapshots.save({ engine, delivered, bytes }, () => this.#delivered);
  }

  // The end.

  #abort(): void {
    const reason: unknown = this.#given.options.signal?.reason;
    const why = reason instanceof Error && reason.name !== "AbortError" ? ` ${reason.message}` : "";
    this.#end({ ok: false, reason: "aborted", message: `The program was stopped.${why}` });
  }

  /** The first end counts, but one of the code's own waits for its calls, and gives way to what ends them. */
  #end(result: Result, isOwn = false): void {
    if (this.#isStopped || this.#isOver) return;
    this.#result = result;
    if (isOwn) return this.#conclude();
    this.#isStopped = true;
    this.#watch.pause();
    this.#startGrace();
    const reason: unknown = this.#given.options.signal?.reason;
    if (result.ok || result.reason !== "aborted") this.#snapshots.tried(this.#delivered);
    this.#stop.abort(reason ?? new Error(result.ok ? "The program has ended." : result.message));
    // A guest that is about to be idle can still leave a snapshot.
    if (this.#guest === "busy" && !result.ok && result.reason === "aborted")
      this.#patience = setTimeout(() => this.#seat?.interrupt(), patienceMs);
    else if (this.#guest === "busy") this.#seat?.interrupt();
    if (this.#guest === "idle") this.#stoppedIdle();
    else this.#conclude();
  }

  /** The code has ended, and nobody is asked any longer for calls that it did not await. */
  #withdraw(): void {
    const names = [...this.#calls.values()].filter(({ outcome }) => !outcome);
    this.#printed += `[Not awaited, and withdrawn while a person was asked: ${names.map(({ name }) => name).join(", ")}.]\n`;
    this.#isStopped = true;
    this.#watch.pause();
    this.#startGrace();
    this.#stop.abort(new Error("The program has ended."));
  }

  #startGrace(): void {
    this.#grace = setTimeout(
      () => this.#guarded(() => this.#conclude(true)),
      this.#given.limits.graceMs,
    );
  }

  /** The guest is idle and goes no further: a last snapshot, where a later run may go on from it. */
  #stoppedIdle(): void {
    if (this.#guest === "idle" && this.#calls.size > 0 && this.#snapshots.isDue(this.#delivered))
      return this.#snapshot();
    this.#conclude();
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
    this.#end({ ok: false, reason: "error", message: "The program's host failed." });
  }

  /** Gives the result once nothing is open, or `isLate`. */
  #conclude(isLate = false): void {
    const result = this.#result;
    if (this.#isOver || !result || (this.#isSeating && !isLate)) return;
    const isQuiet = this.#guest === "idle" || this.#guest === "away";
    const areSettled = [...this.#calls.values()].every(({ outcome }) => outcome);
    if (!isLate && !(isQuiet && areSettled)) {
      if (this.#isStopped) return;
      this.#count();
      if (isQuiet && this.#allWait()) this.#withdraw();
      return;
    }
    this.#isOver = true;
    this.#leave(isQuiet && (result.ok || result.reason !== "limit"));
    const failure = this.#failure;
    const give = () =>
      failure
        ? this.#done.reject(failure.error)
        : this.#done.resolve({ result, printed: this.#printed, calls: this.#asked });
    if (isLate) give();
    else void this.#snapshots.settled.then(give);
  }

  /** Runs a reaction: what it throws is a bug of this host or of what it was given. */
  #guarded(react: () => void): void {
    try {
      react();
    } catch (error) {
      this.#fail(error);
    }
  }
}
