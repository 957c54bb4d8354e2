// The programs of one session as its entries tell of them: each, and the calls that it made.
//
//   A program's snapshot is not copied: it only saves time, and bytes that are not its own must never be restored. The
//   program replays from its start, with the outcomes on record.

import type { EntryData, EntryOf } from "@lichen/wire";
import { interruptedProgramCall } from "../../../run/program-end.ts";
import {
  insertProgram,
  insertProgramCall,
  type ProgramCallRow,
} from "../../../run/program-table.ts";
import type { Sql } from "../../../store/sql.ts";

interface RebuiltProgram {
  readonly assistant: number;
  readonly position: number;
  readonly command: number;
  readonly started: number;
}

type RebuiltCall = Omit<ProgramCallRow, "cid" | "outcome"> & {
  readonly command: number;
  readonly data: EntryData["program.call"] | undefined;
  outcome: number | null;
};

/** Where an entry of a program stands: its row key, its command, and the row key of the program's assistant message. */
interface Standing {
  readonly eid: number;
  readonly command: number;
  readonly assistant: number;
}

export class RebuiltPrograms {
  readonly #programs = new Map<string, RebuiltProgram>();
  readonly #calls = new Map<string, RebuiltCall>();

  take(
    { eid, command, assistant }: Standing,
    entry: EntryOf<"program.started"> | EntryOf<"program.call"> | EntryOf<"program.outcome">,
  ): void {
    const position = entry.data.index;
    const name = `${assistant} ${position}`;
    switch (entry.kind) {
      case "program.started":
        this.#programs.set(name, { assistant, position, command, started: eid });
        break;
      case "program.call": {
        const { ordinal, operation, digest, label, replaySafe } = entry.data;
        this.#calls.set(`${name} ${ordinal}`, {
          ...{ assistant, position, ordinal, command, operation, digest, label },
          ...{ replay_safe: replaySafe ? 1 : 0, started: eid, outcome: null, data: entry.data },
        });
        break;
      }
      case "program.outcome": {
        const { ordinal, operation, digest = "" } = entry.data;
        const known = this.#calls.get(`${name} ${ordinal}`);
        if (known) known.outcome = eid;
        else
          this.#calls.set(`${name} ${ordinal}`, {
            ...{ assistant, position, ordinal, command, operation, digest, label: "read" },
            ...{ replay_safe: 1, started: null, outcome: eid, data: undefined },
          });
      }
    }
  }

  /** How the calls end that a command's programs left open. */
  interrupted(command: number): EntryData["program.outcome"][] {
    return [...this.#calls.values()].flatMap((call) =>
      call.command === command && call.outcome === null && call.data
        ? [interruptedProgramCall(call.data)]
        : [],
    );
  }

  write(sql: Sql, cidOf: (command: number) => number): void {
    for (const { command, ...program } of this.#programs.values())
      insertProgram(sql, { ...program, cid: cidOf(command) });
    for (const { command, data: _data, ...call } of this.#calls.values())
      insertProgramCall(sql, { ...call, cid: cidOf(command) });
  }
}
