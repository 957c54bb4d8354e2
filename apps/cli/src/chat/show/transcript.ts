// The conversation as one long page. An item is drawn once, and again only when it, the width or the looks change.
//
//   `render` gives the same array until something shown changes. What streams is drawn below the items, and output of
//   a running call within its item: a frame of it draws one item and copies references to the rest.

import type { Component } from "@earendil-works/pi-tui";
import type { Item, View } from "@lichen/client";
import { alike } from "./alike.ts";
import type { Look } from "./call.ts";
import { Growing } from "./growing.ts";
import { itemLines, type Live } from "./item.ts";
import { row } from "./lines.ts";
import { partialLines } from "./message.ts";
import { Page } from "./page.ts";
import type { Theme } from "./theme.ts";

interface Drawn {
  readonly item: Item;
  readonly live: Live | undefined;
  readonly lines: readonly string[];
}

const noItems: readonly Item[] = [];

export class Transcript implements Component {
  #theme: Theme;
  #isUnfolded = false;
  #view: View | undefined;
  #width = 0;
  /** Undefined while it does not show what it is to show. */
  #lines: readonly string[] | undefined;
  #drawn: Drawn[] = [];
  /** The items that are drawn, by the array they came in. */
  #items: readonly Item[] = noItems;
  #liveAt = -1;
  readonly #page = new Page();
  #hasMore = false;
  readonly #growing = new Growing();

  /** How many items were drawn since the beginning. @internal */
  draws = 0;

  constructor(theme: Theme) {
    this.#theme = theme;
  }

  setTheme(theme: Theme): void {
    if (theme === this.#theme) return;
    this.#theme = theme;
    this.invalidate();
  }

  /** Whether thinking and tool output are shown whole. */
  get isUnfolded(): boolean {
    return this.#isUnfolded;
  }

  set isUnfolded(isUnfolded: boolean) {
    if (isUnfolded === this.#isUnfolded) return;
    this.#isUnfolded = isUnfolded;
    this.invalidate();
  }

  /** Shows this view at the next `render`. */
  show(view: View): void {
    const before = this.#view;
    this.#view = view;
    if (
      before?.items !== view.items ||
      before.more !== view.more ||
      before.running?.partial !== view.running?.partial
    )
      this.#lines = undefined;
  }

  /** Shows nothing, until the next view. */
  clear(): void {
    this.#view = undefined;
    this.#lines = undefined;
  }

  /** The line that the item from this entry begins at, as it was drawn last; undefined where it is not shown. */
  lineOf(seq: number): number | undefined {
    this.render(Math.max(1, this.#width));
    // What a call put out stands with the message that called: the last one before it.
    const index = this.#drawn.findLastIndex(({ item }) => item.seq <= seq);
    return this.#page.startOf(index);
  }

  /** Draws everything anew at the next `render`. */
  invalidate(): void {
    this.#drawn = [];
    this.#items = noItems;
    this.#liveAt = -1;
    this.#page.clear(0);
    this.#lines = undefined;
  }

  render(width: number): readonly string[] {
    if (width !== this.#width) {
      this.invalidate();
      this.#width = width;
    }
    return (this.#lines ??= this.#draw());
  }

  #draw(): readonly string[] {
    const { items = noItems, more = false, running } = this.#view ?? {};
    const partial = running?.partial;
    const live = partial?.tool?.output === undefined ? undefined : partial.tool;
    const liveAt = live ? placeOf(live, items) : -1;
    const first = this.#refresh(items, liveAt, live);
    if (more !== this.#hasMore || first === 0) this.#join(0, more);
    else this.#join(first, more);
    const tail = partial
      ? partialLines(partial, this.#look, (text, look) => this.#growing.lines(text, look))
      : [];
    return this.#page.lines(tail);
  }

  get #look(): Look {
    return { theme: this.#theme, width: this.#width, isUnfolded: this.#isUnfolded };
  }

  /** Draws what changed, and says from which item on. */
  #refresh(items: readonly Item[], liveAt: number, live: Live | undefined): number {
    let first = items.length;
    const at = (index: number): void => {
      if (this.#update(items, index, index === liveAt ? live : undefined))
        first = Math.min(first, index);
    };
    if (items === this.#items) {
      if (this.#liveAt >= 0) at(this.#liveAt);
      if (liveAt >= 0 && liveAt !== this.#liveAt) at(liveAt);
    } else first = this.#replace(items, liveAt, live);
    this.#items = items;
    this.#liveAt = liveAt;
    return first;
  }

  #update(items: readonly Item[], index: number, live: Live | undefined): boolean {
    const item = items[index]!;
    const drawn = this.#drawn[index];
    if (drawn?.item === item && drawn.live === live) return false;
    this.#drawn[index] = this.#drawnAnew(item, live);
    return true;
  }

  #replace(items: readonly Item[], liveAt: number, live: Live | undefined): number {
    const before = this.#drawn;
    const liveOf = (index: number): Live | undefined => (index === liveAt ? live : undefined);
    let first = 0;
    const isSame = (index: number): boolean =>
      before[index]?.item === items[index] && before[index]?.live === liveOf(index);
    while (first < items.length && first < before.length && isSame(first)) first++;
    if (first === items.length && first === before.length) return first;
    // Older messages and another branch come as new items, of which most are as they were.
    const rest = before.splice(first);
    let byId: Map<string, Drawn> | undefined;
    const known = (item: Item): Drawn | undefined =>
      (byId ??= new Map(rest.map((it) => [it.item.id, it]))).get(item.id);
    for (let index = first; index < items.length; index++) {
      const item = items[index]!;
      const wanted = liveOf(index);
      const same = rest[index - first];
      const there = same?.item === item ? same : known(item);
      const isAlike = there !== undefined && there.live === wanted && alike(there.item, item);
      before.push(isAlike ? { ...there, item } : this.#drawnAnew(item, wanted));
    }
    return first;
  }

  #drawnAnew(item: Item, live: Live | undefined): Drawn {
    this.draws++;
    return { item, live, lines: itemLines(item, this.#look, live) };
  }

  /** Puts the lines of the items together, from this item on. */
  #join(first: number, more: boolean): void {
    this.#hasMore = more;
    const page = this.#page;
    page.clear(first);
    if (first === 0 && more)
      page.head(this.#theme.dim(row("  older messages: scroll up", this.#width)));
    for (let index = first; index < this.#drawn.length; index++)
      page.add(this.#drawn[index]!.lines);
  }
}

/** Where the call that puts this out stands: the newest of its index that runs. */
function placeOf(live: Live, items: readonly Item[]): number {
  for (let index = items.length - 1; index >= 0; index--) {
    const item = items[index]!;
    if (item.type !== "assistant") continue;
    return item.calls.some((call) => call.index === live.index && call.state === "running")
      ? index
      : -1;
  }
  return -1;
}
