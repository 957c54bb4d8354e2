// Texts that are too long for the log itself, read back for the screen: what is said always, what tools put out once it
// is to be shown whole.

import type { CallView, Item, View } from "@lichen/client";
import type { BlobRef, Text } from "@lichen/wire";
import type { ReadBlob } from "../whole-approval.ts";

/** Longer ones are told with their size. */
const mostBytes = 1_048_576;
/** Of all texts that one session's screen holds. */
const mostTogether = 64 * mostBytes;
const atOnce = 4;
const againMs = 5_000;

export class WholeTexts {
  readonly #blob: ReadBlob;
  readonly #changed: () => void;
  readonly #texts = new Map<string, string | undefined>();
  readonly #wanted: BlobRef[] = [];
  #reading = 0;
  #together = 0;
  /** Items with their texts in them; gone when another text came. */
  #whole = new WeakMap<Item, Item>();
  #last:
    | { readonly items: View["items"]; readonly withCalls: boolean; readonly view: View }
    | undefined;

  constructor(blob: ReadBlob, changed: () => void) {
    this.#blob = blob;
    this.#changed = changed;
  }

  /** The view with the texts that are read by now; the others are asked for. `withCalls`: what tools put out, too. */
  of(view: View, withCalls: boolean): View {
    const last = this.#last;
    if (last?.items === view.items && last.withCalls === withCalls)
      return last.view.items === view.items ? view : { ...view, items: last.view.items };
    const items = view.items.map((item) => this.#itemOf(item, withCalls));
    const isSame = items.every((item, at) => item === view.items[at]);
    const whole = isSame ? view : { ...view, items };
    this.#last = { items: view.items, withCalls, view: whole };
    return whole;
  }

  #itemOf(item: Item, withCalls: boolean): Item {
    const known = this.#whole.get(item);
    if (known !== undefined && (!withCalls || item.type !== "assistant")) return known;
    const whole = this.#wholeItem(item, withCalls);
    this.#whole.set(item, whole);
    return whole;
  }

  #wholeItem(item: Item, withCalls: boolean): Item {
    switch (item.type) {
      case "user":
      case "line":
      case "cancelled":
        return typeof item.text === "string" ? item : this.#with(item, "text", item.text);
      case "compaction":
        return typeof item.summary === "string" ? item : this.#with(item, "summary", item.summary);
      case "assistant": {
        const content = changedOnly(item.content, (block) =>
          block.type === "call" || typeof block.text === "string"
            ? block
            : this.#with(block, "text", block.text),
        );
        const calls = withCalls ? changedOnly(item.calls, (call) => this.#call(call)) : item.calls;
        return content === item.content && calls === item.calls
          ? item
          : { ...item, content, calls };
      }
      case "tool": {
        const call = withCalls ? this.#call(item.call) : item.call;
        return call === item.call ? item : { ...item, call };
      }
      case "conversation":
      case "recovered":
      case "ended":
      case "changed":
      case "question":
      case "unknown":
        return item;
    }
  }

  #call(call: CallView): CallView {
    const { content } = call;
    if (content === undefined) return call;
    const whole = changedOnly(content, (block) =>
      block.type === "image" || typeof block.text === "string"
        ? block
        : this.#with(block, "text", block.text),
    );
    return whole === content ? call : { ...call, content: whole };
  }

  #with<T, K extends keyof T>(of: T, key: K, text: Text): T {
    const read = typeof text === "string" ? text : this.#textOf(text);
    return read === undefined ? of : { ...of, [key]: read };
  }

  /** Undefined for what is not read yet, or never. */
  #textOf(ref: BlobRef): string | undefined {
    const { blob, bytes } = ref;
    if (this.#texts.has(blob) || bytes > mostBytes || this.#together + bytes > mostTogether)
      return this.#texts.get(blob);
    this.#texts.set(blob, undefined);
    this.#together += bytes;
    this.#wanted.push(ref);
    while (this.#reading < atOnce && this.#wanted.length > 0) void this.#read(this.#wanted.pop()!);
    return undefined;
  }

  async #read({ blob, bytes }: BlobRef): Promise<void> {
    this.#reading++;
    try {
      const found = await this.#blob(blob);
      if (found) this.#texts.set(blob, new TextDecoder().decode(found));
    } catch {
      // Asked for again later, by the next drawing that wants it.
      setTimeout(() => {
        this.#texts.delete(blob);
        this.#together -= bytes;
        this.#renew();
      }, againMs).unref();
    }
    this.#reading--;
    this.#renew();
    const next = this.#wanted.pop();
    if (next) void this.#read(next);
  }

  #renew(): void {
    this.#whole = new WeakMap();
    this.#last = undefined;
    this.#changed();
  }
}

/** The same array where nothing in it changes. */
function changedOnly<T>(all: readonly T[], change: (one: T) => T): readonly T[] {
  const changed = all.map(change);
  return changed.every((one, at) => one === all[at]) ? all : changed;
}
