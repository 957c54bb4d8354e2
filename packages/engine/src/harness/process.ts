// What a driver holds of its harness's process, and how one is started: the same for every coding agent.

import type { EntryData, Json } from "@lichen/wire";
import type { HarnessOptions } from "./port.ts";

export interface LaunchRequest extends Pick<HarnessOptions, "dir" | "env" | "wall"> {
  /** The program and all of its arguments. */
  readonly argv: readonly string[];
  /** Marks what the harness starts, in its environment: the same for all processes of one session, and no other's. */
  readonly mark: string;
  /** Makes the process group durable. The harness begins only after that; where it rejects, it never does. */
  recorded(group: EntryData["harness.process"]): Promise<void>;
  /** One line that the harness wrote, in order. */
  line(value: Json): void;
  /**
   * Settles when what was handed on so far is taken in. While it is not, no more than a few MiB are read ahead, and the
   * harness waits to write.
   */
  taken?(): Promise<unknown>;
  /** What is worth telling the host's operator: a line that was refused, noise on stdout. Never a secret. */
  report(error: unknown): void;
}

/** How a process ended. */
export interface ProcessEnding {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A harness's process that has begun. */
export interface HarnessProcess {
  readonly group: EntryData["harness.process"];
  /** Settles when the process is gone with all it started, and its last line was handed on. Never rejects. */
  readonly ended: Promise<ProcessEnding>;
  /**
   * Writes one value as a line; settles when the system took it, rejects (`unavailable`) where the process listens no
   * more. Call it only when what the line follows from is durable.
   */
  write(line: Json): Promise<void>;
  /** Closes its input: it may finish what it has in hand, and ends. */
  closeInput(): void;
  /** Closes its input and lets it put its things away; kills what is still there after `patienceMs`. */
  finish(patienceMs: number): Promise<void>;
  /** Kills the group at once; settles with `ended`. */
  kill(): Promise<void>;
  /** The last 64 KiB that it wrote to stderr, as they are: never show them unread (see `last-words.ts`). */
  stderr(): string;
  /** Calls `heard` with each whole line of stderr, from now on. */
  onStderr(heard: (line: string) => void): void;
}

/** Starts and ends processes: the part of a host that the supervisor needs. */
export interface ProcessHost {
  launch(request: LaunchRequest): Promise<HarnessProcess>;
  /** Ends a group that an earlier process recorded, with all that carries the mark; settles when it is gone. */
  endGroup(group: EntryData["harness.process"], mark: string): Promise<void>;
}
