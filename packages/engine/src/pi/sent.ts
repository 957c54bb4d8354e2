// What was sent to pi and stands in no transcript of its yet: which user message is ours.
//
//   PI7  A user message is known by the command that it came from, never by its text alone: skills and templates are
//        expanded, extensions rewrite. What pi dropped leaves the list.
//   PI23 One at a time: what follows is held until pi has said what became of the one before. Two that reach an idle pi at
//        once would both be accepted, and one of them lost.

import type { JsonObject } from "@lichen/wire";
import type { PiResponse } from "./codec.ts";

export interface SentMessage {
  /** Of the command that carries it. */
  readonly id: string;
  readonly text: string;
  readonly images: readonly JsonObject[];
  /** Whether it is only told, so that nobody misses it where pi drops it. */
  readonly isNote?: boolean;
  /** Joins what runs then. */
  readonly steers: boolean;
  /** pi lost it once. */
  readonly isAgain?: boolean;
  state: "held" | "sent" | "queued" | "started";
}

export class Sent {
  #open: SentMessage[] = [];

  get open(): readonly SentMessage[] {
    return this.#open;
  }

  add(message: Omit<SentMessage, "state">): void {
    this.#open.push({ ...message, state: "held" });
  }

  /** The next one to send, which is sent from now on; undefined where there is none, or one is not answered yet. */
  next(): SentMessage | undefined {
    if (this.#open.some(({ state }) => state === "sent")) return undefined;
    const next = this.#open.find(({ state }) => state === "held");
    if (next) next.state = "sent";
    return next;
  }

  /** Some are held, or not answered yet. */
  get isUnanswered(): boolean {
    return this.#open.some(({ state }) => state === "held" || state === "sent");
  }

  find(id: string | undefined): SentMessage | undefined {
    return this.#open.find((message) => message.id === id);
  }

  /** Notes what pi said of a command; answers its disposition where it is one of these. */
  answered(response: PiResponse): "handled" | "queued" | "started" | "refused" | undefined {
    const message = this.find(response.id);
    if (!message) return undefined;
    if (!response.success) {
      this.drop(message);
      return "refused";
    }
    const { disposition } = response.data;
    if (disposition === "handled") {
      this.drop(message);
      return "handled";
    }
    message.state = disposition === "queued" ? "queued" : "started";
    return message.state;
  }

  /** The message of ours that this user message is, which is in the transcript from now on. */
  taken(text: string): SentMessage | undefined {
    const told = this.#open.filter(({ state }) => state !== "held");
    const taken =
      told.find((message) => isText(message.text, text)) ??
      told.find((message) => message.state !== "sent" && message.text.startsWith("/")) ??
      told.find((message) => message.state === "started");
    if (taken) this.drop(taken);
    return taken;
  }

  drop(message: SentMessage): void {
    this.#open = this.#open.filter((other) => other !== message);
  }

  clear(): SentMessage[] {
    return this.#open.splice(0);
  }
}

/** Whether pi's text is what was sent: as it is, or with notes on its images below it. */
export function isText(sent: string, text: string): boolean {
  return text === sent || text.startsWith(`${sent}\n\n`);
}
