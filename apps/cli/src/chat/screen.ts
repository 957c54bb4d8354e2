// The screen: what stands where. It shows what it is given and knows nothing of sessions.

import {
  type Component,
  Editor,
  ScrollView,
  type ScrollViewOptions,
  setCapabilityOverrides,
  setKeybindings,
  type Terminal,
  TuiAltScreen,
  truncateToWidth,
  VStack,
} from "@earendil-works/pi-tui";
import { libraryKeys } from "./keys.ts";
import type { Panel } from "./panel/panel.ts";
import type { Theme } from "./show/theme.ts";
import { Transcript } from "./show/transcript.ts";

/** What stands between the conversation and the editor, and below it: asked for at every drawing. */
export interface Surroundings {
  /** Where the conversation would be, while it is empty. */
  welcome(width: number): readonly string[];
  notices(width: number): readonly string[];
  banner(width: number): readonly string[];
  queue(width: number): readonly string[];
  attached(width: number): readonly string[];
  footer(width: number): readonly string[];
}

export class Screen {
  readonly tui: TuiAltScreen;
  readonly transcript: Transcript;
  readonly editor: Editor;
  readonly #scroll: Conversation;
  readonly #slot = new Slot();
  #theme: Theme;
  #target: Component | undefined;

  constructor(terminal: Terminal, theme: Theme, around: Surroundings, nearTop: () => void) {
    setKeybindings(libraryKeys());
    // A link that hides its address behind other words could be anyone's: both are shown.
    setCapabilityOverrides({ hyperlinks: false });
    this.#theme = theme;
    this.tui = new TuiAltScreen(terminal, true, undefined, {
      wheelScrollLines: "auto",
      scrollToEndIndicator: () => this.#theme.accent(" ↓ newest "),
      searchMatchStyle: (text) => `\u001b[7m${text}\u001b[27m`,
    });
    this.transcript = new Transcript(theme);
    this.editor = new Editor(this.tui, theme.editor, { autocompleteMaxVisible: 8 });
    this.#scroll = new Conversation(
      new Whole([this.transcript, new Lines((width) => around.welcome(width))]),
      { follow: "end", primary: true, scrollbar: "auto" },
      nearTop,
    );
    const fixed = { basis: "auto", shrink: 1, minSize: 0 } as const;
    this.tui.setLayoutRoot(
      new VStack([
        { component: this.#scroll, basis: 0, grow: 1, shrink: 1, minSize: 1 },
        { component: new Lines((width) => around.notices(width)), ...fixed },
        { component: new Lines((width) => around.banner(width)), ...fixed },
        { component: new Lines((width) => around.queue(width)), ...fixed },
        { component: this.#slot, ...fixed },
        { component: new Lines((width) => around.attached(width)), ...fixed },
        { component: this.editor, basis: "auto", shrink: 0, minSize: 1 },
        { component: new Lines((width) => around.footer(width)), ...fixed },
      ]),
    );
  }

  get theme(): Theme {
    return this.#theme;
  }

  set theme(theme: Theme) {
    this.#theme = theme;
    this.transcript.setTheme(theme);
    this.editor.borderColor = theme.editor.borderColor;
    this.tui.invalidate();
    this.tui.requestRender(true);
  }

  get rows(): number {
    return this.tui.terminal.rows;
  }

  get panel(): Panel | undefined {
    return this.#slot.panel;
  }

  /** Shows this panel, or none; whoever has the focus then has it from here on. */
  show(panel: Panel | undefined, focus: "panel" | "editor"): void {
    this.#slot.panel = panel;
    const target = panel !== undefined && focus === "panel" ? panel : this.editor;
    // Whoever has the keys for a while, as a search on the screen does, keeps them when nothing moves below.
    if (target !== this.#target) this.tui.setFocus(target);
    this.#target = target;
    this.draw();
  }

  /** The next frame has this many more lines on top: what a person reads stays where it is. */
  grow(lines: number): void {
    this.#scroll.grow(lines);
    this.draw();
  }

  /** Brings a line of the conversation into sight. */
  scrollTo(line: number): void {
    this.#scroll.scrollTo(line, { disableFollow: true });
  }

  scrollToEnd(): void {
    this.#scroll.scrollToEnd();
  }

  draw(): void {
    this.tui.requestRender();
  }
}

/** The conversation: tells when its beginning is near, and keeps the reader's place when it grows there. */
class Conversation extends ScrollView {
  readonly #nearTop: () => void;
  #grown = 0;

  constructor(component: Component, options: ScrollViewOptions, nearTop: () => void) {
    super(component, options);
    this.#nearTop = nearTop;
  }

  grow(lines: number): void {
    this.#grown += lines;
  }

  override updateLayout(height: number, viewport: number, requestRender: () => void): void {
    const { isFollowingEnd, scrollTop } = this;
    super.updateLayout(height, viewport, requestRender);
    if (this.#grown > 0 && !isFollowingEnd)
      this.scrollTo(scrollTop + this.#grown, { disableFollow: true });
    this.#grown = 0;
    // What does not fill the screen is seen from its beginning on.
    const isNear = !this.isFollowingEnd && this.scrollTop < viewport;
    if (isNear || this.scrollTop === 0) this.#nearTop();
  }
}

/** Components one below the other. Keeps its lines while nothing in them changes: a long conversation is not copied. */
class Whole implements Component {
  readonly #parts: readonly Component[];
  #drawn: readonly (readonly string[])[] = [];
  #lines: readonly string[] = [];

  constructor(parts: readonly Component[]) {
    this.#parts = parts;
  }

  render(width: number): readonly string[] {
    const drawn = this.#parts.map((part) => part.render(width));
    const filled = drawn.filter((lines) => lines.length > 0);
    if (filled.length <= 1) return filled[0] ?? [];
    if (drawn.some((lines, at) => lines !== this.#drawn[at])) this.#lines = drawn.flat();
    this.#drawn = drawn;
    return this.#lines;
  }

  invalidate(): void {
    for (const part of this.#parts) part.invalidate();
  }
}

/** Lines that are made anew at every drawing: few, and cheap. */
class Lines implements Component {
  readonly #make: (width: number) => readonly string[];

  constructor(make: (width: number) => readonly string[]) {
    this.#make = make;
  }

  render(width: number): readonly string[] {
    return this.#make(width).map((line) => truncateToWidth(line, width));
  }

  invalidate(): void {}
}

/** The place of the one panel. */
class Slot implements Component {
  panel: Panel | undefined;

  render(width: number): readonly string[] {
    return this.panel?.render(width) ?? [];
  }

  invalidate(): void {
    this.panel?.invalidate();
  }
}
