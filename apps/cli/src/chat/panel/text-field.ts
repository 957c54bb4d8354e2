// One line, or a text of several, that is asked for.

import {
  Editor,
  Input,
  matchesKey,
  truncateToWidth,
  type TUI,
  wrapTextWithAnsi,
} from "@earendil-works/pi-tui";
import { printable } from "../../printable.ts";
import type { Theme } from "../show/theme.ts";
import type { Panel } from "./panel.ts";

export interface LineFieldOptions {
  /** What it is for; a function answers rows of that width as they are to be shown. */
  readonly title: string | ((width: number) => readonly string[]);
  readonly value?: string;
  readonly theme: Theme;
  readonly submit: (text: string) => void;
  readonly cancel: () => void;
}

export class LineField implements Panel {
  readonly #options: LineFieldOptions;
  readonly #input = new Input({ prompt: "> " });

  constructor(options: LineFieldOptions) {
    this.#options = options;
    if (options.value !== undefined) this.#input.setValue(options.value);
    this.#input.onSubmit = (text) => options.submit(text.trim());
    this.#input.onEscape = options.cancel;
  }

  get focused(): boolean {
    return this.#input.focused;
  }

  set focused(focused: boolean) {
    this.#input.focused = focused;
  }

  handleInput(data: string): void {
    this.#input.handleInput(data);
  }

  render(width: number): readonly string[] {
    const { title, theme } = this.#options;
    return [
      ...titleLines(title, theme, width),
      ...this.#input.render(width),
      truncateToWidth(
        theme.dim(this.focused ? "enter sends · esc goes back" : "tab answers this"),
        width,
      ),
    ];
  }

  invalidate(): void {}
}

export interface TextFieldOptions extends LineFieldOptions {
  readonly tui: TUI;
}

/** A text to edit; enter is a new line in it as often as it is an end, so ctrl+s ends it. */
export class TextField implements Panel {
  readonly capturesViewportInput = true;
  readonly #options: TextFieldOptions;
  readonly #editor: Editor;
  #trouble: string | undefined;

  constructor(options: TextFieldOptions) {
    this.#options = options;
    this.#editor = new Editor(options.tui, options.theme.editor);
    this.#editor.disableSubmit = true;
    this.#editor.setText(options.value ?? "");
  }

  get focused(): boolean {
    return this.#editor.focused;
  }

  set focused(focused: boolean) {
    this.#editor.focused = focused;
  }

  /** Says what is wrong with the text, which stays. */
  refuse(reason: string): void {
    this.#trouble = reason;
  }

  handleInput(data: string): void {
    if (matchesKey(data, "escape")) {
      this.#options.cancel();
    } else if (matchesKey(data, "ctrl+s")) {
      this.#trouble = undefined;
      this.#options.submit(this.#editor.getExpandedText());
    } else if (matchesKey(data, "enter")) {
      this.#editor.insertTextAtCursor("\n");
    } else {
      this.#editor.handleInput(data);
    }
  }

  render(width: number): readonly string[] {
    const { title, theme } = this.#options;
    return [
      ...titleLines(title, theme, width),
      ...this.#editor.render(width),
      ...(this.#trouble === undefined
        ? []
        : wrapTextWithAnsi(printable(this.#trouble), width).map((line) => theme.error(line))),
      truncateToWidth(theme.dim("ctrl+s sends · esc goes back"), width),
    ];
  }

  invalidate(): void {
    this.#editor.invalidate();
  }
}

const mostTitleRows = 8;

function titleLines(
  title: LineFieldOptions["title"],
  theme: Theme,
  width: number,
): readonly string[] {
  if (typeof title === "function") return title(width);
  return wrapTextWithAnsi(printable(title), width)
    .slice(0, mostTitleRows)
    .map((line) => theme.accent(line));
}
