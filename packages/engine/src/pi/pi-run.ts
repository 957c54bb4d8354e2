// One run on pi: what is set before its prompt, the prompt, what an earlier host left of it, and what it cost.
//
//   PI13 Where a prompt is sent again after a crash, pi never read it; where it was read, the turn goes on or its answer
//        counts; where neither can be told, the settlement says so.
//   PI24 What its process took down unread, behind the last word, is said to the next one; a run that leaves something
//        unread does not complete.

import type { Result, Run, Steer, TranscriptEntry, Work } from "@lichen/runtime";
import { type BlobRef, Fault, type JsonObject, textOf } from "@lichen/wire";
import { base64 } from "./base64.ts";
import { catchUp } from "./catch-up.ts";
import { textAt } from "./codec.ts";
import { isExtensionCommand } from "./commands.ts";
import type { PiConnection } from "./connection.ts";
import { isUnwritable, wasCancelled } from "../harness/stopping.ts";
import { Feed } from "./feed.ts";
import { lineDraft } from "./recorder.ts";
import { type Found, foundIn, hasSpoken, noteOf, placeIn, placeLine } from "./recovery.ts";
import { resultOf, settledResult } from "./settlement.ts";
import { Turn } from "./turn.ts";
import type { PiLink, TurnEnd } from "./turn-parts.ts";

/** Of an operator, above one prompt. */
const mostLines = 100;

const attempts = 3;

type Taken = Extract<Found, { how: "taken" }>;

export class PiRun {
  readonly #pi: PiConnection;
  readonly #work: Work;
  readonly #run: Run;
  /** pi may have read something of this run. */
  #isSent = false;
  /** An earlier process had it in hand. */
  #isResumed: boolean;
  /** How it ends where nobody goes on with what its process left. */
  #left: Result | undefined;

  constructor(pi: PiConnection, work: Work, run: Run) {
    this.#pi = pi;
    this.#work = work;
    this.#run = run;
    this.#isResumed = work.resumed;
  }

  /** Executes a prompt or a compaction. */
  async execute(): Promise<Result> {
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
      } catch (error) {
        if (signal.aborted) return this.#stopped();
        if (!Fault.is(error) || error.code === "stale") throw error;
        // One that went before it was sent anything has a successor.
        if (isUp && !this.#isSent && !isLast) continue;
        return this.#left ?? this.#failed(error);
      }
    }
  }

  /** Records what pi does by itself. */
  follow(feed: Feed): Promise<Result> {
    const turn = this.#turn(feed);
    this.#isSent = true;
    return this.#pi.during({ feed, takesStrays: false }, async () =>
      this.#finish(turn, await turn.drive()),
    );
  }

  async #execute(turn: Turn): Promise<Result> {
    const run = this.#run;
    this.#left = undefined;
    const isCompaction = this.#work.type === "compact";
    // What joins from here on stands in the transcript with what joined before.
    if (this.#isResumed && !isCompaction) await run.steers();
    const found = this.#isResumed && !isCompaction ? await this.#found() : undefined;
    if (found?.how === "taken") return this.#goOn(turn, found);
    if (found?.how === "unclear") return unclear;
    if (found && (await isExtensionCommand(this.#work.text, this.#link())))
      return handledUnknown(this.#work.text);
    const refusal = await this.#pi.catalogue.set(run.settings());
    if (refusal !== undefined) return { terminal: "failed", diagnostic: refusal };
    if (isCompaction) return this.#compact(turn);
    if (run.signal.aborted) return this.#stopped();
    await turn.recorder.lines(placeLine(await this.#place()));
    this.#isSent = true;
    await turn.prompt({ text: this.#text(), images: this.#images(this.#work.images) });
    if (this.#isResumed) await this.#sendSteers(turn, this.#steers());
    return this.#finish(turn, await turn.drive());
  }

  async #compact(turn: Turn): Promise<Result> {
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

  /** What became of the prompt that an earlier host sent; undefined where it sent none. */
  async #found(): Promise<Found | undefined> {
    const logged = this.#run.lines();
    const place = placeIn(logged);
    if (!place) return undefined;
    const file = this.#pi.host.harness().conversation?.file;
    const entries = file && (await this.#pi.parts.files.entriesAfter(file, place.after));
    const isWritten = file !== undefined && this.#pi.parts.files.folder(file) !== undefined;
    // A conversation is written with its first answer; before that its places are nobody's.
    if (!entries) return isWritten || hasSpoken(logged) ? { how: "unclear" } : { how: "absent" };
    const steers = this.#steers().map(({ data }) => textOf(data.text));
    return foundIn(entries, logged, { prompt: this.#text(), steers });
  }

  async #goOn(turn: Turn, found: Taken): Promise<Result> {
    const run = this.#run;
    await catchUp(run, turn.recorder, found.steps);
    const steers = this.#steers();
    const unread = found.unread.flatMap((place) => steers[place] ?? []);
    if (found.isAnswered && unread.length === 0) return settledResult(turn, false);
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

  /** The prompt as pi reads it: below what an operator recorded since the last one. A command has to stand alone. */
  #text(): string {
    const { text } = this.#work;
    if (text.startsWith("/")) return text;
    const transcript = this.#run.transcript(mostLines);
    const at = this.#placeOfPrompt(transcript);
    const before = transcript.slice(0, Math.max(at, 0));
    const lines = before.slice(before.findLastIndex(({ kind }) => kind !== "line") + 1);
    return [...lines.flatMap(textIn), text].join("\n\n");
  }

  /** Messages and lines that joined this run, in order. */
  #steers(): Steer[] {
    const { commandId } = this.#run;
    const transcript = this.#run.transcript();
    return transcript
      .slice(this.#placeOfPrompt(transcript) + 1)
      .filter((entry): entry is Steer =>
        entry.kind === "message.user" ? entry.data.steers === commandId : entry.kind === "line",
      );
  }

  #placeOfPrompt(transcript: readonly TranscriptEntry[]): number {
    const { commandId } = this.#run;
    return transcript.findIndex(
      (entry) => entry.kind === "message.user" && entry.commandId === commandId,
    );
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

  /** Where pi's transcript ends now. */
  async #place(): Promise<string | undefined> {
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
    if (end.how === "stopped" || isUnwritable(signal)) return this.#stopped();
    const result = resultOf(turn, end);
    const isCut = end.how === "gone" && !end.gone.wasAsked;
    if (isCut && turn.recorder.hasLastWord && turn.dropped.length > 0) this.#left = result;
    if (end.how === "gone" || signal.aborted || !turn.hasWorked) return result;
    const { requests, meter } = this.#pi;
    const stats = await requests.ask({ type: "get_session_stats" }).catch(() => undefined);
    if (!stats?.success) return result;
    const { data } = stats;
    const beyond = meter.rise(data, turn.recorder.used);
    if (beyond) this.#run.addUsage(beyond);
    const moved = this.#pi.movedTo(data);
    return {
      ...result,
      entries: [
        ...(result.entries ?? []),
        lineDraft({ type: "response", command: "get_session_stats", success: true, data }),
        ...(moved ? [{ kind: "harness.conversation", data: moved } as const] : []),
      ],
    };
  }

  /** How a run ends that is stopped from outside of pi. */
  #stopped(): Result {
    const { signal } = this.#run;
    if (wasCancelled(signal)) return { terminal: "cancelled" };
    if (!isUnwritable(signal)) return hostClosed;
    if (this.#isSent) return unrecorded;
    // What could not be written is the runtime's to say.
    throw signal.reason;
  }

  /** How a run ends that finds no pi, or none that answers. */
  async #failed({ message, retryable }: Fault): Promise<Result> {
    const found = this.#isResumed ? await this.#found() : undefined;
    // A command of an extension leaves nothing in the transcript.
    const isAbsent = found?.how === "absent" && !this.#work.text.startsWith("/");
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

function textIn(entry: TranscriptEntry): string[] {
  return entry.kind === "line" ? [textOf(entry.data.text)] : [];
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

function handledUnknown(text: string): Result {
  const name = text.split(" ", 1)[0] ?? "";
  return {
    terminal: "outcome_unknown",
    diagnostic: `the host ended while ${name} was sent, and pi keeps no record of an extension's command: it may have run. Look before you send it again`,
  };
}
