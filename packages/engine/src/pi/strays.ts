// What pi does by itself while no run of ours is live: turns that an extension began, and single messages and dialogs.
//
//   PI10 Each becomes a run of its own, named after who spoke; what an extension hides is not shown.

import type { Json } from "@lichen/wire";
import { type PiEvent, textAt, textOf } from "./codec.ts";
import { Feed } from "./feed.ts";

export interface Stray {
  readonly feed: Feed;
  source: string;
  text: string;
  /** Who speaks is known by now. */
  isNamed: boolean;
  /** All of it has happened. */
  isOver: boolean;
  /** Whether a run of its own was asked for, and will come. */
  standing: "new" | "asked" | "opened";
}

const harness = "pi";

export class Strays {
  #all: Stray[] = [];

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** Takes a line that belongs to no run. */
  take(line: Json, event: PiEvent): void {
    const open = this.#all.findLast(({ isOver }) => !isOver);
    if (open) return this.#goOn(open, line, event);
    if (event.type === "begun") this.#begin().feed.push({ type: "line", line, event });
    else if (event.type === "dialog" || (isSaid(event) && event.message["display"] !== false))
      this.#single(line, event);
  }

  /** The process is gone: nothing of it goes on. */
  end(gone: Extract<Parameters<Feed["push"]>[0], { type: "gone" }>): void {
    for (const stray of this.#all) {
      if (stray.isOver) continue;
      stray.isNamed = true;
      stray.isOver = true;
      stray.feed.push(gone);
    }
  }

  /** The oldest that no run was asked for. */
  unasked(): Stray | undefined {
    return this.#all.find(({ isNamed, standing }) => isNamed && standing === "new");
  }

  /** The one that a run is about; it is nobody else's then. */
  claim(source: string | undefined, text: string): Stray | undefined {
    const stray = this.#all.find(
      (one) => one.isNamed && one.source === source && one.text === text,
    );
    if (stray) this.remove(stray);
    return stray;
  }

  /**
   * A prompt's run is live: what has no run of its own, and what still goes on, is part of it. A run that was opened comes
   * before any prompt's, so one that did not come was cancelled.
   */
  takeOver(): Stray[] {
    const all = this.#all.splice(0);
    this.#all = all.filter(({ standing }) => standing === "asked");
    return all.filter(
      ({ standing, isOver }) => standing === "new" || (standing === "opened" && !isOver),
    );
  }

  remove(stray: Stray): void {
    this.#all = this.#all.filter((other) => other !== stray);
  }

  #begin(): Stray {
    const stray: Stray = {
      feed: new Feed(),
      source: harness,
      text: "",
      isNamed: false,
      isOver: false,
      standing: "new",
    };
    this.#all.push(stray);
    return stray;
  }

  #single(line: Json, event: PiEvent): void {
    const stray = this.#begin();
    this.#name(stray, event);
    // The run's own message says what was said.
    if (event.type !== "message") stray.feed.push({ type: "line", line, event });
    stray.feed.push({ type: "over" });
    stray.isOver = true;
  }

  #goOn(stray: Stray, line: Json, event: PiEvent): void {
    if (event.type === "settled") stray.isOver = true;
    const isOpening = isSaid(event);
    if (!stray.isNamed && (isOpening || isTelling(event))) {
      this.#name(stray, event);
      if (isOpening) return;
    }
    stray.feed.push({ type: "line", line, event });
  }

  #name(stray: Stray, event: PiEvent): void {
    stray.isNamed = true;
    if (!isSaid(event)) return;
    const { message, role } = event;
    if (role === "custom") stray.source = textAt(message, "customType") || harness;
    if (message["display"] !== false) stray.text = textOf(message["content"]);
  }
}

type Said = Extract<PiEvent, { type: "message" }>;

/** A message to the model, by a user or an extension. */
function isSaid(event: PiEvent): event is Said {
  return event.type === "message" && (event.role === "user" || event.role === "custom");
}

const telling: ReadonlySet<PiEvent["type"]> = new Set(["update", "dialog", "settled", "retrying"]);

/** Something that is shown, so that the run can wait for no name any more. */
function isTelling(event: PiEvent): boolean {
  if (telling.has(event.type)) return true;
  return event.type === "message" && (event.role === "assistant" || event.role === "toolResult");
}
