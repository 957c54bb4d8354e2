// What a fork goes on from: the conversation of the session that it was forked from, up to that point, and so on back.
// Only read: nothing is followed, and nothing can be answered there.

import { type Agent, type Item, type Session, ViewFold } from "@lichen/client";
import { type Baseline, Fault, type SessionInfo } from "@lichen/wire";

type Origin = NonNullable<SessionInfo["forkedFrom"]>;

const pageSize = 200;
/** More than any session has entries: items of a session before another one stand before all of that one's. */
const apart = 2 ** 40;
/** How far back sessions are read that were forked from one another. */
const mostGenerations = 1_000;

export class Lineage {
  readonly #agent: Agent;
  /** Where to go on once the session that is being read has no older entries. */
  #next: Origin | undefined;
  #read: { readonly session: Session; readonly fold: ViewFold } | undefined;
  #generation = 0;
  /** What later sessions of the line have to show. */
  #later: readonly Item[] = [];
  #items: readonly Item[] = [];

  constructor(agent: Agent, origin: Origin) {
    this.#agent = agent;
    this.#next = origin;
  }

  /** All that is known, oldest first, numbered below every entry of the fork. The same array until more is read. */
  get items(): readonly Item[] {
    return this.#items;
  }

  get more(): boolean {
    return this.#next !== undefined || this.#read?.fold.view?.more === true;
  }

  /** Reads one page more. Throws `unknown_session` where the session it would read was deleted: then nothing is left. */
  async loadEarlier(): Promise<void> {
    const { session, fold } = this.#read ?? {};
    if (session && fold?.view?.more) {
      const oldest = fold.entries[0]?.seq ?? 0;
      fold.earlier(await session.read({ limit: pageSize, before: oldest }));
      // A page that does not fit, of a session that was made anew, is the end.
      if (fold.view.more && (fold.entries[0]?.seq ?? 0) === oldest) this.#end();
      else this.#draw(fold);
      return;
    }
    if (this.#next) await this.#begin(this.#next);
  }

  async #begin(origin: Origin): Promise<void> {
    const session = this.#agent.session(origin.session);
    let page: Baseline;
    try {
      page = await session.read({ limit: pageSize, ...beforeOf(origin.at) });
    } catch (error) {
      if (Fault.is(error) && error.code === "unknown_session") this.#end();
      throw error;
    }
    this.#generation++;
    const before = page.session.forkedFrom;
    this.#next = this.#generation < mostGenerations ? before : undefined;
    // A fork that has said nothing itself was forked at what it was forked from.
    if (page.entries.at(-1)?.id !== origin.at) {
      this.#next &&= { session: this.#next.session, at: origin.at };
      return;
    }
    const fold = new ViewFold();
    const { running: _, ...rest } = page;
    const past = { ...rest, session: { ...page.session, leaf: origin.at }, pending: [] };
    fold.take({ type: "baseline", id: "", data: { ...past, approvals: [], attention: [] } });
    this.#read = { session, fold };
    this.#later = this.#items;
    this.#draw(fold);
  }

  #draw({ view }: ViewFold): void {
    const from = this.#generation * apart;
    const mine = view?.items.map((item) => ({ ...item, seq: item.seq - from })) ?? [];
    this.#items = [...mine, ...this.#later];
  }

  #end(): void {
    this.#next = undefined;
    this.#read = undefined;
  }
}

/** The page that ends with this entry: the number of an entry is the last part of its id. */
function beforeOf(at: string): { before?: number } {
  const seq = /_(\d{1,15})$/.exec(at)?.[1];
  return seq === undefined ? {} : { before: Number(seq) + 1 };
}
