// What is read above the ways to answer: at a glance first, then row for row by the page keys. It takes those keys only
// while some of it is left out; else they move the conversation.

import { matchesKey } from "@earendil-works/pi-tui";
import { type Asked, excerpt, glance } from "../show/asked.ts";
import type { Theme } from "../show/theme.ts";
import { type Choice, Choices } from "./choices.ts";
import { type Panel, panelRows } from "./panel.ts";
import { LineField } from "./text-field.ts";

/** Of fewer rows nothing could be read: the head, a row, and how many are left out. */
const leastRows = 3;
/** The editor with its borders, the foot of the screen, and a row of the conversation. */
const around = 6;

/**
 * The rows to read in above so many rows of answers, of which `most` need to be on the screen with it; undefined on a
 * screen that is too small.
 */
function readingRows(screenRows: number, below: number, most = below): number | undefined {
  const room = screenRows - around - Math.min(most, below);
  return room < leastRows ? undefined : Math.min(Math.max(4, panelRows(screenRows) - below), room);
}

export class Reading {
  readonly #theme: Theme;
  readonly #make: (width: number) => Asked;
  #made: { readonly width: number; readonly asked: Asked } | undefined;
  /** The row at the top; undefined at a glance. */
  #top: number | undefined;
  #page = 1;
  /** Where it goes on after the glance; undefined where all of it is shown. */
  #next: number | undefined;

  constructor(theme: Theme, make: (width: number) => Asked) {
    this.#theme = theme;
    this.#make = make;
  }

  /** Something else is to be read. */
  renew(): void {
    this.#made = undefined;
    this.#top = undefined;
  }

  get isCut(): boolean {
    return this.#next !== undefined;
  }

  /** `hasKeys`: whether the page keys come here. */
  lines(width: number, maxRows: number, hasKeys: boolean): readonly string[] {
    if (this.#made?.width !== width) this.#made = { width, asked: this.#make(width) };
    const { asked } = this.#made;
    const first = glance(asked, this.#theme, width, maxRows, hasKeys ? " · page down" : "");
    this.#next = first.next;
    if (this.#top === undefined || first.next === undefined) {
      this.#top = undefined;
      this.#page = Math.max(1, maxRows - 2);
      return first.lines;
    }
    const keys = hasKeys ? " · page up/down" : "";
    const shown = excerpt(asked, this.#theme, width, maxRows, this.#top, keys);
    this.#top = shown.top;
    this.#page = shown.page;
    return shown.lines;
  }

  /** Whether the key moved it. */
  take(data: string): boolean {
    if (this.#next === undefined) return false;
    const top = this.#top;
    if (matchesKey(data, "pageDown")) this.#top = top === undefined ? this.#next : top + this.#page;
    else if (matchesKey(data, "pageUp")) this.#up(this.#page);
    else if (matchesKey(data, "ctrl+down")) this.#top = (top ?? 0) + 1;
    else if (matchesKey(data, "ctrl+up")) this.#up(1);
    else if (matchesKey(data, "ctrl+home")) this.#top = undefined;
    else if (matchesKey(data, "ctrl+end")) this.#top = Infinity;
    else return false;
    return true;
  }

  /** Above the first row is the glance again. */
  #up(rows: number): void {
    const top = this.#top ?? 0;
    this.#top = top === 0 ? undefined : Math.max(0, top - rows);
  }
}

export interface ReadingOptions {
  readonly theme: Theme;
  /** The rows of the screen. */
  readonly rows: () => number;
  readonly leave: () => void;
  readonly other: (data: string) => void;
}

/**
 * What is read, above choices. On a screen too small to read it there are none. `most`: only so many choices need to be
 * on the screen with it.
 */
export function choosing(
  reading: Reading,
  { theme, rows, leave, other }: ReadingOptions,
  ways: () => readonly Choice[],
  { hints = "↑↓ and enter answer · esc leaves it open", most = Infinity } = {},
): Panel {
  const below = () => ways().length + 1;
  const room = () => readingRows(rows(), below(), most + 1);
  const least = () => leastRows + around + Math.min(most + 1, below());
  const choices: Choices = new Choices({
    theme,
    head: (width) => {
      const shown = room();
      return shown === undefined
        ? [theme.warn(`? to answer, make this ${least()} rows tall`)]
        : reading.lines(width, shown, choices.focused);
    },
    choices: () => (room() === undefined ? [] : ways()),
    shown: () => Math.max(1, rows() - around - (room() ?? 0) - 1),
    hints,
    cancel: leave,
    other,
  });
  return new ReadingPanel(reading, choices);
}

/** What is read, above a line to write in. */
export function writing(
  reading: Reading,
  { theme, rows }: ReadingOptions,
  submit: (text: string) => void,
  cancel: () => void,
): Panel {
  const field: LineField = new LineField({
    title: (width) => reading.lines(width, readingRows(rows(), 2) ?? 1, field.focused),
    theme,
    submit,
    cancel,
  });
  return new ReadingPanel(reading, field);
}

/** A panel with what is read above its answers. */
class ReadingPanel implements Panel {
  readonly #reading: Reading;
  readonly #answers: Panel;

  constructor(reading: Reading, answers: Panel) {
    this.#reading = reading;
    this.#answers = answers;
  }

  get capturesViewportInput(): boolean {
    return this.#reading.isCut;
  }

  get focused(): boolean {
    return this.#answers.focused;
  }

  set focused(focused: boolean) {
    this.#answers.focused = focused;
  }

  handleInput(data: string): void {
    if (!this.#reading.take(data)) this.#answers.handleInput(data);
  }

  render(width: number): readonly string[] {
    return this.#answers.render(width);
  }

  invalidate(): void {
    this.#answers.invalidate();
  }
}
