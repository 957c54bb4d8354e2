// What the host's stream tells: the directory, then each session's newest state as it changes.

import { AgentInfo, CapabilitiesChange, SessionInfo } from "@lichen/wire";
import type { HostFrame } from "../api.ts";
import { recordOf } from "../http/refusal.ts";
import type { Message } from "./connection.ts";
import { type Cursor, cursorOf } from "./cursor.ts";
import type { Reader } from "./watch.ts";

export class HostReader implements Reader<HostFrame> {
  #at: Cursor | undefined;
  #hasBegun = false;
  readonly #isResumed: boolean;

  constructor(after: string | undefined) {
    this.#at = after === undefined ? undefined : cursorOf(after);
    this.#isResumed = after !== undefined;
  }

  get cursor(): string | undefined {
    return this.#at && `${this.#at.epoch}.${this.#at.seq}`;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  read({ type, id, data }: Message): HostFrame | undefined {
    if (id === undefined) return undefined;
    const at = cursorOf(id);
    const value = recordOf(type === ":" ? undefined : JSON.parse(data)) ?? {};
    if (type === "baseline" || type === "reset") {
      const directory = {
        agents: AgentInfo.array().parse(value["agents"]),
        sessions: SessionInfo.array().parse(value["sessions"]),
      };
      const isFirst = !this.#hasBegun && !this.#isResumed;
      this.#begin(at);
      return { type: isFirst ? "baseline" : "reset", id, data: directory };
    }
    // Numbers are of changes, of which only the newest of each session is told: they rise, with gaps.
    if (this.#at?.epoch === at.epoch && at.seq <= this.#at.seq) return undefined;
    if (type === "session") {
      const info = SessionInfo.parse(value);
      this.#begin(at);
      return { type, id, data: info };
    }
    if (type === "deleted") {
      const gone = { agent: String(value["agent"]), session: String(value["session"]) };
      this.#begin(at);
      return { type, id, data: gone };
    }
    if (type === "capabilities") {
      const data = CapabilitiesChange.parse(value);
      this.#begin(at);
      return { type, id, data };
    }
    return undefined;
  }

  #begin(at: Cursor): void {
    this.#at = at;
    this.#hasBegun = true;
  }
}
