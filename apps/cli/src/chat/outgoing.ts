// What a person sends from the screen: through the outbox, so that neither a lost connection nor a killed screen loses
// a message or sends it twice; and how a message is taken back.

import { randomUUID } from "node:crypto";
import type { Outbox, OutboxEvent, OutboxItem, View } from "@lichen/client";
import { type BlobRef, Fault, known, type PendingCommand, type Text } from "@lichen/wire";
import type { Following } from "./following.ts";
import type { QueuedLine } from "./show/queue.ts";

export interface Message {
  readonly text: string;
  readonly images?: readonly { readonly mimeType: string; readonly data: Uint8Array }[];
  readonly delivery?: "follow_up" | "steer";
}

/** What came back of a message: to be written on, or the reason why nothing did. */
export type TakenBack = Message | { readonly reason: string };

const itRuns = "It runs already: stop it with esc.";

export class Outgoing {
  readonly #outbox: Outbox;
  readonly #agent: string;
  /** Messages that outlive this process. */
  readonly #kept: Set<string>;
  /** Messages that could not go, and are tried again. */
  readonly #held = new Set<string>();
  /** Messages that are being taken back: whoever asked for them gets them. */
  readonly #returning = new Set<string>();

  constructor(outbox: Outbox, agent: string) {
    this.#outbox = outbox;
    this.#agent = agent;
    this.#kept = new Set(outbox.items.map(({ id }) => id));
    outbox.subscribe(({ type, item: { id } }) => {
      if (type === "added") this.#kept.add(id);
      if (type === "sent" || type === "removed") this.#kept.delete(id);
      if (type === "trouble") this.#held.add(id);
      else this.#held.delete(id);
    });
  }

  /** Settles when the message is kept: from then on it is sent, whatever happens. */
  async send(session: string, { text, images = [], delivery }: Message): Promise<void> {
    await this.#outbox.add({
      agent: this.#agent,
      session,
      command: { type: "prompt", text, ...(delivery === undefined ? {} : { delivery }) },
      images,
    });
  }

  /** A note into the conversation, which starts no run. */
  async note(session: string, text: string): Promise<void> {
    await this.#outbox.add({ agent: this.#agent, session, command: { type: "line", text } });
  }

  async compact(session: string, instructions: string): Promise<void> {
    await this.#outbox.add({
      agent: this.#agent,
      session,
      command: { type: "compact", ...(instructions === "" ? {} : { instructions }) },
    });
  }

  /** Messages that were called back and are drafts again, oldest first; they are kept no more. */
  async takeRestored(session: string): Promise<Message[]> {
    const drafts: Message[] = [];
    for (const { id, state } of this.#items(session)) {
      if (state !== "restored" || this.#returning.has(id)) continue;
      const back = await this.#draft(id);
      await this.#outbox.discard(id);
      if (back) drafts.push(back);
    }
    return drafts;
  }

  /** How many messages the host has not got. */
  get unsent(): number {
    return this.#outbox.items.filter(({ state }) => state !== "restored").length;
  }

  /** Whether something waits that was not refused. */
  isWaiting(following: Following): boolean {
    return this.lines(following).some(({ state }) => state !== "failed");
  }

  subscribe(listener: (event: OutboxEvent) => void): void {
    this.#outbox.subscribe(listener);
  }

  /** What waits, in the order in which it goes: first what the host has queued, then what it has not got. */
  lines({ session: { id: session }, view, outage }: Following): QueuedLine[] {
    const isCut = outage !== undefined;
    // What the host has told of is no longer on its way, though its answer is not in yet.
    const here = this.#items(session).filter((item) => !hasArrived(item, view));
    return [
      ...(view?.queue ?? []).map(({ text, type }): QueuedLine => ({
        text: type === "compact" ? "compact the conversation" : text,
        state: "queued",
      })),
      ...here.map((item): QueuedLine => ({
        text: wordsOf(item),
        state: this.#stateOf(item, isCut),
        ...(item.reason === undefined ? {} : { reason: item.reason.message }),
      })),
    ];
  }

  #stateOf({ id, state }: OutboxItem, isCut: boolean): QueuedLine["state"] {
    if (state === "set_aside") return "failed";
    if (state === "withdrawing" || state === "restored") return "returning";
    if (!this.#kept.has(id)) return "keeping";
    return isCut || this.#held.has(id) ? "waiting" : "sending";
  }

  /** Messages that the host refused for good, of other sessions than this one. */
  refusedElsewhere(session: string): readonly OutboxItem[] {
    return this.#outbox.items.filter(
      (item) => item.session !== session && item.state === "set_aside",
    );
  }

  /** Takes the newest message that has not run back. Undefined where there is none. */
  async takeBack(following: Following): Promise<TakenBack | undefined> {
    const { session } = following;
    const item = this.#items(session.id).findLast((it) => !hasArrived(it, following.view));
    if (item === undefined) {
      const pending = following.view?.queue.at(-1);
      return pending && fromQueue(following, pending);
    }
    const back = await this.#fromOutbox(item);
    if (back !== undefined) return back;
    // It reached the host meanwhile.
    const { requestId } = item;
    const pending = following.view?.queue.find((it) => it.requestId === requestId);
    return pending ? fromQueue(following, pending) : { reason: itRuns };
  }

  /** Sends the oldest message of the session that was refused once more. */
  async retry(session: string): Promise<boolean> {
    const item = this.#items(session).find(({ state }) => state === "set_aside");
    if (item !== undefined) await this.#outbox.retry(item.id);
    return item !== undefined;
  }

  /** Tries again now what waits for a better time. */
  wake(): void {
    this.#outbox.wake();
  }

  close(): Promise<void> {
    return this.#outbox.close();
  }

  #items(session: string): readonly OutboxItem[] {
    return this.#outbox.items.filter(
      (item) => item.agent === this.#agent && item.session === session,
    );
  }

  /** Undefined where it was sent. */
  async #fromOutbox({ id, state }: OutboxItem): Promise<Message | undefined> {
    const back = await this.#draft(id);
    if (back === undefined) return undefined;
    this.#returning.add(id);
    try {
      if (state === "waiting" || state === "withdrawing") {
        const recall = await this.#outbox.recall(id);
        if (recall.status === "sent") return undefined;
      }
      await this.#outbox.discard(id);
      return back;
    } finally {
      this.#returning.delete(id);
    }
  }

  async #draft(id: string): Promise<Message | undefined> {
    const draft = await this.#outbox.draft(id);
    if (draft === undefined) return undefined;
    const { command, images } = draft;
    return { text: "text" in command ? command.text : "", images };
  }
}

function hasArrived({ requestId }: OutboxItem, view: View | undefined): boolean {
  if (view === undefined) return false;
  return (
    view.queue.some((pending) => pending.requestId === requestId) ||
    view.items.some((item) => "requestId" in item && item.requestId === requestId)
  );
}

async function fromQueue(following: Following, pending: PendingCommand): Promise<TakenBack> {
  const { session } = following;
  const { commandId } = pending;
  // Read before the cancellation: the entry may leave what is loaded.
  const queued = following.queuedEntry(commandId);
  const requestId = `recall-${randomUUID()}`;
  const receipt = await session.send({ type: "cancel", requestId, commandId, onlyIfPending: true });
  if (receipt.status === "too_late") return { reason: itRuns };
  const entry = queued && known(queued);
  if (entry?.kind !== "command.queued") return { text: pending.text, images: [] };
  const { text, images = [] } = entry.data;
  const found = await Promise.all(images.map(async (image) => bytesOf(following, image)));
  return {
    text: await wholeText(following, text),
    images: found.filter((image) => image !== undefined),
  };
}

async function wholeText(following: Following, text: Text): Promise<string> {
  if (typeof text === "string") return text;
  const found = await bytesOf(following, text);
  if (found === undefined)
    throw new Fault("unavailable", "The text is kept in the log, but cannot be read now.");
  return new TextDecoder().decode(found.data);
}

async function bytesOf(following: Following, { blob, mimeType }: BlobRef) {
  const found = await following.session.blob(blob);
  return found && { mimeType, data: found.bytes };
}

function wordsOf({ command }: OutboxItem): string {
  switch (command.type) {
    case "prompt":
    case "line":
      return command.text;
    case "compact":
      return "compact the conversation";
    case "abort":
    case "answer":
    case "cancel":
      return command.type;
  }
}
