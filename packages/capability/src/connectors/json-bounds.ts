// What JSON of somebody else may be made of, told from its bytes before anything parses it: what is deeply nested, or of
// very many values, holds up all who walk through it, however few bytes it has.

/** Levels of lists and objects, how many values there are in all, and how many members one object has. */
export interface JsonBounds {
  readonly depth: number;
  readonly values: number;
  readonly members: number;
}

/** What an answer may be made of before it is parsed; what may be handed on of it is less deep. */
export const answerBounds: JsonBounds = { depth: 2_000, values: 100_000, members: 10_000 };
/** The same of a value that code, the log and the model are given. */
export const valueBounds: JsonBounds = { depth: 64, values: 100_000, members: 10_000 };

/** Looks through JSON once, in whatever pieces it comes. */
export class JsonScan {
  readonly #bounds: JsonBounds;
  #depth = 0;
  #values = 0;
  /** Of the object at each level that is open; of a list always 0. */
  readonly #members: Float64Array;
  #most = 0;
  #isText = false;
  #isEscaped = false;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
    this.#members = new Float64Array(bounds.depth + 2);
  }

  /** A line is over in which no text can go on. */
  endLine(): void {
    this.#isText = false;
    this.#isEscaped = false;
  }

  /** Why it is too much, as the rest of a sentence about it; undefined as long as it is not. */
  take(bytes: Uint8Array): string | undefined {
    const { depth: deepest, values: most, members: widest } = this.#bounds;
    const members = this.#members;
    let [depth, values, isText, isEscaped] = [
      this.#depth,
      this.#values,
      this.#isText,
      this.#isEscaped,
    ];
    for (
      let at = 0;
      at < bytes.length && depth <= deepest && values <= most && this.#most <= widest;
      at++
    ) {
      const byte = bytes[at];
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (byte === 92) isEscaped = true;
        else if (byte === 34) isText = false;
      } else if (byte === 34) isText = true;
      else if (byte === 44) values++;
      else if (byte === 58 && depth > 0) {
        const known = (members[depth] ?? 0) + 1;
        members[depth] = known;
        if (known > this.#most) this.#most = known;
      } else if (byte === 91 || byte === 123) {
        depth++;
        values++;
        members[depth] = 0;
      } else if (byte === 93 || byte === 125) depth--;
    }
    this.#depth = depth;
    this.#values = values;
    this.#isText = isText;
    this.#isEscaped = isEscaped;
    if (depth > deepest) return `it is nested deeper than ${deepest} levels`;
    if (this.#most > widest) return `it holds an object of more than ${widest} members`;
    return values > most ? `it holds more than ${most} values` : undefined;
  }
}

/** The same of the whole at once. */
export function beyond(bytes: Uint8Array, bounds: JsonBounds): string | undefined {
  return new JsonScan(bounds).take(bytes);
}

/** Whether a value that is parsed already is nested deeper. */
export function isDeeper(value: unknown, levels: number): boolean {
  const open: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = open.pop(); next; next = open.pop()) {
    if (typeof next.value !== "object" || next.value === null) continue;
    if (next.depth >= levels) return true;
    for (const held of Object.values(next.value)) open.push({ value: held, depth: next.depth + 1 });
  }
  return false;
}
