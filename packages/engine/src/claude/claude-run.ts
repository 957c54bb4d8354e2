// One command of a session, executed by Claude Code: said, followed to its end, gone on with after a death, stopped.
//
//   CC5  A cancelled turn is asked to stop, and killed 8 s later with all it started.
//   CC6  A run whose process dies by itself is gone on with, three times at most; one that was restarted ends.

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
import { mayHaveEffects } from "./tools.ts";
import type { Turn, TurnEnd } from "./turn.ts";

const stopMs = 8_000;
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
    if (work.type === "outside") return this.#follow(work, turn, recovering);
    const prompt = this.#messageOf(work, run);
    let { says, result }: Plan = work.resumed
      ? await this.#afterDeath(recovering, prompt)
      : { says: [prompt] };
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
      if (end.is === "gone" && (end.gone.wasAsked || attempt >= attempts))
        return this.#lostTo(end.gone, turn, recovering);
      if (attempt >= attempts * 2)
        return { terminal: "failed", diagnostic: "Claude Code takes no message in this turn." };
      if (end.is === "known") recovering.noteKnown(end.uuid);
      ({ says, result } = await this.#afterDeath(recovering, prompt));
    }
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
  async #follow(work: Work, turn: Turn, recovering: Recovering): Promise<Result> {
    this.#house.takeOver();
    if (work.resumed) {
      await recovering.withdraw("the process that asked has ended");
      return {
        terminal: "interrupted",
        diagnostic: "Claude Code's process ended in the middle of what it did by itself.",
      };
    }
    if (!this.#house.hasNews() && !this.#house.isInTurn())
      return { terminal: "completed", answer: "" };
    const ended = turn.begin(this.#house.isInTurn());
    turn.follow();
    this.#house.deliver();
    const end = await this.#watched(ended, turn);
    if (end === "stopped") return this.#stop(ended, turn.run, turn);
    if (end.is === "result") return settlementOf(end.result, "");
    if (end.is === "gone") return this.#lostTo(end.gone, turn, recovering);
    return { terminal: "completed", answer: "" };
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
      return await this.#untilStopped(ended, run);
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
    try {
      await turn.asks.interrupt();
      await this.#house.control.ask(process, { subtype: "interrupt" });
    } catch {
      // It is gone, or deaf: then it is killed.
    }
    if (!turn.isAtRest) await ended;
    cancel();
    return stopped(run);
  }

  async #afterDeath(recovering: Recovering, prompt: Message): Promise<Plan> {
    // What is still running of it must not go on while its transcript is read.
    await this.#house.supervisor.endFormer();
    return recovering.plan(prompt);
  }

  /** The run ends with its process. */
  async #lostTo(gone: Gone, turn: Turn, recovering: Recovering): Promise<Result> {
    await recovering.withdraw("the process that asked has ended");
    const hasUnknown = turn.calls.all.some(
      ({ name, callId }) => mayHaveEffects(name) && !turn.asks.wasLost(callId),
    );
    return {
      terminal: hasUnknown ? "outcome_unknown" : "interrupted",
      diagnostic: `Claude Code's process ended in the middle of the turn: ${gone.reason}.`,
    };
  }

  #messageOf(work: Work, run: Run): Message {
    return {
      uuid: this.#house.place.messageUuid(work.commandId),
      text: work.type === "compact" ? `/compact ${work.text}`.trim() : work.text,
      images: imagesOf(run, work.images, (bytes) => this.#house.place.toBase64(bytes)),
    };
  }
}

function stopped(run: Run): Result {
  if (wasCancelled(run.signal)) return { terminal: "cancelled" };
  // The runtime knows what could not be written, and what that leaves open.
  if (isUnwritable(run.signal)) run.signal.throwIfAborted();
  return { terminal: "interrupted", diagnostic: "Its host closed in the middle of the turn." };
}
