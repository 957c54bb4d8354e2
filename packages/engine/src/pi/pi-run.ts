// One run on pi: what is set before its prompt, the prompt, what an earlier host left of it, and what it cost.
//
//   PI13 Where a prompt is sent again after a crash, pi never read it; where it was read, the turn goes on or its answer
//        counts; where neither can be told, the settlement says so.
//   PI24 What its process took down unread, behind the last word, is said to the next one; a run that leaves something
//        unread does not complete.

import type { Result, Run, Steer, Work } from "@lichen/runtime";
import { type BlobRef, Fault, type JsonObject, textOf } from "@lichen/wire";
import { isUnwritable, wasCancelled } from "../harness/stopping.ts";
import { base64 } from "./base64.ts";
import { catchUp } from "./catch-up.ts";
import { textAt } from "./codec.ts";
import type { PiConnection } from "./connection.ts";
import { Earlier } from "./earlier.ts";
import { Feed } from "./feed.ts";
import { watchOver } from "./patience.ts";
import { lineDraft } from "./recorder.ts";
import { type Found, noteOf, placeLine } from "./recovery.ts";
import { compactedResult, resultOf, settledResult } from "./settlement.ts";
import { Turn } from "./turn.ts";
import type { PiLink, TurnEnd } from "./turn-parts.ts";
import { Words } from "./words.ts";

const attempts = 3;

type Taken = Extract<Found, { how: "taken" }>;

export class PiRun {
  readonly #pi: PiConnection;
  readonly #work: Work;
  readonly #run: Run;
  readonly #words: Words;
  #earlier: Earlier;
  /** pi may have read something of this run. */
  #isSent = false;
  /** An earlier process had it in hand. */
  #isResumed: boolean;
  /** What its process left unread here, and how it ends where nobody goes on with that. */
  #left: { readonly unread: readonly string[]; readonly result: Result } | undefined;

  constructor(pi: PiConnection, work: Work, run: Run) {
    this.#pi = pi;
    this.#work = work;
    this.#run = run;
    this.#words = new Words(work, run);
    this.#earlier = new Earlier(pi, run, this.#words);
    this.#isResumed = work.resumed;
  }

  /** Executes a prompt or a compaction. */
  execute(): Promise<Result> {
    return this.#watched(() => this.#tried());
  }

  async #tried(): Promise<Result> {
    const { signal } = this.#run;
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= attempts;
      let isUp = false;
      try {
        await this.#pi.supervisor.ensure();
        if (signal.aborted) return this.#stopped();
        isUp = true;
        const feed = new Feed();
        const turn = this.#turn(feed);
        const result = await this.#pi.during({ feed, takesStrays: true }, () =>
          this.#execute(turn),
        );
        if (!this.#left || isLast) return result;
        this.#isResumed = true;
        this.#earlier = new Earlier(this.#pi, this.#run, this.#words);
      } catch (error) {
        if (signal.aborted) return this.#stopped();
        if (!Fault.is(error) || error.code === "stale") throw error;
        // One that went before it was sent anything has a successor.
        if (isUp && !this.#isSent && !isLast) continue;
        return this.#left?.result ?? this.#failed(error);
      }
    }
  }

  /** Records what pi does by itself. */
  follow(feed: Feed): Promise<Result> {
    const turn = this.#turn(feed);
    this.#isSent = true;
    return this.#watched(() =>
      this.#pi.during({ feed, takesStrays: false }, async () =>
        this.#finish(turn, await turn.drive()),
      ),
    );
  }

  async #watched(work: () => Promise<Result>): Promise<Result> {
    const forget = watchOver(this.#run.signal, this.#link());
    try {
      return await work();
    } finally {
      forget();
    }
  }

  async #execute(turn: Turn): Promise<Result> {
    if (this.#work.type === "compact") return this.#compact(turn);
    if (!this.#isResumed) return this.#begin(turn, []);
    const { steers, mayHaveRun } = await this.#earlier.missing(this.#left?.unread);
    this.#left = undefined;
    const result = await this.#resume(turn, steers);
    if (mayHaveRun === undefined || result.terminal !== "completed") return result;
    return { ...result, ...handledUnknown(mayHaveRun) };
  }

  async #resume(turn: Turn, missing: readonly Steer[]): Promise<Result> {
    const found = await this.#earlier.found();
    if (found?.how === "taken") return this.#goOn(turn, found, missing);
    if (found?.how === "unclear") return unclear;
    if (found && (await this.#earlier.isCommand(this.#work.text)))
      return handledUnknown(this.#work.text);
    return this.#begin(turn, missing);
  }

  async #begin(turn: Turn, steers: readonly Steer[]): Promise<Result> {
    const run = this.#run;
    const refusal = await this.#pi.catalogue.set(run.settings());
    if (refusal !== undefined) return { terminal: "failed", diagnostic: refusal };
    if (run.signal.aborted) return this.#stopped();
    await turn.recorder.lines(await this.#place());
    this.#isSent = true;
    await turn.prompt({ text: this.#words.prompt, images: this.#images(this.#work.images) });
    await this.#sendSteers(turn, steers);
    return this.#finish(turn, await turn.drive());
  }

  async #compact(turn: Turn): Promise<Result> {
    const done = this.#isResumed ? await this.#earlier.compaction() : undefined;
    this.#countFromBeginning();
    if (done) return this.#counted(turn, compactedResult(turn, done));
    const refusal = await this.#pi.catalogue.set(this.#run.settings());
    if (refusal !== undefined) return { terminal: "failed", diagnostic: refusal };
    await turn.recorder.lines(await this.#place());
    const id = this.#pi.requests.newId();
    const { text } = this.#work;
    turn.endsWith(id);
    this.#isSent = true;
    await this.#pi.requests.tell({
      id,
      type: "compact",
      ...(text === "" ? {} : { customInstructions: text }),
    });
    return this.#finish(turn, await turn.drive());
  }

  async #goOn(turn: Turn, found: Taken, missing: readonly Steer[]): Promise<Result> {
    const run = this.#run;
    await catchUp(run, turn.recorder, found.steps);
    const places = new Set(found.unread);
    const ids = new Set(
      this.#words.steers.flatMap(({ id }, place) => (places.has(place) ? [id] : [])),
    );
    const unread = missing.filter(({ id }) => ids.has(id));
    this.#countFromBeginning();
    if (found.isAnswered && unread.length === 0)
      return this.#counted(turn, settledResult(turn, false));
    if (run.signal.aborted) return this.#stopped();
    const refusal = await this.#pi.catalogue.set(run.settings());
    if (refusal !== undefined)
      return {
        terminal: found.lost.length > 0 ? "outcome_unknown" : "failed",
        diagnostic: refusal,
      };
    this.#isSent = true;
    turn.recorder.forget();
    if (!found.isAnswered)
      await turn.prompt({ text: noteOf(found.lost), images: [], isNote: true });
    await this.#sendSteers(turn, unread);
    return this.#finish(turn, await turn.drive());
  }

  async #sendSteers(turn: Turn, steers: readonly Steer[]): Promise<void> {
    for (const steer of steers) {
      const images = steer.kind === "line" ? [] : (steer.data.images ?? []);
      await turn.prompt({
        text: textOf(steer.data.text),
        images: this.#images(images),
        steers: true,
      });
    }
  }

  /** Where pi stands now, as a line. */
  async #place(): Promise<JsonObject> {
    return placeLine({ after: await this.#lastId(), stats: this.#pi.meter.stats });
  }

  /** Of the newest entry of pi's transcript. */
  async #lastId(): Promise<string | undefined> {
    const { requests, parts, host } = this.#pi;
    const file = host.harness().conversation?.file;
    const last = file && (await parts.files.lastId(file));
    const { success, data } = await requests.ask({
      type: "get_entries",
      ...(last ? { since: last } : {}),
    });
    const newer = success && Array.isArray(data["entries"]) ? data["entries"].at(-1) : undefined;
    const id = newer && typeof newer === "object" && !Array.isArray(newer) && textAt(newer, "id");
    return id || last || undefined;
  }

  async #finish(turn: Turn, end: TurnEnd): Promise<Result> {
    const { signal } = this.#run;
    // What it came to is the next host's to say.
    if (signal.aborted && !wasCancelled(signal)) return this.#stopped();
    const result = end.how === "stopped" ? this.#stopped() : resultOf(turn, end);
    const wasAborted = end.how === "settled" && end.wasAborted;
    if (end.how !== "gone")
      return turn.hasWorked ? this.#counted(turn, result, wasAborted) : result;
    const { dropped, recorder } = turn;
    if (!end.gone.wasAsked && recorder.hasLastWord && dropped.length > 0)
      this.#left = { unread: dropped, result };
    else this.#run.addUsage(recorder.unsaid);
    return result;
  }

  /** What an earlier process used is part of the run. */
  #countFromBeginning(): void {
    const place = this.#isResumed ? this.#earlier.place : undefined;
    if (place) this.#pi.meter.goOnFrom(place.stats);
  }

  /** With what pi used for it. */
  async #counted(turn: Turn, result: Result, wasAborted = false): Promise<Result> {
    const { requests, meter } = this.#pi;
    const stats = await requests.ask({ type: "get_session_stats" }).catch(() => undefined);
    if (!stats?.success) return result;
    const { data } = stats;
    const beyond = meter.rise(data, turn.recorder.used);
    if (beyond) this.#run.addUsage(beyond);
    const moved = this.#pi.movedTo(data);
    // pi has said itself that it was stopped: what it used is no second end.
    const { terminal } = result;
    const hasSaid = terminal === "cancelled" || wasAborted;
    const told = { type: "response", command: "get_session_stats", success: true, data, terminal };
    return {
      ...result,
      entries: [
        ...(result.entries ?? []),
        ...(hasSaid ? [] : [lineDraft(told)]),
        ...(moved ? [{ kind: "harness.conversation", data: moved } as const] : []),
      ],
    };
  }

  /** An earlier host may have sent pi something of this run. */
  get #wasSent(): boolean {
    return this.#isResumed && this.#earlier.place !== undefined;
  }

  /** How a run ends that is stopped from outside of pi. */
  #stopped(): Result {
    const { signal } = this.#run;
    if (wasCancelled(signal)) return { terminal: "cancelled" };
    if (!isUnwritable(signal)) return hostClosed;
    if (this.#isSent || this.#wasSent) return unrecorded;
    // What could not be written is the runtime's to say.
    throw signal.reason;
  }

  /** How a run ends that finds no pi, or none that answers. */
  async #failed({ message, retryable }: Fault): Promise<Result> {
    const { type, text } = this.#work;
    const found = this.#isResumed ? await this.#earlier.found() : undefined;
    // Neither a compaction nor a command of an extension is a message of the transcript.
    const isAbsent = found?.how === "absent" && type !== "compact" && !text.startsWith("/");
    if (!this.#isSent && (!found || isAbsent))
      return { terminal: "failed", diagnostic: message, retryable };
    return {
      terminal: "outcome_unknown",
      diagnostic: `pi had this in hand, and how far it came is not known: ${message}`,
    };
  }

  #turn(feed: Feed): Turn {
    return new Turn({
      run: this.#run,
      feed,
      link: this.#link(),
      images: (images) => this.#images(images),
    });
  }

  #link(): PiLink {
    const pi = this.#pi;
    const { clock, report } = pi.parts.options;
    return {
      request: (command) => pi.requests.ask(command),
      tell: (line) => pi.requests.tell(line),
      newId: () => pi.requests.newId(),
      kill: (why) => void pi.supervisor.stop(why).catch(report),
      after: (ms, wake) => clock.after(ms, wake),
      report,
      get saysSettled() {
        return pi.saysSettled;
      },
      set saysSettled(says) {
        pi.saysSettled = says;
      },
    };
  }

  #images(images: readonly BlobRef[]): JsonObject[] {
    return images.flatMap(({ blob, mimeType }) => {
      const bytes = this.#run.blob(blob);
      return bytes ? [{ type: "image", data: base64(bytes), mimeType }] : [];
    });
  }
}

const hostClosed: Result = {
  terminal: "interrupted",
  diagnostic: "its host closed in the middle of the turn",
};

const unrecorded: Result = {
  terminal: "outcome_unknown",
  diagnostic:
    "the log could not be written while pi worked, so pi was ended: what it did last stands in its own transcript alone",
};

const unclear: Result = {
  terminal: "outcome_unknown",
  diagnostic:
    "the host ended while this was sent, and pi's transcript does not tell whether it came in: read what pi has, and send it again where it is missing",
};

function handledUnknown(text: string): Pick<Result, "terminal" | "diagnostic"> {
  const name = text.split(" ", 1)[0] ?? "";
  return {
    terminal: "outcome_unknown",
    diagnostic: `the host ended while ${name} was sent, and pi keeps no record of an extension's command: it may have run. Look before you send it again`,
  };
}
