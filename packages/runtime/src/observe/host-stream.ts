// The host's stream: the directory of sessions and what each is about, for readers who follow them all.
//
// Its cursor counts changes of this opening of the store; sessions that changed are kept by their newest state, so a
// reader that comes back is told each of them once.
//
//   O10  A reader that comes back with a cursor of this opening gets every session that changed since, or a reset.

import type { SurfaceEvent } from "@lichen/capability";
import type { SessionInfo } from "@lichen/wire";
import type { HostBaseline, HostFrame, Sink, Subscription } from "../api.ts";
import type { SessionRow } from "../log/session-row.ts";
import { cursorOf, parseCursor } from "./watcher.ts";

const kept = 1_000;

interface Change {
  readonly at: number;
  readonly frame: HostFrame;
}

export class HostStream {
  readonly #epoch: string;
  readonly #baseline: () => HostBaseline;
  readonly #durable: () => Promise<void> | undefined;
  readonly report: (error: unknown) => void;
  readonly #readers = new Set<HostReader>();
  /** Newest change of each session, and of each agent's capabilities, oldest first. */
  readonly #changes = new Map<number, Change>();
  #count = 0;
  /** Changes up to here were forgotten. */
  #forgotten = 0;

  /** `durable` settles when what can be read now is durable; undefined where it is. */
  constructor(
    epoch: string,
    baseline: () => HostBaseline,
    durable: () => Promise<void> | undefined,
    report: (error: unknown) => void,
  ) {
    this.#epoch = epoch;
    this.#baseline = baseline;
    this.#durable = durable;
    this.report = report;
  }

  changed(row: SessionRow): void {
    this.#tell(row.sid, (id) => ({ type: "session", id, data: row.info }));
  }

  created(sid: number, info: SessionInfo): void {
    this.#tell(sid, (id) => ({ type: "session", id, data: info }));
  }

  deleted(sid: number, agent: string, session: string): void {
    this.#tell(sid, (id) => ({ type: "deleted", id, data: { agent, session } }));
  }

  /** What an agent may call has changed. */
  capabilities(aid: number, agent: string, { revision, notices }: SurfaceEvent): void {
    const data = {
      ...{ agent, revision },
      notices: notices.map(({ from, to, message }) => ({ from, to, message })),
    };
    // Agents and sessions are numbered apart.
    this.#tell(-aid, (id) => ({ type: "capabilities", id, data }));
  }

  #tell(key: number, make: (id: string) => HostFrame): void {
    const at = ++this.#count;
    const frame = make(cursorOf(this.#epoch, at));
    this.#changes.delete(key);
    this.#changes.set(key, { at, frame });
    if (this.#changes.size > kept) {
      const [oldest, change] = this.#changes.entries().next().value!;
      this.#changes.delete(oldest);
      this.#forgotten = change.at;
    }
    for (const reader of this.#readers) reader.change(frame);
  }

  observe(sink: Sink<HostFrame>, after: string | undefined): Subscription {
    const reader = new HostReader(sink, this, () => this.#readers.delete(reader));
    this.#readers.add(reader);
    const cursor = after === undefined ? undefined : parseCursor(after);
    const isKnown =
      cursor?.epoch === this.#epoch && cursor.seq <= this.#count && cursor.seq >= this.#forgotten;
    if (isKnown) reader.catchUp(cursor.seq);
    else reader.rebase(after === undefined ? "baseline" : "reset");
    return reader;
  }

  /** Frames after a position, or undefined where some were forgotten. */
  since(position: number): HostFrame[] | undefined {
    if (position < this.#forgotten) return undefined;
    return [...this.#changes.values()].filter((it) => it.at > position).map((it) => it.frame);
  }

  baselineFrame(type: "baseline" | "reset"): { frame: HostFrame; position: number } {
    const position = this.#count;
    return {
      position,
      frame: { type, id: cursorOf(this.#epoch, position), data: this.#baseline() },
    };
  }

  durable(): Promise<void> | undefined {
    return this.#durable();
  }

  get position(): number {
    return this.#count;
  }

  close(): void {
    for (const reader of this.#readers) reader.end();
    this.#readers.clear();
  }
}

class HostReader implements Subscription {
  readonly #sink: Sink<HostFrame>;
  readonly #stream: HostStream;
  readonly #leave: () => void;
  #position = 0;
  #isBehind = false;
  #isStarting = false;
  #isClosed = false;

  constructor(sink: Sink<HostFrame>, stream: HostStream, leave: () => void) {
    this.#sink = sink;
    this.#stream = stream;
    this.#leave = leave;
  }

  change(frame: HostFrame): void {
    if (this.#isClosed || this.#isBehind) return;
    this.#position = this.#stream.position;
    this.#isBehind = !this.#give(frame);
  }

  /** A sink that throws is left: it must not keep the others from their frames. */
  #give(frame: HostFrame): boolean {
    if (this.#isClosed) return false;
    try {
      return this.#sink.frame(frame);
    } catch (error) {
      this.close();
      this.#stream.report(error);
      return false;
    }
  }

  catchUp(position: number): void {
    const frames = this.#stream.since(position);
    if (!frames) {
      this.rebase("reset");
      return;
    }
    this.#isBehind = false;
    this.#position = position;
    for (const frame of frames) {
      this.#position = parseCursor(frame.id)!.seq;
      if (!this.#give(frame)) {
        this.#isBehind = true;
        return;
      }
    }
    this.#position = this.#stream.position;
  }

  rebase(type: "baseline" | "reset"): void {
    const { frame, position } = this.#stream.baselineFrame(type);
    const deliver = (): void => {
      this.#isStarting = false;
      if (this.#isClosed) return;
      this.#position = position;
      this.#isBehind = !this.#give(frame);
      if (!this.#isBehind) this.catchUp(position);
    };
    this.#isBehind = true;
    this.#isStarting = true;
    const pending = this.#stream.durable();
    // A sync that fails ends the process: there is nobody left to tell.
    if (pending) void pending.then(deliver, () => this.end());
    else deliver();
  }

  resume(): void {
    if (this.#isBehind && !this.#isClosed && !this.#isStarting) this.catchUp(this.#position);
  }

  end(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sink.end("closed");
  }

  close(): void {
    this.#isClosed = true;
    this.#leave();
  }
}
