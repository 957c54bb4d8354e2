// The hub: who is told what, once it is durable.
//
// It owns the watchers of sessions and of the host, those who wait for a settlement, and when partials are shown.
//
//   O4  Partials are coalesced per session: the first is shown at once, what came with it right after, what follows in
//       `paceMs`; none once the message it grew into is delivered.
//   T4  Whoever waits for a settlement is woken by it; the answer is read from the store, never from the hint.

import { type Entry, Fault, type Partial } from "@lichen/wire";
import type { Frame, Sink, Subscription } from "../api.ts";
import type { SessionRow } from "../log/session-row.ts";
import { numbered } from "./numbered.ts";
import { paceMs } from "./pace.ts";
import type { Ground } from "../store/ground.ts";
import { eidOf, parseId } from "../store/keys.ts";
import { HostStream } from "./host-stream.ts";
import { cursorOf, type EntryFrame, Watcher, type WatchSource } from "./watcher.ts";

const watchersPerSession = 10_000;

export class Hub {
  readonly host: HostStream;
  readonly #ground: Ground;
  readonly #partialOf: (sid: number) => Frame | undefined;
  readonly #watchers = new Map<number, Set<Watcher>>();
  readonly #settlements = new Map<number, Set<() => void>>();
  readonly #partialTimers = new Map<number, () => void>();
  #isClosed = false;

  constructor(ground: Ground, host: HostStream, partialOf: (sid: number) => Frame | undefined) {
    this.#ground = ground;
    this.host = host;
    this.#partialOf = partialOf;
  }

  /** Tells everyone of entries that are durable now. */
  publish(row: SessionRow, entries: readonly Entry[]): void {
    for (const entry of entries) if (entry.kind === "run.settled") this.#settled(row, entry);
    const watchers = this.#watchers.get(row.sid);
    if (watchers) {
      const frames = numbered(row.info, entries).map((entry): EntryFrame => ({
        type: "entry",
        id: cursorOf(row.epoch, entry.data.seq),
        ...entry,
      }));
      for (const watcher of watchers) watcher.entries(frames);
    }
    this.host.changed(row);
  }

  #settled(row: SessionRow, entry: Entry): void {
    const parsed = entry.commandId === undefined ? undefined : parseId("cmd", entry.commandId);
    if (!parsed) return;
    for (const wake of this.#settlements.get(eidOf(row.sid, parsed.seq)) ?? []) wake();
  }

  /** Registers first; the first frames follow once what they show is durable. */
  watch(
    sid: number,
    sink: Sink<Frame>,
    source: Omit<WatchSource, "partial" | "durable" | "report">,
    after: string | undefined,
  ): Subscription {
    if (this.#isClosed) throw new Fault("unavailable", "The host is stopping: connect again soon.");
    let set = this.#watchers.get(sid);
    if (!set) this.#watchers.set(sid, (set = new Set()));
    if (set.size >= watchersPerSession)
      throw new Fault("capacity", `${watchersPerSession} readers watch this session: try later.`);
    const whole: WatchSource = {
      ...source,
      partial: () => this.#partialOf(sid),
      durable: () => this.#ground.writer.pending(sid),
      report: (error) => this.#ground.platform.report(error),
    };
    const watcher = new Watcher(sink, whole, () => this.#unwatch(sid, watcher));
    set.add(watcher);
    watcher.begin(after);
    return watcher;
  }

  #unwatch(sid: number, watcher: Watcher): void {
    const set = this.#watchers.get(sid);
    set?.delete(watcher);
    if (set?.size === 0) this.#watchers.delete(sid);
  }

  /** Something streams in a session; its watchers see the newest state of it soon. */
  partialChanged(sid: number): void {
    if (!this.#watchers.has(sid) || this.#partialTimers.has(sid)) return;
    const shown = this.#showPartial(sid);
    // One chunk of what an engine reads often holds several pieces.
    let isCancelled = false;
    this.#partialTimers.set(sid, () => (isCancelled = true));
    this.#ground.platform.soon(() => {
      if (isCancelled) return;
      const now = this.#partialOf(sid);
      if (now && !sameData(now, shown)) this.#showPartial(sid);
      this.#armPartial(sid);
    });
  }

  #armPartial(sid: number): void {
    const shown = this.#partialOf(sid);
    const cancel = this.#ground.platform.after(this.#paceOf(sid, shown), () => {
      this.#partialTimers.delete(sid);
      const now = this.#partialOf(sid);
      if (now === undefined || sameData(now, shown)) return;
      this.#showPartial(sid);
      this.#armPartial(sid);
    });
    this.#partialTimers.set(sid, cancel);
  }

  #paceOf(sid: number, shown: Frame | undefined): number {
    return paceMs({
      sessions: this.#partialTimers.size,
      readers: this.#watchers.get(sid)?.size ?? 0,
      characters: shown?.type === "partial" ? charactersOf(shown.data) : 0,
    });
  }

  #showPartial(sid: number): Frame | undefined {
    const frame = this.#partialOf(sid);
    if (frame) for (const watcher of this.#watchers.get(sid) ?? []) watcher.partial(frame);
    return frame;
  }

  /** Settles when the command settles, the deadline passes or the signal aborts: read again then. */
  async settlementHint(cid: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const hint = Promise.withResolvers<void>();
    let set = this.#settlements.get(cid);
    if (!set) this.#settlements.set(cid, (set = new Set()));
    const wake = (): void => hint.resolve();
    set.add(wake);
    const cancel = this.#ground.platform.after(timeoutMs, wake);
    signal?.addEventListener("abort", wake);
    if (signal?.aborted || this.#isClosed) wake();
    await hint.promise;
    cancel();
    signal?.removeEventListener("abort", wake);
    set.delete(wake);
    if (set.size === 0 && this.#settlements.get(cid) === set) this.#settlements.delete(cid);
  }

  /** A session was deleted: its watches end. */
  deleted(sid: number, agent: string, session: string): void {
    for (const watcher of this.#watchers.get(sid) ?? []) watcher.end("deleted");
    this.#watchers.delete(sid);
    this.#partialTimers.get(sid)?.();
    this.#partialTimers.delete(sid);
    this.host.deleted(sid, agent, session);
  }

  close(): void {
    this.#isClosed = true;
    for (const cancel of this.#partialTimers.values()) cancel();
    this.#partialTimers.clear();
    for (const set of this.#watchers.values()) for (const watcher of set) watcher.end("closed");
    this.#watchers.clear();
    for (const set of this.#settlements.values()) for (const wake of set) wake();
    this.host.close();
  }
}

function charactersOf({ text = "", thinking = "", tool }: Partial): number {
  return text.length + thinking.length + (tool?.output?.length ?? 0);
}

function sameData(a: Frame, b: Frame | undefined): boolean {
  return a.data === b?.data;
}
