// The fold: from a baseline and the entries after it to the view that every screen shows.
//
//   N14  What is folded entry by entry equals what is folded at once, and the host's own baseline at that head.
//   N15  A frame costs no more than what it changes, however long the session is.
//   N26  What streams is never shown beside the message that it became.

import { type Baseline, type Entry, foldAroundEntries, type Partial, replaces } from "@lichen/wire";
import type { Frame } from "../api.ts";
import { Conversation } from "./conversation.ts";
import type { View } from "./view.ts";

/** The view of a baseline and the entries that follow it. */
export function viewOf(baseline: Baseline, entries: readonly Entry[] = []): View {
  const fold = new ViewFold();
  fold.take({ type: "baseline", id: "", data: baseline });
  for (const data of entries) fold.take({ type: "entry", id: "", data });
  return fold.view!;
}

/** Follows a watch. Holds what was told so far; each `view` is a value of its own. */
export class ViewFold {
  /** All but the entries, as the wire folds them. */
  #around: Baseline | undefined;
  /** Every entry that is known, oldest first. */
  #entries: Entry[] = [];
  /** Undefined while what it told is out of date. */
  #conversation: Conversation | undefined;
  /** What streams of a run that has not begun as far as this reader knows. */
  #early: Partial | undefined;
  /** The newest entry that ended what streamed before it. */
  #replacing: Entry | undefined;
  #outage: View["outage"];
  #view: View | undefined;

  /** The newest view; undefined before the first baseline. The same value until something changes. */
  get view(): View | undefined {
    if (!this.#around) return undefined;
    return (this.#view ??= this.#draw(this.#around));
  }

  /** Every entry that is known here, oldest first. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  take(frame: Frame): void {
    switch (frame.type) {
      case "baseline":
      case "reset":
        this.#rebase(frame.data);
        break;
      case "entry":
        this.#append(frame.data);
        break;
      case "partial":
        if (this.#isOld(frame.data)) return;
        // It may overtake the entry that its run begins with.
        this.#early = frame.data;
        this.#showPartial();
        break;
      case "outage":
        this.#outage = { since: frame.data.since, reason: frame.data.reason.message };
        break;
      case "back":
        this.#outage = undefined;
        // What still streams is told anew.
        if (this.#around) this.#around = withoutPartial(this.#around);
        break;
      case "state":
        // A hint of what entries say.
        return;
    }
    this.#view = undefined;
  }

  /** Takes in an older page: what `read({before})` gave for the oldest entry that is known here. */
  earlier(page: Baseline): void {
    const around = this.#around;
    if (!around || page.epoch !== around.epoch) return;
    const oldest = this.#entries[0]?.seq ?? around.head + 1;
    const older = page.entries.filter((entry) => entry.seq < oldest);
    if ((older.at(-1)?.seq ?? oldest - 1) !== oldest - 1) return;
    this.#around = { ...around, more: page.more };
    this.#entries = [...older, ...this.#entries];
    this.#forget();
  }

  #rebase(baseline: Baseline): void {
    const first = baseline.entries[0]?.seq ?? baseline.head + 1;
    const isSame = this.#around?.epoch === baseline.epoch;
    // What was read before a reset stays where nothing is missing in between.
    const older = isSame ? this.#entries.filter((entry) => entry.seq < first) : [];
    const isJoined = older.length > 0 && older.at(-1)!.seq === first - 1;
    const more = isJoined ? this.#around!.more : baseline.more;
    this.#early = undefined;
    this.#replacing = baseline.entries.findLast((entry) => replaces(entry, {}));
    const { running } = baseline;
    const isStale =
      running?.partial &&
      (running.partial.commandId !== running.commandId || this.#isOld(running.partial));
    const told = isStale ? withoutPartial(baseline) : baseline;
    this.#around = { ...told, more, entries: [] };
    this.#entries = isJoined ? [...older, ...baseline.entries] : [...baseline.entries];
    this.#forget();
  }

  #forget(): void {
    this.#conversation = undefined;
    this.#view = undefined;
  }

  /** Whether a message that is known here took its place. One that does not say where it stands is taken as new. */
  #isOld(partial: Partial): boolean {
    return (
      partial.after !== undefined &&
      this.#replacing !== undefined &&
      replaces(this.#replacing, partial)
    );
  }

  /** Shows what streams, once the run that it belongs to is known. */
  #showPartial(): void {
    const around = this.#around;
    const partial = this.#early;
    if (!partial || around?.running?.commandId !== partial.commandId) return;
    this.#early = undefined;
    if (this.#isOld(partial)) return;
    this.#around = { ...around, running: { ...around.running, partial } };
  }

  #told(around: Baseline): Conversation {
    const conversation = new Conversation();
    for (const entry of this.#entries) conversation.take(entry);
    if (around.session.leaf !== undefined) conversation.select(around.session.leaf);
    return conversation;
  }

  #append(entry: Entry): void {
    const around = this.#around;
    if (!around || entry.seq <= around.head) return;
    this.#around = folded(around, entry);
    if (replaces(entry, {})) this.#replacing = entry;
    if (entry.kind === "run.started") this.#showPartial();
    this.#entries.push(entry);
    this.#conversation?.take(entry);
  }

  #draw(around: Baseline): View {
    this.#conversation ??= this.#told(around);
    return {
      session: around.session,
      items: this.#conversation.items,
      more: around.more,
      ...(around.running ? { running: around.running } : {}),
      queue: around.pending,
      approvals: around.approvals,
      attention: around.attention,
      projections: around.projections,
      ...(this.#outage ? { outage: this.#outage } : {}),
    };
  }
}

function withoutPartial(baseline: Baseline): Baseline {
  if (!baseline.running?.partial) return baseline;
  const { partial: _, ...running } = baseline.running;
  return { ...baseline, running };
}

/** The wire's fold; an entry whose data it cannot make sense of only moves the head, as an unknown kind does. */
function folded(around: Baseline, entry: Entry): Baseline {
  try {
    return foldAroundEntries(around, entry);
  } catch {
    return foldAroundEntries(around, { ...entry, kind: "unreadable", data: {} });
  }
}
