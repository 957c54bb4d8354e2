// A list to choose from, with a line to narrow it down.

import {
  getKeybindings,
  Input,
  type SelectItem,
  SelectList,
  truncateToWidth,
  wrapTextWithAnsi,
} from "@earendil-works/pi-tui";
import { printable } from "../../printable.ts";
import type { Theme } from "../show/theme.ts";
import { type Panel, panelRows } from "./panel.ts";

export interface PickerOptions {
  /** Asked for at every drawing where it changes with what is found. */
  readonly title: string | (() => string);
  readonly theme: Theme;
  readonly rows: () => number;
  /** What there is for what is typed, at first for nothing. */
  readonly search: (typed: string) => Promise<readonly SelectItem[]>;
  /** Said where there is nothing. */
  readonly empty: string;
  /** Told when an answer came. */
  readonly changed: () => void;
  readonly choose: (item: SelectItem) => void;
  readonly cancel: () => void;
}

const listKeys = [
  "tui.select.up",
  "tui.select.down",
  "tui.select.pageUp",
  "tui.select.pageDown",
  "tui.select.confirm",
  "tui.select.cancel",
] as const;

export class Picker implements Panel {
  readonly capturesViewportInput = true;
  readonly #options: PickerOptions;
  readonly #filter = new Input({ prompt: "> " });
  #list: SelectList;
  /** The newest search; what an older one answers is dropped. */
  #newest = 0;
  #isSearching = false;
  /** Keys that were meant for the list that is being searched for: nobody waits for it before pressing enter. */
  #early: string[] = [];
  #trouble: string | undefined;

  constructor(options: PickerOptions) {
    this.#options = options;
    this.#list = this.#listOf([], "…");
    void this.#search("");
  }

  get focused(): boolean {
    return this.#filter.focused;
  }

  set focused(focused: boolean) {
    this.#filter.focused = focused;
  }

  handleInput(data: string): void {
    const keys = getKeybindings();
    if (listKeys.some((key) => keys.matches(data, key))) {
      if (this.#isSearching && !keys.matches(data, "tui.select.cancel")) this.#early.push(data);
      else this.#list.handleInput(data);
      return;
    }
    const before = this.#filter.getValue();
    this.#filter.handleInput(data);
    const typed = this.#filter.getValue();
    if (typed !== before) void this.#search(typed);
  }

  render(width: number): readonly string[] {
    const { title, theme } = this.#options;
    return [
      truncateToWidth(theme.accent(printable(typeof title === "string" ? title : title())), width),
      ...this.#filter.render(width),
      ...(this.#trouble === undefined
        ? this.#list.render(width)
        : wrapTextWithAnsi(printable(this.#trouble), width).map((line) => theme.error(line))),
      truncateToWidth(theme.dim("enter chooses · esc closes · type to narrow down"), width),
    ];
  }

  invalidate(): void {
    this.#list.invalidate();
  }

  async #search(typed: string): Promise<void> {
    const { search, empty, changed } = this.#options;
    const mine = ++this.#newest;
    this.#isSearching = true;
    this.#early = [];
    try {
      const items = await search(typed);
      if (mine !== this.#newest) return;
      this.#trouble = undefined;
      this.#list = this.#listOf(items, empty);
    } catch (error) {
      if (mine !== this.#newest) return;
      this.#trouble = error instanceof Error ? error.message : String(error);
      this.#early = [];
    }
    this.#isSearching = false;
    for (const data of this.#early.splice(0)) this.#list.handleInput(data);
    changed();
  }

  #listOf(items: readonly SelectItem[], empty: string): SelectList {
    const { theme, rows, choose, cancel } = this.#options;
    const shown = items.map(({ value, label, description }) => ({
      value,
      label: printable(label),
      ...(description === undefined ? {} : { description: printable(description) }),
    }));
    const list = new SelectList(
      shown,
      Math.max(1, panelRows(rows()) - 3),
      { ...theme.select, noMatch: () => theme.dim(`  ${empty}`) },
      { minPrimaryColumnWidth: 16, maxPrimaryColumnWidth: 70 },
    );
    list.onSelect = choose;
    list.onCancel = cancel;
    return list;
  }
}
