// One turn of pi, from its prompt to where pi does nothing more by itself.
//
//   PI1  A turn ends once: where pi says that it has settled (older versions: where its run ends and none follows), where
//        a command of an extension or pi's refusal left nothing to wait for, or where the process is gone.
//   PI5  What is sent while it runs joins it, also where pi was about to settle; what pi did not take in is said.
//   PI8  A turn that is stopped asks pi to stop.
//   PI26 A process that takes no more messages, or answers none, is ended.

import type { Run } from "@lichen/runtime";
import { Fault, type Json, textOf as textOfEntry } from "@lichen/wire";
import { isUnwritable } from "../harness/stopping.ts";
import { type PiEvent, type PiResponse, textAt, textOf } from "./codec.ts";
import { isExtensionCommand } from "./commands.ts";
import { DialogBox } from "./dialog-box.ts";
import type { Feed, LineRead } from "./feed.ts";
import { compactionOf } from "./messages.ts";
import { Recorder } from "./recorder.ts";
import { Sent, type SentMessage } from "./sent.ts";
import { Shown } from "./shown.ts";
import type { PiLink, Prompt, TurnEnd, TurnParts } from "./turn-parts.ts";

export class Turn {
  readonly recorder: Recorder;
  readonly dialogs: DialogBox;
  readonly #run: Run;
  readonly #feed: Feed;
  readonly #link: PiLink;
  readonly #shown: Shown;
  readonly #images: TurnParts["images"];
  readonly #sent = new Sent();
  /** What pi dropped before it read it. */
  readonly dropped: string[] = [];
  #isStopping = false;
  /** pi has said that it is at work since the last settlement. */
  #isAtWork = false;
  /** A run of the model has begun and not ended. */
  #isRunning = false;
  #hasWorked = false;
  #retriesOver = false;
  #faultOfCommand: string | undefined;
  #compactId: string | undefined;

  constructor({ run, feed, link, images }: TurnParts) {
    this.#run = run;
    this.#feed = feed;
    this.#link = link;
    this.#images = images;
    this.recorder = new Recorder(run);
    this.dialogs = new DialogBox(run, link);
    this.#shown = new Shown(run);
  }

  /** A model was asked, or may have been. */
  get hasWorked(): boolean {
    return this.#hasWorked || this.#compactId !== undefined;
  }

  /** The last failure was one that pi tries again, and gave up on. */
  get isTransient(): boolean {
    return this.#retriesOver;
  }

  /** A compaction of this id ends the turn. */
  endsWith(compactId: string): void {
    this.#compactId = compactId;
  }

  /** Sends a message of the user, when those before it are answered. What pi says of it comes as a line of the turn. */
  async prompt(prompt: Prompt): Promise<void> {
    this.#sent.add({ id: this.#link.newId(), steers: false, ...prompt });
    await this.#heard(() => this.#sendNext());
  }

  async #sendNext(): Promise<void> {
    const next = this.#run.signal.aborted ? undefined : this.#sent.next();
    if (!next) return;
    const { id, text, images, steers } = next;
    await this.#link.tell({
      id,
      type: "prompt",
      message: text,
      ...(images.length > 0 ? { images: [...images] } : {}),
      streamingBehavior: steers ? "steer" : "followUp",
    });
  }

  /** Takes what happens until the turn has ended. */
  async drive(): Promise<TurnEnd> {
    const { signal } = this.#run;
    // All that waits is past stopping.
    const stop = (): void => this.#feed.unshift([{ type: "stop" }]);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    const noMoreSteers = this.#run.onSteer(() => this.#feed.push({ type: "steered" }));
    try {
      for (;;) {
        const end = await this.#take();
        if (end) return end;
      }
    } finally {
      noMoreSteers();
      this.dialogs.noteStopped();
      signal.removeEventListener("abort", stop);
      const unread = this.#sent.clear().filter(({ isNote }) => !isNote);
      this.dropped.push(...unread.map(({ text }) => text));
    }
  }

  async #take(): Promise<TurnEnd | undefined> {
    const next = await this.#feed.next();
    switch (next.type) {
      case "gone":
        this.dialogs.noteStopped();
        await this.dialogs.close("pi's process is gone");
        return { how: "gone", gone: next.gone };
      case "over":
        return this.#over();
      case "stop":
        return this.#stop();
      case "steered":
        return this.#heard(() => this.#steer());
      case "line":
        return this.#heard(() => this.#line(next));
    }
  }

  /** Whatever pi does once it takes or answers nothing more, it does unheard: it is ended, and its end is in the feed. */
  async #heard<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      // A run that is stopped may be past writing; pi is waited for all the same.
      if (this.#run.signal.aborted) return undefined;
      if (!Fault.is(error) || error.code !== "unavailable") throw error;
      this.#link.kill("it answered no more");
      return undefined;
    }
  }

  async #steer(): Promise<undefined> {
    // pi takes none while it compacts: what is left in the queue is a prompt of its own.
    if (this.#isStopping || this.#compactId !== undefined) return;
    for (const { data } of await this.#run.steers()) {
      const images = "images" in data ? data.images : undefined;
      await this.prompt({
        text: textOfEntry(data.text),
        images: this.#images(images ?? []),
        steers: true,
      });
    }
  }

  async #over(): Promise<TurnEnd | undefined> {
    if (this.#isStopping) return this.#sent.isUnanswered ? undefined : { how: "stopped" };
    // What has begun meanwhile, or is about to, says its end itself.
    if (this.#isAtWork || this.#sent.open.length > 0) return undefined;
    if (this.dialogs.isEmpty) return { how: "settled", wasAborted: false };
    void this.dialogs.decided().then(() => this.#feed.push({ type: "over" }));
    return undefined;
  }

  async #stop(): Promise<undefined> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    // Its process is being ended.
    if (isUnwritable(this.#run.signal)) return;
    for (const message of this.#sent.open)
      if (message.state === "held") {
        this.#sent.drop(message);
        this.dropped.push(message.text);
      }
    this.#abort();
    this.dialogs.noteStopped();
    void this.dialogs.close("the turn was stopped").catch(() => {});
  }

  #abort(): void {
    const abort = async (): Promise<void> => {
      // Both are written at once, before anything else is.
      const cleared = this.#link.request({ type: "clear_queue" });
      await Promise.all([cleared, this.#link.request({ type: "abort" })]);
      this.#feed.push({ type: "over" });
    };
    // A process that is gone says so in the feed.
    abort().catch(() => {});
  }

  async #line({ line, event }: LineRead): Promise<TurnEnd | undefined> {
    switch (event.type) {
      case "update":
        this.#shown.update(event.update);
        return;
      case "output":
        this.recorder.output(event.callId, event.text);
        return;
      case "message":
        return this.#message(line, event);
      case "begun":
        this.#isAtWork = true;
        this.#isRunning = true;
        this.#hasWorked = true;
        this.#retriesOver = false;
        return;
      case "response":
        return this.#answered(line, event);
      case "settled":
        return this.#settled(line, event.aborted);
      case "paused":
        this.#isRunning = false;
        return event.willRetry !== true && !this.#link.saysSettled ? this.#maybeOver() : undefined;
      case "retrying": {
        const { attempt, maxAttempts, delayMs, reason } = event;
        await this.recorder.lines(line);
        this.#shown.clear();
        this.#run.partial({ retrying: { attempt, maxAttempts, delayMs, reason } });
        return;
      }
      case "retried":
        this.#retriesOver = !event.success;
        await this.recorder.lines(line);
        return;
      case "compacted":
        return this.#compacted(line, event);
      case "dialog":
        await this.recorder.lines(line);
        this.dialogs.open(event.dialog);
        return;
      case "fault":
        if (event.event === "command") this.#faultOfCommand = event.error;
        await this.recorder.lines(line);
        return;
      case "level":
        await this.recorder.lines(line);
        return;
      case "compacting":
      case "other":
        return;
    }
  }

  async #message(
    line: Json,
    { role, message }: Extract<PiEvent, { type: "message" }>,
  ): Promise<undefined> {
    switch (role) {
      case "assistant":
        this.#shown.clear();
        await this.recorder.assistant(line, message);
        return;
      case "toolResult":
        await this.recorder.toolResult(line, message);
        return;
      case "user":
        this.recorder.forget();
        // What we sent stands in the log as its own message.
        if (!this.#sent.taken(textOf(message["content"]))) await this.recorder.lines(line);
        return;
      case "custom":
        if (message["display"] !== false) await this.recorder.lines(line);
        return;
      case "system":
        return;
      default:
        await this.recorder.lines(line);
    }
  }

  async #compacted(
    line: Json,
    { result, automatic }: Extract<PiEvent, { type: "compacted" }>,
  ): Promise<undefined> {
    // One that was asked for is recorded with its answer.
    if (!result || !automatic) return this.recorder.lines(line).then(() => undefined);
    await this.recorder.compaction(line, compactionOf(result, true));
  }

  async #answered(line: Json, response: PiResponse): Promise<TurnEnd | undefined> {
    if (response.id !== undefined && response.id === this.#compactId)
      return this.#isStopping ? { how: "stopped" } : { how: "compacted", response, line };
    const message = this.#sent.find(response.id);
    if (!message) return;
    const disposition = this.#sent.answered(response);
    if (this.#isStopping) {
      // It was taken in in spite of the stop.
      if (disposition === "started" || disposition === "queued") this.#abort();
      else if (!this.#sent.isUnanswered && !this.#isAtWork) return { how: "stopped" };
      return;
    }
    await this.#sendNext();
    if (response.success) this.#link.saysSettled ||= textAt(response.data, "disposition") !== "";
    switch (disposition) {
      case "started":
        return this.#link.saysSettled ? undefined : this.#handledByOlder(line, message);
      case "handled":
        return this.#isFree() ? this.#handled(line) : undefined;
      case "refused":
        if (this.#isFree()) return { how: "refused", words: response.error };
        if (!message.isNote) this.dropped.push(message.text);
        await this.recorder.lines(line);
        return;
      case "queued":
      case undefined:
        return;
    }
  }

  /** Nothing of ours is with pi, and pi is not at work. */
  #isFree(): boolean {
    return !this.#isAtWork && this.#sent.open.length === 0;
  }

  /** An extension took the prompt: the turn is over, unless the extension has begun one. */
  async #handled(line: Json): Promise<TurnEnd | undefined> {
    if (await this.#isBusy()) return;
    await this.dialogs.close("the command is done");
    const words = this.#faultOfCommand;
    return { how: "handled", line, ...(words === undefined ? {} : { words }) };
  }

  /** Versions that do not say what became of a prompt run an extension's command before they answer. */
  async #handledByOlder(line: Json, message: SentMessage): Promise<TurnEnd | undefined> {
    if (!(await isExtensionCommand(message.text, this.#link))) return;
    this.#sent.drop(message);
    return this.#isFree() ? this.#handled(line) : undefined;
  }

  async #isBusy(): Promise<boolean> {
    const { data } = await this.#link.request({ type: "get_state" });
    if (data["isStreaming"] === true || data["isCompacting"] === true) return true;
    return this.#hasBegun();
  }

  /** pi has begun something that has not been read here yet. */
  #hasBegun(): boolean {
    return this.#feed.waits(
      (one) =>
        one.type === "line" &&
        (one.event.type === "begun" ||
          one.event.type === "retrying" ||
          one.event.type === "compacting"),
    );
  }

  /** A run of the model ended, in a version that does not say whether another follows. */
  async #maybeOver(): Promise<TurnEnd | undefined> {
    if (await this.#isBusy()) return;
    this.#isAtWork = false;
    return this.#end(false);
  }

  async #settled(line: Json, aborted: boolean): Promise<TurnEnd | undefined> {
    // Another's prompt could not begin: what runs goes on.
    if (this.#isRunning && (await this.#isBusy())) return;
    this.#isRunning = false;
    this.#isAtWork = false;
    this.#link.saysSettled = true;
    await this.recorder.lines(line);
    return this.#end(aborted);
  }

  async #end(aborted: boolean): Promise<TurnEnd | undefined> {
    if (this.#isStopping) return { how: "stopped" };
    if (this.#sent.isUnanswered) return;
    if (this.#sent.open.length > 0) return this.#lookAfter(aborted);
    await this.dialogs.close("the turn is over");
    return { how: "settled", wasAborted: aborted };
  }

  /** pi has settled and did not read all that it accepted: it is sent again once, or is about to be read after all. */
  async #lookAfter(aborted: boolean): Promise<TurnEnd | undefined> {
    if (await this.#isBusy()) return;
    await this.#link.request({ type: "clear_queue" });
    // What began in between may have read it.
    if (this.#hasBegun()) return;
    for (const message of [...this.#sent.open]) {
      this.#sent.drop(message);
      if (message.isAgain) this.dropped.push(message.text);
      else await this.prompt({ ...message, steers: true, isAgain: true });
    }
    return this.#sent.open.length > 0 ? undefined : this.#end(aborted);
  }
}
