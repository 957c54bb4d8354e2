// One session's lane of an outbox: its messages, sent one after the other.
//
//   N17  Messages of a session go out in the order in which they came in; nothing passes an unsent one.
//   N18  A message that is sent again, after a lost answer or a restart, has the same request id.
//   N19  What the host refuses for good is set aside with the reason, and the next one goes.
//   N20  A draft is restored only after the host has promised, by `unknown` to a withdraw, that it never comes.

import { type Command, Fault, type Receipt } from "@lichen/wire";
import type { Session } from "../api.ts";
import { backoffMs, type ClientPlatform, pause } from "../platform.ts";
import type { OutboxItem, OutboxStorage } from "./storage.ts";

/** What became of a message that was called back. */
export type Recall =
  /** It never reached the host and never will: its draft is there again. */
  | { readonly status: "restored" }
  /** It had reached the queue and was cancelled before it ran; the text stands in `command.cancelled`. */
  | { readonly status: "cancelled"; readonly commandId: string }
  /** It had run, or runs. */
  | { readonly status: "sent"; readonly commandId?: string }
  /** The host refused to say: the message is set aside with the reason. */
  | { readonly status: "set_aside"; readonly reason: Fault };

export type OutboxEvent =
  | { readonly type: "added" | "set_aside" | "restored" | "removed"; readonly item: OutboxItem }
  | { readonly type: "sent"; readonly item: OutboxItem; readonly receipt: Receipt }
  /** The next message cannot go now; it is tried again. Told once for each reason. */
  | { readonly type: "trouble"; readonly item: OutboxItem; readonly reason: Error };

/** A message in memory, with how far it has come. */
export interface Place {
  item: OutboxItem;
  /** Settles once it is kept. */
  readonly kept: Promise<void>;
  isKept: boolean;
}

export interface LaneGround {
  readonly storage: OutboxStorage;
  readonly platform: ClientPlatform;
  readonly closed: AbortSignal;
  tell(event: OutboxEvent): void;
}

/** Failures of the host itself that a message may be the cause of: it is set aside after so many. */
const bugPatience = 3;

export class Lane {
  readonly places: Place[] = [];
  readonly #session: () => Session;
  readonly #ground: LaneGround;
  readonly #waiting = new Map<string, PromiseWithResolvers<Recall>>();
  #work: Promise<void> | undefined;
  #writes: Promise<void> = Promise.resolve();
  #nap = new AbortController();
  #failures = 0;
  /** What was told last of why nothing goes out. */
  #trouble: string | undefined;

  constructor(session: () => Session, ground: LaneGround) {
    this.#session = session;
    this.#ground = ground;
  }

  /** Sees to it that what can be sent is sent. */
  kick(): void {
    this.#work ??= this.#run().finally(() => {
      this.#work = undefined;
      if (this.#next() && !this.#ground.closed.aborted) this.kick();
    });
  }

  /** Does not wait any longer for a better time. */
  wake(): void {
    this.#failures = 0;
    this.#nap.abort();
    this.kick();
  }

  async recall(place: Place): Promise<Recall> {
    await place.kept;
    const { id } = place.item;
    const known = this.#waiting.get(id);
    if (known) return known.promise;
    const waiting = Promise.withResolvers<Recall>();
    this.#waiting.set(id, waiting);
    // Told to whoever asked; somebody may have left meanwhile.
    waiting.promise.catch(() => {});
    try {
      await this.#inTurn(async () => {
        if (!this.places.includes(place)) this.#recalled(place.item, { status: "sent" });
        else if (place.item.state === "restored")
          this.#recalled(place.item, { status: "restored" });
        else if (place.item.state === "set_aside")
          this.#recalled(place.item, { status: "set_aside", reason: reasonOf(place.item) });
        else await this.#keep(place, { state: "withdrawing" });
      });
    } catch (error) {
      this.#waiting.delete(id);
      waiting.reject(error);
    }
    this.wake();
    return waiting.promise;
  }

  /** Ends without touching what is kept. */
  async close(): Promise<void> {
    this.#nap.abort();
    const reason = new Fault("unavailable", "The outbox is closed; what it holds is kept.");
    for (const waiting of this.#waiting.values()) waiting.reject(reason);
    this.#waiting.clear();
    await this.#work;
    await this.#writes;
  }

  async #run(): Promise<void> {
    const { closed, platform } = this.#ground;
    while (!closed.aborted) {
      const place = this.#next();
      if (!place) return;
      try {
        await place.kept;
        if (place.item.state === "withdrawing") await this.#withdraw(place);
        else await this.#send(place);
        this.#failures = 0;
      } catch (error) {
        if (closed.aborted) return;
        const reason = error instanceof Error ? error : new Error(String(error));
        if (Fault.is(reason) && this.#isFinal(reason)) {
          if (await this.#setAside(place, reason)) continue;
          if (closed.aborted) return;
        }
        if (this.#failures === 0 || reason.message !== this.#trouble)
          this.#ground.tell({ type: "trouble", item: place.item, reason });
        this.#trouble = reason.message;
        this.#nap = new AbortController();
        await pause(platform, backoffMs(platform, this.#failures++), this.#nap.signal);
      }
    }
  }

  /** Whatever is called back goes first: it may still be in time. */
  #next(): Place | undefined {
    return (
      this.places.find(({ item, isKept }) => isKept && item.state === "withdrawing") ??
      this.places.find(({ item }) => item.state === "waiting")
    );
  }

  async #send(place: Place): Promise<void> {
    const { item } = place;
    const command = await this.#whole(item);
    const receipt = await this.#unlessClosed(this.#session().send(command));
    await this.#inTurn(async () => {
      // Called back meanwhile: then the withdraw finds what was admitted.
      if (place.item.state !== "waiting") return;
      await this.#forget(place);
      this.#ground.tell({ type: "sent", item, receipt });
    });
  }

  async #withdraw(place: Place): Promise<void> {
    const { item } = place;
    const answer = await this.#unlessClosed(this.#session().withdraw(item.requestId));
    if (answer.status === "unknown") {
      await this.#inTurn(() => this.#keep(place, { state: "restored" }));
      this.#recalled(place.item, { status: "restored" });
      this.#ground.tell({ type: "restored", item: place.item });
      return;
    }
    const { commandId } = answer;
    const isCancelled = commandId.startsWith("cmd_") && (await this.#cancel(item, commandId));
    await this.#inTurn(() => this.#forget(place));
    this.#recalled(item, { status: isCancelled ? "cancelled" : "sent", commandId });
    this.#ground.tell({ type: "removed", item });
  }

  /** Cancels what was admitted, while nothing of it has run. */
  async #cancel(item: OutboxItem, commandId: string): Promise<boolean> {
    try {
      const receipt = await this.#unlessClosed(
        this.#session().send({
          type: "cancel",
          requestId: `recall-${item.id}`,
          commandId,
          onlyIfPending: true,
        }),
      );
      return receipt.status === "accepted";
    } catch (error) {
      if (Fault.is(error) && this.#isFinal(error)) return false;
      throw error;
    }
  }

  /** Whether a refusal concerns this message for good, and not the host, the network or who asks. */
  #isFinal(fault: Fault): boolean {
    if (fault.code === "busy") return true;
    if (fault.code === "internal") return this.#failures >= bugPatience;
    if (fault.code === "unauthenticated" || fault.code === "unreadable") return false;
    return !fault.retryable;
  }

  async #setAside(place: Place, reason: Fault): Promise<boolean> {
    const before = place.item.state;
    try {
      const { code, message } = reason;
      const isSetAside = await this.#inTurn(async () => {
        // Called back meanwhile: then the withdraw says what holds.
        if (place.item.state !== before) return false;
        await this.#keep(place, { state: "set_aside", reason: { code, message } });
        return true;
      });
      if (!isSetAside) return true;
    } catch {
      // The storage fails: the message stays where it is, and is refused again.
      return false;
    }
    this.#recalled(place.item, { status: "set_aside", reason });
    this.#ground.tell({ type: "set_aside", item: place.item });
    return true;
  }

  #recalled({ id }: OutboxItem, recall: Recall): void {
    this.#waiting.get(id)?.resolve(recall);
    this.#waiting.delete(id);
  }

  async #keep(place: Place, change: Partial<OutboxItem>): Promise<void> {
    const item = { ...place.item, ...change };
    await this.#ground.storage.put(item);
    place.item = item;
  }

  /** Forgets a message that nothing is to be sent of any more. */
  remove(place: Place): Promise<void> {
    return this.#inTurn(() => this.#forget(place));
  }

  // First the message, then its pictures, which nobody misses.
  async #forget(place: Place): Promise<void> {
    const { storage } = this.#ground;
    await storage.remove(place.item);
    const at = this.places.indexOf(place);
    if (at >= 0) this.places.splice(at, 1);
    // What stays behind is swept at a later opening.
    for (const { file } of place.item.images) await storage.removeFile(file).catch(() => {});
  }

  /** Puts one that was set aside back where it stood. */
  async again(place: Place, requestId: string): Promise<void> {
    await this.#inTurn(async () => {
      const { reason: _, ...rest } = place.item;
      const command = { ...rest.command, requestId };
      const item: OutboxItem = { ...rest, requestId, command, state: "waiting" };
      await this.#ground.storage.put(item);
      place.item = item;
    });
    this.wake();
  }

  /** Writes of a lane follow each other, each deciding by what the one before it left. */
  #inTurn<T>(write: () => Promise<T>): Promise<T> {
    const result = this.#writes.then(write);
    this.#writes = result.then(ignore, ignore);
    return result;
  }

  /** The command with its pictures in it. */
  async #whole({ command, images }: OutboxItem): Promise<Command> {
    if (command.type !== "prompt" || images.length === 0) return command;
    const inline: NonNullable<typeof command.images> = [];
    for (const { mimeType, file } of images) {
      const bytes = await this.#ground.storage.getFile(file);
      if (!bytes) throw new Fault("invalid", "A picture of this message is gone: add it again.");
      inline.push({
        mimeType: mimeType as (typeof inline)[number]["mimeType"],
        data: base64(bytes),
      });
    }
    return { ...command, images: inline };
  }

  /** An answer that comes after the end changes nothing: the message is asked about again at the next opening. */
  async #unlessClosed<T>(answer: Promise<T>): Promise<T> {
    const { closed } = this.#ground;
    const end = Promise.withResolvers<never>();
    const stop = (): void => end.reject(new Error("the outbox was closed"));
    closed.addEventListener("abort", stop);
    try {
      return await Promise.race([answer, end.promise]);
    } finally {
      closed.removeEventListener("abort", stop);
    }
  }
}

function reasonOf({ reason }: OutboxItem): Fault {
  return new Fault(reason?.code ?? "invalid", reason?.message ?? "The message was set aside.");
}

function ignore(): void {}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8_192)
    binary += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(binary);
}
