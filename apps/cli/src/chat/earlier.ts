// What comes in above what is shown: older pages of the session, then what a fork goes on from. One page at a time, when
// somebody scrolls there; not while the host is away, and after a refusal only when a while has passed.

import type { View } from "@lichen/client";
import { Fault } from "@lichen/wire";
import type { Chat } from "./chat.ts";
import type { Following } from "./following.ts";
import { Lineage } from "./lineage.ts";

const firstRestMs = 1_000;
const longestRestMs = 30_000;

export class Earlier {
  readonly #chat: Chat;
  #following: Following | undefined;
  #lineage: Lineage | undefined;
  #isLoading = false;
  #restMs = firstRestMs;
  #restsUntil = 0;
  #shown: View | undefined;
  #from: readonly unknown[] = [];

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  /** The view with what the session goes on from, as far as that is read. The same value until something changes. */
  above(view: View): View {
    const { following, reach } = this.#chat;
    if (following !== this.#following) this.#begin(following);
    const { forkedFrom } = view.session;
    if (forkedFrom === undefined || reach === undefined) return view;
    const lineage = (this.#lineage ??= new Lineage(reach.agent, forkedFrom));
    const before = view.more ? [] : lineage.items;
    const [view_, before_, items] = this.#from;
    const more = view.more || lineage.more;
    if (view_ === view && before_ === before && this.#shown?.more === more) return this.#shown;
    const isSame = before_ === before && items === view.items && this.#shown !== undefined;
    this.#from = [view, before, view.items];
    this.#shown = {
      ...view,
      more,
      items: isSame ? this.#shown!.items : [...before, ...view.items],
    };
    return this.#shown;
  }

  /** Asks for a page, where there is one and it can be had now. */
  load(): void {
    const { view, following } = this.#chat;
    if (view === undefined || following?.outage !== undefined || this.#isLoading) return;
    if (!view.more && this.#lineage?.more !== true) return;
    if (performance.now() < this.#restsUntil) return;
    this.#isLoading = true;
    this.#chat.attempt(async () => {
      try {
        await this.#load(following!, view);
        this.#restMs = firstRestMs;
      } catch (error) {
        this.#rest();
        if (Fault.is(error) && error.code === "unknown_session" && !view.more)
          this.#chat.notices.say(
            "What this session goes on from was deleted and cannot be shown; the model still has it.",
          );
        else if (!Fault.is(error)) throw error;
      } finally {
        this.#isLoading = false;
      }
    });
  }

  async #load(following: Following, view: View): Promise<void> {
    const { screen } = this.#chat;
    const { transcript } = screen;
    const [first] = this.above(view).items;
    const before = first && transcript.lineOf(first.seq);
    await (view.more ? following.loadEarlier() : this.#lineage?.loadEarlier());
    const now = following.view;
    if (this.#chat.following !== following || now === undefined) return;
    this.#chat.show(now);
    if (first !== undefined && before !== undefined)
      screen.grow((transcript.lineOf(first.seq) ?? before) - before);
  }

  #begin(following: Following | undefined): void {
    this.#following = following;
    this.#lineage = undefined;
    this.#shown = undefined;
    this.#from = [];
    this.#restMs = firstRestMs;
    this.#restsUntil = 0;
  }

  #rest(): void {
    this.#restsUntil = performance.now() + this.#restMs;
    setTimeout(() => this.#chat.changed(), this.#restMs).unref();
    this.#restMs = Math.min(longestRestMs, this.#restMs * 2);
  }
}
