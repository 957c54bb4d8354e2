// Reads the logs of a machine's sessions for what was used, as they grow and from where it was, in the background.

import type { Frame, Subscription } from "@lichen/runtime";
import { type Entry, Fault, type Json, known } from "@lichen/wire";
import { objectIn } from "../events/lines.ts";
import { wholeOf } from "../events/whole.ts";
import type { Seat } from "../sessions/seat.ts";
import { type Fact, factOf } from "./facts.ts";
import { firstTally, type Spent, tally } from "./tally.ts";
import type { Place, UsageTable } from "./usage-table.ts";

const pageEntries = 200;

/** The harness whose lines tell what each turn took; of the others it is what a run's settlement says. */
const saysResults = "claude";

export class UsageReader {
  readonly #seat: Seat;
  readonly #table: UsageTable;
  readonly #report: (error: unknown) => void;
  #place: Place;
  #subscription: Subscription | undefined;
  /** Entries are counted one after the other. */
  #counting: Promise<void> = Promise.resolve();

  constructor(
    seat: Seat,
    table: UsageTable,
    told: {
      readonly report: (error: unknown) => void;
      /** The session was deleted, and all of its log is counted. */
      readonly deleted: () => void;
    },
  ) {
    this.#seat = seat;
    this.#table = table;
    this.#report = told.report;
    const { epoch } = seat.board.info;
    const known = table.place(seat.id);
    this.#place =
      known?.epoch === epoch
        ? known
        : { epoch, seq: 0, state: firstTally(seat.settings.earlier !== undefined) };
    this.#subscription = seat.session.observe(
      {
        frame: (frame) => this.#hear(frame),
        end: (reason) => {
          if (reason === "deleted") this.#soon(async () => told.deleted());
        },
      },
      { after: `${epoch}.${this.#place.seq}` },
    );
  }

  /** Settles when all that was heard so far is counted. */
  async counted(): Promise<void> {
    await this.#counting;
  }

  async close(): Promise<void> {
    this.#subscription?.close();
    this.#subscription = undefined;
    await this.#counting;
  }

  #hear(frame: Frame): boolean {
    if (frame.type === "entry") this.#soon(() => this.#count([frame.data]));
    if (frame.type === "baseline" || frame.type === "reset") {
      const { head } = frame.data;
      this.#soon(() => this.#catchUp(head));
    }
    return true;
  }

  #soon(work: () => Promise<void>): void {
    this.#counting = this.#counting.then(work).catch((error: unknown) => {
      // A session that is deleted meanwhile has nothing to read.
      if (!Fault.is(error)) this.#report(error);
    });
  }

  /** Reads what lies between the place and `head`: pages come newest first, so what they say is put by. */
  async #catchUp(head: number): Promise<void> {
    const pages: { readonly seq: number; readonly facts: readonly Fact[] }[][] = [];
    for (let before = head + 1; before > this.#place.seq + 1;) {
      const { entries } = await this.#seat.session.read({ limit: pageEntries, before });
      const newer = entries.filter(({ seq }) => seq > this.#place.seq);
      const page = [];
      for (const entry of newer) page.push({ seq: entry.seq, facts: await this.#factsOf(entry) });
      pages.push(page.filter(({ facts }) => facts.length > 0));
      const [first] = newer;
      if (!first || newer.length < entries.length) break;
      before = first.seq;
    }
    const facts = pages.reverse().flatMap((page) => page.flatMap((it) => it.facts));
    this.#add(facts, head);
  }

  async #count(entries: readonly Entry[]): Promise<void> {
    for (const entry of entries) {
      if (entry.seq <= this.#place.seq) continue;
      if (entry.kind === "renamed") this.#table.rename(this.#seat.id, this.#seat.name);
      this.#add(await this.#factsOf(entry), entry.seq);
    }
  }

  async #factsOf(entry: Entry): Promise<Fact[]> {
    const line = known(entry)?.kind === "harness.line" ? await this.#lineOf(entry) : undefined;
    return factOf(entry, line, this.#seat.harness);
  }

  /** A line with its shape; its long texts stay where they were put aside. */
  async #lineOf(entry: Entry): Promise<Json | undefined> {
    const { line } = entry.data;
    if (line === undefined || "type" in objectIn(line)) return line;
    const { session } = this.#seat;
    return wholeOf(line, async (sha256) => (await session.blob(sha256))?.bytes);
  }

  #add(facts: readonly Fact[], seq: number): void {
    let { state } = this.#place;
    const spent: Spent[] = [];
    for (const fact of facts) {
      const next = tally(state, fact, this.#seat.harness.name === saysResults);
      state = next.state;
      if (next.spent) spent.push(next.spent);
    }
    this.#place = { ...this.#place, seq, state };
    // Between two ends there is nothing that could not be read again.
    if (spent.length === 0 && !facts.some(({ is }) => is === "settled" || is === "fresh")) return;
    const { id, name, harness } = this.#seat;
    this.#table.note({ agent: id, name, harness: harness.name }, this.#place, spent);
  }
}
