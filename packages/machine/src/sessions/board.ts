// How one session stands now, in memory: folded from its log as it grows, so that whoever lists sessions waits for nobody.

import type { Frame, Session, Subscription } from "@lichen/runtime";
import {
  type Approval,
  approvalOf,
  type Entry,
  Fault,
  known,
  projectSession,
  type SessionInfo,
} from "@lichen/wire";
import type { LineReading } from "../harnesses/harness.ts";
import { firstGlance, type Glance, glanceAfter, type Reading } from "./glance.ts";

/** Events that the first glance is made from. */
const firstEvents = 200;
const rememberedIds = 1_000;

/** A prompt that waits for a person. */
export type Waiting = Pick<Approval, "approvalId" | "prompt" | "kind" | "tool">;

export interface BoardOptions {
  readonly session: Session;
  readonly lines: LineReading;
  readonly report: (error: unknown) => void;
  /** The session was deleted. */
  readonly deleted: () => void;
}

export class Board {
  readonly #reading: Reading;
  readonly #report: (error: unknown) => void;
  readonly #waiting = new Map<string, Waiting>();
  /** Ids of prompts that were decided lately, ours and the harness's. */
  readonly #decided = new Set<string>();
  readonly #asked = new Set<() => void>();
  #info: SessionInfo;
  #running: string | undefined;
  #glance: Glance;
  /** Glances are taken one after the other. */
  #looking: Promise<void> = Promise.resolve();
  #subscription: Subscription | undefined;

  /** Reads the session's newest events, and follows it from there. */
  static async open(options: BoardOptions): Promise<Board> {
    const { session } = options;
    const { session: info, running, approvals, epoch, head } = await session.read({ limit: 1 });
    const board = new Board(options, info);
    board.#running = running?.commandId;
    for (const approval of approvals) board.#waiting.set(approval.approvalId, approval);
    const after = Math.max((info.events ?? 0) - firstEvents, 0);
    for (let from = after; from < (info.events ?? 0);) {
      const page = await session.events({ after: from, limit: firstEvents });
      if (page.events.length === 0) break;
      for (const { n, entry } of page.events) {
        from = n;
        if (entry.seq <= head) board.#look(entry);
      }
    }
    board.#subscription = session.observe(
      {
        frame: (frame) => board.#take(frame),
        end: (reason) => reason === "deleted" && options.deleted(),
      },
      { after: `${epoch}.${head}` },
    );
    await board.#looking;
    return board;
  }

  private constructor({ session, lines, report }: BoardOptions, info: SessionInfo) {
    this.#reading = {
      lines,
      read: (sha256, part) => session.blobPart(sha256, part),
    };
    this.#report = report;
    this.#info = info;
    this.#glance = firstGlance(info.createdAt);
  }

  get info(): SessionInfo {
    return this.#info;
  }

  get glance(): Glance {
    return this.#glance;
  }

  /** Prompts that wait for a person, oldest first. */
  get waiting(): readonly Waiting[] {
    return [...this.#waiting.values()];
  }

  /**
   * The prompt that waits under this id: ours, or the harness's own. A harness's question is told before it can be
   * answered: one that is not known yet is waited for until `after` calls back, as long as something runs.
   */
  async waitingFor(
    id: string,
    after: (wake: () => void) => () => void,
  ): Promise<Waiting | undefined> {
    let isLate = false;
    const asked = Promise.withResolvers<void>();
    const wake = (): void => {
      if (this.#find(id) || this.#decided.has(id) || this.#running === undefined) asked.resolve();
    };
    const cancel = after(() => {
      isLate = true;
      asked.resolve();
    });
    this.#asked.add(wake);
    wake();
    if (!isLate) await asked.promise;
    cancel();
    this.#asked.delete(wake);
    return this.#find(id);
  }

  #find(id: string): Waiting | undefined {
    return this.#waiting.get(id) ?? this.waiting.find((it) => it.prompt === id);
  }

  close(): void {
    this.#subscription?.close();
  }

  #take(frame: Frame): boolean {
    if (frame.type === "entry") this.#fold(frame.data, frame.n !== undefined);
    if (frame.type === "reset" || frame.type === "baseline") {
      const { session, running, approvals, entries } = frame.data;
      this.#info = session;
      this.#running = running?.commandId;
      this.#waiting.clear();
      for (const approval of approvals) this.#waiting.set(approval.approvalId, approval);
      for (const entry of entries) this.#look(entry);
    }
    return true;
  }

  #fold(recorded: Entry, isEvent: boolean): void {
    this.#info = projectSession(this.#info, recorded);
    if (isEvent) this.#look(recorded);
    const entry = known(recorded);
    if (entry?.kind === "run.started") this.#running = entry.commandId;
    if (entry?.kind === "run.settled" && this.#running === entry.commandId)
      this.#running = undefined;
    if (entry?.kind === "approval.asked")
      this.#waiting.set(entry.data.approvalId, approvalOf(entry));
    if (
      entry?.kind === "approval.answered" ||
      entry?.kind === "approval.withdrawn" ||
      entry?.kind === "approval.expired"
    )
      this.#decide(entry.data.approvalId);
    for (const wake of this.#asked) wake();
  }

  #decide(approvalId: string): void {
    const { prompt } = this.#waiting.get(approvalId) ?? {};
    this.#waiting.delete(approvalId);
    this.#decided.add(approvalId);
    if (prompt !== undefined) this.#decided.add(prompt);
    for (const id of this.#decided)
      if (this.#decided.size > rememberedIds) this.#decided.delete(id);
      else break;
  }

  #look(entry: Entry): void {
    this.#looking = this.#looking.then(async () => {
      try {
        this.#glance = await glanceAfter(this.#glance, entry, this.#reading);
      } catch (error) {
        // A session that is deleted meanwhile has nothing to look at.
        if (!Fault.is(error)) this.#report(error);
      }
    });
  }
}
