// The runs of an agent, one after another.
//
//   - How each turn ended stands in the log: after a crash what was never sent is sent, and what may have been taken in
//     is told as unknown, never sent twice.
//   - A steer is the next prompt of the same run: the protocol takes none while a turn is in hand.
//   - A run that the agent opened by itself lasts until nothing more comes for 2 s, also one that is cancelled; what goes
//     on for 8 s after that is killed.
//   - An agent whose run cannot be written is ended.

import { methods } from "@agentclientprotocol/sdk";
import type { Result, Run, TranscriptEntry, Work } from "@lichen/runtime";
import { type EntryOf, Fault, type Json } from "@lichen/wire";
import { isUnwritable, wasCancelled } from "../harness/stopping.ts";
import type { Held } from "./driver.ts";
import { lineOf } from "./message.ts";
import { requestNames } from "./request-names.ts";
import { promptOf, type PromptParts } from "./prompt.ts";
import { cancelMs, prompt, type PromptingOptions, type TurnEnd, unrecorded } from "./prompting.ts";
import { historyOf } from "./sent.ts";
import { type Stopped, verdictOf } from "./settlement.ts";
import type { Talk } from "./talk.ts";
import { Turn } from "./turn.ts";
import { unansweredOf } from "./unanswered.ts";

const quietMs = 2_000;
const silenceLookMs = 500;
const forgottenCallMs = 10 * 60_000;

export interface RunsOptions extends PromptingOptions {
  held(): Held | undefined;
}

export class Runs {
  readonly #it: RunsOptions;
  /** Of the run in hand. */
  #turn: Turn | undefined;
  #isUnused = false;

  constructor(it: RunsOptions) {
    this.#it = it;
  }

  get isRunning(): boolean {
    return this.#turn !== undefined;
  }

  /** Nothing was said in the conversation yet, as far as a run has looked. */
  get isUnused(): boolean {
    return this.#isUnused;
  }

  /** Settles when what was said so far is durable, or cannot be. */
  async durable(): Promise<void> {
    // A commit that failed has stopped the run.
    await this.#turn?.recorder.durable().catch(() => undefined);
  }

  async run(work: Work, run: Run): Promise<Result> {
    const turn = new Turn(run, () => this.#it.held()?.talk.sessionId ?? "");
    this.#turn = turn;
    this.#it.supervisor.touch();
    try {
      return work.type === "outside" && !work.resumed
        ? await this.#listen(turn)
        : await this.#conduct(work, turn);
    } catch (error) {
      if (run.signal.aborted) return await this.#broken(turn);
      if (!Fault.is(error)) throw error;
      return { terminal: "failed", diagnostic: error.message, retryable: error.retryable };
    } finally {
      this.#turn = undefined;
      this.#it.supervisor.touch();
    }
  }

  /** How a run ends that was stopped before its end could be written. */
  async #broken({ run, wasSent }: Turn): Promise<Result> {
    if (wasCancelled(run.signal)) return { terminal: "cancelled" };
    if (!isUnwritable(run.signal)) return leftByHost;
    await this.#it.supervisor.stop(unrecorded);
    return wasSent ? unwritten : unsent;
  }

  async #conduct(work: Work, turn: Turn): Promise<Result> {
    const { run } = turn;
    const lines = work.resumed ? run.lines() : [];
    const history = historyOf(lines);
    const own = ownMessages(run).filter((message) => !history.sent.has(message.id));
    const isOver =
      own.length === 0 && (work.type !== "compact" || history.sent.has(work.commandId));
    // Of what an earlier host left nothing goes on beside what is told here.
    if (work.resumed) await this.#it.supervisor.endFormer();
    const doubt = history.inDoubt.length > 0 ? await doubtOf(run, lines) : undefined;
    if (isOver && doubt) return doubt;
    if (isOver) return history.sent.size > 0 ? earlierEnd(history.lastReason) : endedWithHost;
    const held = await this.#ready(run).catch((error: unknown) => {
      if (doubt) return undefined;
      throw error;
    });
    if (!held) return doubt ?? endedWithHost;
    const parts =
      work.type === "compact" ? await this.#compactPrompt(held, work) : promptOf(run, own);
    const result = await this.#converse(turn, parts);
    // What was in doubt before stays so, whatever became of what followed it.
    return doubt && result.terminal !== "cancelled" ? { ...result, ...doubt } : result;
  }

  /** Sends a prompt, then what arrived meanwhile, until nothing waits any more. */
  async #converse(turn: Turn, first: PromptParts | Stopped): Promise<Result> {
    const { run } = turn;
    let hasSteers = false;
    const forget = run.onSteer(() => {
      hasSteers = true;
    });
    try {
      for (let next = first; ;) {
        const { stopped, answer } = await this.#turnOf(turn, next);
        const goesOn = stopped.how === "stopped" && stopped.reason === "end_turn";
        if (!goesOn || !hasSteers || run.signal.aborted)
          return await this.#result(turn, stopped, answer);
        // That this turn has ended is durable before a steer joins: what is sent next is known by it after a crash.
        turn.endMessage("stop");
        if (answer !== undefined) turn.line(answer);
        await turn.recorder.durable();
        hasSteers = false;
        const messages = (await run.steers()).filter((it) => it.kind === "message.user");
        if (messages.length === 0) return await this.#result(turn, stopped, undefined);
        next = promptOf(run, messages);
      }
    } finally {
      forget();
    }
  }

  /** One prompt to its end, or what became of it already. */
  async #turnOf(turn: Turn, next: PromptParts | Stopped): Promise<TurnEnd> {
    const held = this.#it.held();
    const ended =
      "how" in next || !held
        ? { stopped: "how" in next ? next : lost }
        : await prompt(this.#it, held, turn, next);
    if (!turn.run.signal.aborted) turn.calls.close();
    await turn.recorder.durable();
    return ended;
  }

  async #result(turn: Turn, stopped: Stopped, answer: Json | undefined): Promise<Result> {
    const { signal } = turn.run;
    const isStopped = signal.aborted;
    const entries = [
      ...turn.last(isStopped ? "aborted" : stopWord(stopped)),
      ...(answer === undefined ? [] : [lineOf(answer)]),
    ];
    if (!isStopped) return { ...verdictOf(stopped, turn.calls.openWrites), entries };
    // A run that is left to a later process has no settlement now.
    for (const entry of entries) turn.recorder.record(entry);
    await turn.recorder.durable();
    return wasCancelled(signal) ? { terminal: "cancelled" } : leftByHost;
  }

  /** The process, on the session's conversation. Rejects when the run is stopped meanwhile. */
  async #ready(run: Run): Promise<Held | undefined> {
    const { signal } = run;
    this.#isUnused = !run.transcript().some((entry) => entry.kind === "message.assistant");
    const stopped = Promise.withResolvers<never>();
    stopped.promise.catch(() => {});
    const stop = (): void => stopped.reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    try {
      await Promise.race([this.#begun(), stopped.promise]);
      return this.#it.held();
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** A restart that was asked for while the process began is no failure: the next one is waited for. */
  async #begun(): Promise<void> {
    const { supervisor } = this.#it;
    try {
      await supervisor.ensure();
    } catch (error) {
      if (this.#it.held()?.talk.gone?.wasAsked !== true) throw error;
      await supervisor.ensure();
    }
  }

  /** A run that the agent opened by itself. */
  async #listen(turn: Turn): Promise<Result> {
    const { run } = turn;
    const { link, talk } = this.#it.held() ?? {};
    if (!link || !talk) return endedWithHost;
    const cancel = (): void =>
      link.notify(methods.agent.session.cancel, { sessionId: talk.sessionId });
    run.signal.addEventListener("abort", cancel, { once: true });
    turn.wasSent = true;
    talk.begin(turn);
    try {
      await this.#quiet(turn, talk);
      if (wasCancelled(run.signal)) await this.#silent(turn, talk);
    } finally {
      run.signal.removeEventListener("abort", cancel);
      talk.end();
    }
    const { gone } = talk;
    const stopped: Stopped = gone
      ? { how: "gone", words: gone.reason, wasAsked: gone.wasAsked }
      : { how: "stopped", reason: "end_turn" };
    return this.#converse(turn, stopped);
  }

  async #quiet({ run, calls }: Turn, talk: Talk): Promise<void> {
    const { asks, options } = this.#it;
    const isOver = (): boolean => {
      if (run.signal.aborted || talk.gone) return true;
      if (asks.isWaiting) return false;
      return talk.quietMs >= (calls.isOpen ? forgottenCallMs : quietMs);
    };
    while (!isOver()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = (): void => resolve();
      const cancel = options.clock.after(quietMs, wake);
      run.signal.addEventListener("abort", wake, { once: true });
      await promise;
      run.signal.removeEventListener("abort", wake);
      cancel();
    }
  }

  /** What the agent began by itself has no end that it would tell: it falls silent once it was cancelled, or is killed. */
  async #silent({ calls }: Turn, talk: Talk): Promise<void> {
    const { options, supervisor } = this.#it;
    const { clock } = options;
    const cancelledAt = clock.now();
    for (;;) {
      const waitedMs = clock.now() - cancelledAt;
      if (talk.gone) return;
      if (!calls.isRunning && Math.min(talk.quietMs, waitedMs) >= quietMs) return;
      if (waitedMs >= cancelMs) return supervisor.stop("it did not stop when it was cancelled");
      await new Promise<void>((resolve) => void clock.after(silenceLookMs, resolve));
    }
  }

  /** The agent's own command for it, where it has one. */
  async #compactPrompt({ talk }: Held, work: Work): Promise<PromptParts | Stopped> {
    const { clock } = this.#it.options;
    // Commands are told of soon after the beginning.
    for (let waits = 0; waits < 4 && talk.commands.length === 0; waits++)
      await new Promise<void>((resolve) => void clock.after(500, resolve));
    if (!talk.commands.includes("compact"))
      return {
        how: "refused",
        words: "This agent has no command to compact its conversation: begin a new one instead.",
      };
    const block = { type: "text" as const, text: `/compact ${work.text}`.trim() };
    return { messages: [work.commandId], blocks: [block], hasImages: false };
  }
}

/**
 * How a run ends whose prompt an earlier host sent, and whose end it did not hear. What only waited for a person then was
 * not done, and where nothing else was open that is said.
 */
async function doubtOf(run: Run, lines: readonly Json[]): Promise<Result> {
  const own = run.transcript().filter((entry) => entry.commandId === run.commandId);
  const { isAsked, outcomes, calls, others } = unansweredOf(lines, own);
  if (!isAsked) return inDoubt;
  await run.withdrawQuestions(requestNames, "the agent that asked ended with its host");
  if (outcomes.length > 0) await run.append(outcomes);
  if (others.length > 0) return inDoubt;
  const what = calls.length > 0 ? ` for ${calls.join(", ")}: it was not done` : "";
  return {
    terminal: "interrupted",
    diagnostic: `The agent's process ended with its host while it waited for a person's answer${what}. Look at what it did before that, and send the message again if it is still wanted.`,
  };
}

const inDoubt: Result = {
  terminal: "outcome_unknown",
  diagnostic:
    "The agent's process ended while it worked on this message, and it cannot tell how far it came: look at what it did before you send the message again.",
};

const endedWithHost: Result = {
  terminal: "interrupted",
  diagnostic: "The agent's process ended with its host.",
};

/** Nothing is settled by it: a later process goes on with the run. */
const leftByHost: Result = {
  terminal: "interrupted",
  diagnostic: "Its host stopped while the agent worked on this message.",
};

const unwritten: Result = {
  terminal: "outcome_unknown",
  diagnostic:
    "What the agent did could not be written to the log, so it was ended in the middle of it: see that there is room on the disk, and look at what it did before you send the message again.",
};

const unsent: Result = {
  terminal: "failed",
  diagnostic: "The log could not be written, so the message was not given to the agent.",
  retryable: true,
};

const lost: Stopped = { how: "gone", words: "it was ended", wasAsked: true };

/** How a run ends that an earlier process brought to its end, up to the settlement. */
function earlierEnd(reason = "end_turn"): Result {
  if (reason === "cancelled")
    return {
      terminal: "interrupted",
      diagnostic:
        "Its host stopped while the agent worked on this message; the agent was told to stop, and did. Send it again if it is still wanted.",
    };
  if (reason === "refused")
    return { terminal: "failed", diagnostic: "The agent refused this message." };
  return verdictOf({ how: "stopped", reason }, []);
}

function ownMessages(run: Run): EntryOf<"message.user">[] {
  const isOwn = (entry: TranscriptEntry): entry is EntryOf<"message.user"> =>
    entry.kind === "message.user" &&
    (entry.commandId === run.commandId || entry.data.steers === run.commandId);
  return run.transcript().filter(isOwn);
}

function stopWord(stopped: Stopped): "stop" | "length" | "error" {
  if (stopped.how !== "stopped") return "error";
  if (stopped.reason === "max_tokens") return "length";
  return stopped.reason === "end_turn" ? "stop" : "error";
}
