// The conversation as a tree, and its selected branch as a list of items.
//
//   Messages hang on their parents. What is no message (a cancellation, an unknown kind) stands after the message that
//   was the leaf when it came, and is seen with it.
//   An entry that goes on where the branch ends costs no more than itself; only another leaf builds the list anew.

import { type Entry, known } from "@lichen/wire";
import { isReadable } from "../stream/read-entry.ts";
import { Calls } from "./calls.ts";
import { fromEntry, itemOf } from "./item.ts";
import type { Item } from "./view.ts";

const inTree: ReadonlySet<string> = new Set([
  "message.user",
  "message.assistant",
  "message.tool",
  "line",
  "compaction",
  "conversation.started",
]);

interface Node {
  readonly parent: string | undefined;
  readonly entry: Entry;
  readonly remarks: Entry[];
}

export class Conversation {
  readonly #nodes = new Map<string, Node>();
  /** Remarks from before the first message that is known. */
  readonly #early: Entry[] = [];
  readonly #calls = new Calls();
  #leaf: string | undefined;
  /** Where the newest conversation began. */
  #root: string | undefined;
  #items: Item[] = [];
  readonly #places = new Map<string, number>();
  #isStale = false;
  #shown: readonly Item[] | undefined;

  get items(): readonly Item[] {
    if (this.#isStale) this.#build();
    return (this.#shown ??= [...this.#items]);
  }

  take(entry: Entry): void {
    const changes = this.#calls.take(entry);
    if (inTree.has(entry.kind) || entry.parent !== undefined) this.#join(entry);
    else this.#remark(entry);
    for (const change of changes) {
      const place = "question" in change ? change.question.approvalId : change.assistant;
      if (place !== entry.id) this.#redraw(place);
    }
  }

  /** Shows the branch that ends at this entry. */
  select(leaf: string): void {
    if (leaf === this.#leaf) return;
    this.#leaf = leaf;
    this.#isStale = true;
  }

  #join(entry: Entry): void {
    const isStart = entry.kind === "conversation.started";
    // A first message of a conversation hangs on its beginning.
    const parent = isStart ? undefined : (entry.parent ?? this.#root);
    this.#nodes.set(entry.id, { parent, entry, remarks: [] });
    if (isStart) this.#root = entry.id;
    if (parent !== this.#leaf || isStart) this.#isStale = true;
    this.#leaf = entry.id;
    this.#show(entry);
  }

  #remark(entry: Entry): void {
    const leaf = leafIn(entry);
    if (leaf !== undefined) this.select(leaf);
    const node = this.#leaf === undefined ? undefined : this.#nodes.get(this.#leaf);
    (node?.remarks ?? this.#early).push(entry);
    this.#show(entry);
  }

  /** Puts an entry at the end of the list. */
  #show(entry: Entry): void {
    if (this.#isStale) return;
    const item = this.#itemOf(entry);
    if (!item) return;
    this.#places.set(placeOf(item), this.#items.length);
    this.#items.push(item);
    this.#shown = undefined;
  }

  /** An item says something else by now. */
  #redraw(place: string): void {
    if (this.#isStale) return;
    const at = this.#places.get(place);
    const item = at === undefined ? undefined : this.#items[at];
    if (at === undefined || !item) return;
    this.#items[at] = this.#dressed(item);
    this.#shown = undefined;
  }

  #build(): void {
    this.#isStale = false;
    this.#items = [];
    this.#places.clear();
    this.#shown = undefined;
    const branch: Node[] = [];
    for (let id = this.#leaf; id !== undefined;) {
      const node = this.#nodes.get(id);
      if (!node || branch.length > this.#nodes.size) break;
      branch.push(node);
      id = node.parent;
    }
    for (const entry of this.#early) this.#show(entry);
    for (const node of branch.toReversed()) {
      this.#show(node.entry);
      for (const remark of node.remarks) this.#show(remark);
    }
  }

  #itemOf(entry: Entry): Item | undefined {
    if (entry.kind !== "message.tool") {
      const item = itemOf(entry);
      return item && this.#dressed(item);
    }
    const recorded = known(entry);
    if (recorded?.kind !== "message.tool" || !isReadable(entry))
      return { ...fromEntry(entry), type: "unknown", entry };
    const { assistant, index } = recorded.data;
    if (this.#places.has(assistant)) return undefined;
    const call = this.#calls.get(assistant, index);
    return call && { ...fromEntry(entry), type: "tool", call };
  }

  /** The item with how its calls or its question stand. */
  #dressed(item: Item): Item {
    if (item.type === "assistant") {
      const calls = item.content.flatMap((block) => {
        const call = block.type === "call" ? this.#calls.get(item.id, block.index) : undefined;
        return call ? [call] : [];
      });
      return { ...item, calls };
    }
    if (item.type === "question") {
      const question = this.#calls.question(item.question.approvalId);
      return question ? { ...item, question } : item;
    }
    return item;
  }
}

/** By what an item is found again when it changes. */
function placeOf(item: Item): string {
  return item.type === "question" ? item.question.approvalId : item.id;
}

/** The leaf that an entry moves the conversation to. */
function leafIn(recorded: Entry): string | undefined {
  const entry = known(recorded);
  const leaf = entry?.kind === "session.changed" ? entry.data.leaf : undefined;
  return typeof leaf === "string" ? leaf : undefined;
}
