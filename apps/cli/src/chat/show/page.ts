// The lines of all items and of what streams below them, as one array that costs no more than what changes.
//
//   Whoever took the array before may still hold it while the next is made: two are written in turn, and each is a
//   value of its own until the next but one.

interface Copy {
  readonly lines: string[];
  /** How many of its first lines are the body's. */
  upTo: number;
}

export class Page {
  readonly #body: string[] = [];
  /** Where each item begins. */
  readonly #starts: number[] = [];
  #next: Copy = { lines: [], upTo: 0 };
  #last: Copy = { lines: [], upTo: 0 };

  startOf(item: number): number | undefined {
    return this.#starts[item];
  }

  /** Forgets the lines of this item and of all that follow; the head too where that is the first one. */
  clear(item: number): void {
    const start = item === 0 ? 0 : (this.#starts[item] ?? this.#body.length);
    this.#body.length = start;
    this.#starts.length = Math.min(this.#starts.length, item);
    this.#next.upTo = Math.min(this.#next.upTo, start);
    this.#last.upTo = Math.min(this.#last.upTo, start);
  }

  /** A line above all items. */
  head(line: string): void {
    this.#body.push(line);
  }

  /** The lines of the next item. */
  add(lines: readonly string[]): void {
    this.#starts.push(this.#body.length);
    for (const line of lines) this.#body.push(line);
  }

  /** All lines, with these at the end. */
  lines(tail: readonly string[]): readonly string[] {
    const copy = this.#next;
    const { lines } = copy;
    lines.length = copy.upTo;
    for (let at = copy.upTo; at < this.#body.length; at++) lines.push(this.#body[at]!);
    copy.upTo = lines.length;
    for (const line of tail) lines.push(line);
    this.#next = this.#last;
    this.#last = copy;
    return lines;
  }
}
