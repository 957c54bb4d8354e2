// The sessions of one agent as the host tells of them: which run, which ask, which have something unread.

import type { Client } from "@lichen/client";
import { Fault, type SessionInfo } from "@lichen/wire";
import type { Seen } from "./seen.ts";

export class Directory {
  readonly #agent: string;
  readonly #seen: Seen;
  readonly #changed: () => void;
  readonly #end = new AbortController();
  readonly #sessions = new Map<string, SessionInfo>();
  readonly ended: Promise<void>;

  constructor(client: Client, agent: string, seen: Seen, changed: () => void) {
    this.#agent = agent;
    this.#seen = seen;
    this.#changed = changed;
    this.ended = this.#follow(client);
  }

  /** What is known of a session, as far as the host has told. */
  get(session: string): SessionInfo | undefined {
    return this.#sessions.get(session);
  }

  isUnread(info: SessionInfo): boolean {
    return this.#seen.isUnread(info);
  }

  /** How many sessions beside `shown` have something new, and how many wait for a person. */
  elsewhere(shown: string): { unread: number; asking: number } {
    let unread = 0;
    let asking = 0;
    for (const info of this.#sessions.values()) {
      if (info.session === shown) continue;
      if (info.approvals > 0) asking++;
      else if (this.#seen.isUnread(info)) unread++;
    }
    return { unread, asking };
  }

  close(): Promise<void> {
    this.#end.abort();
    return this.ended;
  }

  async #follow(client: Client): Promise<void> {
    const { signal } = this.#end;
    try {
      for await (const frame of client.watchHost({ signal })) {
        if (frame.type === "baseline" || frame.type === "reset") {
          this.#sessions.clear();
          for (const info of frame.data.sessions) this.#take(info);
        } else if (frame.type === "session") this.#take(frame.data);
        else if (frame.type === "deleted" && frame.data.agent === this.#agent)
          this.#sessions.delete(frame.data.session);
        this.#changed();
      }
    } catch (error) {
      // A host that tells of no directory still serves its sessions.
      if (!signal.aborted && !Fault.is(error)) throw error;
    }
  }

  #take(info: SessionInfo): void {
    if (info.agent === this.#agent) this.#sessions.set(info.session, info);
  }
}
