// One command of a session, executed by Claude Code: said, followed to its end, gone on with after a death, stopped.
//
//   CC5  A cancelled turn is asked to stop, and killed 8 s later with all it started.
//   CC6  A run whose process dies by itself is gone on with, three times at most; a turn whose process was restarted ends.
//   CC39 What a cancelled run had waiting in Claude Code is taken back before its turn is interrupted.
//   CC42 What only waits for a person, of what Claude Code began by itself, is left to a command that comes.
//   CC40 What was not read when a process was restarted is said to the next one.

import type { Result, Run, Work } from "@lichen/runtime";
import { textOf } from "@lichen/wire";
import type { HarnessClock } from "../harness/port.ts";
import type { HarnessProcess } from "../harness/process.ts";
import { isUnwritable, wasCancelled } from "../harness/stopping.ts";
import type { Gone, Supervisor } from "../harness/supervisor.ts";
import type { Control } from "./control.ts";
import { imagesOf, type Message } from "./outgoing.ts";
import type { ClaudePlace } from "./place.ts";
import { type Plan, Recovering } from "./recovering.ts";
import { settlementOf } from "./settlement.ts";
import type { Turn, TurnEnd } from "./turn.ts";

const stopMs = 8_000;
/** How long what only waits for a person keeps a command waiting that has found no place in the host. */
const placeMs = 5_000;
/** How often a run is gone on with after its process died by itself. */
const attempts = 3;

export type Refusal = Result & { readonly diagnostic: string };

/** What a run has of its connection. */
export interface RunHouse {
  readonly place: ClaudePlace;
  readonly supervisor: Supervisor;
  readonly control: Control;
  readonly clock: HarnessClock;
  readonly report: (error: unknown) => void;
  readonly conversation: () => string | undefined;
  /** A process that has the session's model; or why there is none. */
  ready(run: Run): Promise<HarnessProcess | Refusal>;
  /** Whether it has said what no run has yet, or a run left what it asked. */
  hasNews(): boolean;
  /** Whether it is in a turn, which it may have begun by itself. */
  isInTurn(): boolean;
  /** Hands on what it has said. */
  deliver(): void;
  /** Settles when all that it has said is taken into the log. */
  heard(): Promise<void>;
  /** The run that it opened by itself has begun. */
  takeOver(): void;
}

export class ClaudeRun {
  readonly #work: Work;
  readonly #turn: Turn;
  readonly #house: RunHouse;

  constructor(work: Work, turn: Turn, house: RunHouse) {
    this.#work = work;
    this.#turn = turn;
    this.#house = house;
  }

  async execute(): Promise<Result> {
    const work = this.#work;
    const turn = this.#turn;
    const { run } = turn;
    const recovering = new Recovering(work, turn, this.#house.place, this.#house.conversation);
    const prompt = work.type === "outside" ? undefined : this.#messageOf(work, run);
    let { says, result }: Plan = await this.#opening(prompt, turn, recovering);
    for (let attempt = 1; ; attempt++) {
      if (result) return result;
      if (run.signal.aborted) return stopped(run);
      const ready = await this.#untilStopped(this.#house.ready(run), run);
      if (ready === "stopped") return stopped(run);
      if ("diagnostic" in ready) return ready;
      // Its end counts from here on: one that had to go before it is nothing to this run.
      const ended = turn.begin(this.#house.isInTurn());
      if (this.#house.supervisor.process !== ready && attempt < attempts) continue;
      this.#house.deliver();
      const end = await this.#watched(this.#said(says, ended), turn);
      if (end === "stopped") return this.#stop(ended, run, turn);
      if (end.is === "result") return settlementOf(end.result, work.text);
      const isLast = attempt >= (end.is === "gone" && !end.gone.wasAsked ? attempts : attempts * 2);
      if (isLast && end.is !== "gone")
        return { terminal: "failed", diagnostic: "Claude Code takes no message in this turn." };
      if (end.is === "known") recovering.noteKnown(end.uuid);
      await this.#house.supervisor.endFormer();
      if (prompt && !(end.is === "gone" && (end.gone.wasAsked || isLast)))
        ({ says, result } = await recovering.plan(prompt));
      else {
        const lost = end.is === "gone" ? lostTo(end.gone) : quiet;
        const left = await recovering.rest(prompt ? [prompt] : [], lost);
        ({ says, result } = isLast ? { says: [], result: left.result ?? lost } : left);
      }
    }
  }

  /** What there is to say first; or how the run ends without a word. */
  async #opening(prompt: Message | undefined, turn: Turn, recovering: Recovering): Promise<Plan> {
    if (!prompt) return this.#follow(turn, recovering);
    if (!this.#work.resumed) return { says: [prompt] };
    // What is still running of it must not go on while its transcript is read.
    await this.#house.supervisor.endFormer();
    return recovering.plan(prompt);
  }

  /** Says the messages, then waits for the end of their turn. */
  async #said(says: readonly Message[], ended: Promise<TurnEnd>): Promise<TurnEnd> {
    try {
      for (const message of says) await this.#turn.say(message);
    } catch {
      // It listens no more. Whatever it does still, it is of no use.
      await this.#house.supervisor.process?.kill();
    }
    return ended;
  }

  /** A run that Claude Code opened by itself: its lines are there, or come. */
  async #follow(turn: Turn, recovering: Recovering): Promise<Plan> {
    this.#house.takeOver();
    if (this.#work.resumed) {
      await this.#house.supervisor.endFormer();
      return recovering.rest([], leftByHost);
    }
    if (!this.#house.hasNews() && !this.#house.isInTurn()) return over(quiet);
    const ended = turn.begin(this.#house.isInTurn());
    turn.follow();
    const stay = this.#makeWay(turn);
    this.#house.deliver();
    const end = await this.#watched(ended, turn).finally(stay);
    if (end === "stopped") return over(await this.#stop(ended, turn.run, turn));
    if (end.is === "result") return over(settlementOf(end.result, ""));
    if (end.is === "gone") return recovering.rest([], lostTo(end.gone));
    return over(quiet);
  }

  /** Ends the run for a command that waits; for one that waited already, and so found no place in the host, now and then. */
  #makeWay(turn: Turn): () => void {
    let cancelWait: (() => void) | undefined;
    let isBegun = false;
    const leave = turn.run.onQueued(() => {
      if (isBegun) turn.makeWay();
      else cancelWait = this.#house.clock.after(placeMs, () => turn.makeWay());
    });
    isBegun = true;
    return () => {
      leave();
      cancelWait?.();
    };
  }

  /** Waits for the end of a turn, and hands it the steers that come meanwhile. */
  async #watched(ended: Promise<TurnEnd>, turn: Turn): Promise<TurnEnd | "stopped"> {
    const { run } = turn;
    let steering = Promise.resolve();
    const steer = (): void => {
      const next = steering.then(() => turn.speak(() => this.#steer(turn)));
      steering = next.catch((error: unknown) => {
        if (!run.signal.aborted) this.#house.report(error);
      });
    };
    const leave = run.onSteer(steer);
    try {
      const end = await this.#untilStopped(ended, run);
      leave();
      // One that joins just then is part of what is left unread.
      if (end !== "stopped" && end.is === "gone") await steering;
      return end;
    } finally {
      leave();
    }
  }

  async #steer(turn: Turn): Promise<void> {
    for (const steer of await turn.run.steers()) {
      const images = steer.kind === "message.user" ? (steer.data.images ?? []) : [];
      await turn.say({
        uuid: this.#house.place.messageUuid(steer.id),
        text: textOf(steer.data.text),
        images: imagesOf(turn.run, images, (bytes) => this.#house.place.toBase64(bytes)),
      });
    }
  }

  async #untilStopped<T>(promise: Promise<T>, run: Run): Promise<T | "stopped"> {
    const { signal } = run;
    if (signal.aborted) return "stopped";
    const aborted = Promise.withResolvers<"stopped">();
    const abort = (): void => aborted.resolve("stopped");
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([promise, aborted.promise]);
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Asks the turn to stop, and kills what does not. A run that its host leaves is left as it is. */
  async #stop(ended: Promise<TurnEnd>, run: Run, turn: Turn): Promise<Result> {
    if (!wasCancelled(run.signal)) return stopped(run);
    const { process } = this.#house.supervisor;
    if (!process) return stopped(run);
    const cancel = this.#house.clock.after(stopMs, () => {
      void this.#house.supervisor.stop("its turn did not stop when it was cancelled");
    });
    const interrupt = (): Promise<unknown> =>
      this.#house.control.ask(process, { subtype: "interrupt" });
    turn.stop(() => void interrupt().catch(() => {}));
    try {
      // Written before it is interrupted, so that no turn begins with it.
      const takenBack = Promise.all(turn.unread.map((uuid) => this.#takeBack(uuid, process, turn)));
      const interrupted = turn.asks.interrupt().then(interrupt);
      await Promise.all([takenBack, interrupted]);
    } catch {
      // It is gone, or deaf: then it is killed.
    }
    await this.#house.heard();
    if (!turn.isAtRest) await ended;
    cancel();
    return stopped(run);
  }

  /** Claude Code does not read a message any more; one that it cannot give back it does not live to read. */
  async #takeBack(uuid: string, process: HarnessProcess, turn: Turn): Promise<void> {
    const request = { subtype: "cancel_async_message", message_uuid: uuid };
    try {
      const { cancelled } = await this.#house.control.ask(process, request);
      // Otherwise it is part of a turn by now: of the one in hand, or of one that is about to begin.
      turn.giveUp(uuid, { isInHand: cancelled !== true && !this.#house.isInTurn() });
    } catch (error) {
      void this.#house.supervisor.stop("what it had not read could not be taken back");
      throw error;
    }
  }

  #messageOf(work: Work, run: Run): Message {
    return {
      uuid: this.#house.place.messageUuid(work.commandId),
      text: work.type === "compact" ? `/compact ${work.text}`.trim() : work.text,
      images: imagesOf(run, work.images, (bytes) => this.#house.place.toBase64(bytes)),
    };
  }
}

function over(result: Result): Plan {
  return { says: [], result };
}

/** Nothing came of it. */
const quiet: Result = { terminal: "completed", answer: "" };

const leftByHost: Result = {
  terminal: "interrupted",
  diagnostic: "Claude Code's process ended in the middle of what it did by itself.",
};

/** The run ends with its process. */
function lostTo({ reason }: Gone): Result {
  return {
    terminal: "interrupted",
    diagnostic: `Claude Code's process ended in the middle of the turn: ${reason}.`,
  };
}

function stopped(run: Run): Result {
  if (wasCancelled(run.signal)) return { terminal: "cancelled" };
  // The runtime knows what could not be written, and what that leaves open.
  if (isUnwritable(run.signal)) run.signal.throwIfAborted();
  return { terminal: "interrupted", diagnostic: "Its host closed in the middle of the turn." };
}
