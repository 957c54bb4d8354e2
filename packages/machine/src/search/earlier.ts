// What was said in conversations before sessions of this machine continued them: kept beside the log and found by an
// index of its own, which folds as the log's does.
//
//   AD31 A search costs what it finds, not what there is: the index is asked, and the texts that are read are bounded.
//
// A row's key is its agent's number and its place in the transcript, so an agent is a range of the index. Both ends of
// it must reach FTS5 as integers, or it walks the whole index; hence the casts.

import { fold, snippetAround } from "@lichen/runtime";
import { cut } from "@lichen/wire";
import * as z from "zod";
import type { MachineDb } from "../machine-db.ts";
import {
  type TranscriptHarness,
  transcriptHarnesses,
  type Turn,
} from "../conversations/transcript.ts";

export const earlierTables: readonly string[] = [
  `create table if not exists earlier_of (
    num integer primary key, agent text not null unique, harness text not null, file text not null,
    bytes integer not null, done integer not null, count integer not null) strict`,
  `create table if not exists earlier_turn (
    key integer primary key, time text not null, role text not null, text text not null) strict`,
  `create virtual table if not exists earlier_index using fts5(
    text, content='', contentless_delete=1, tokenize='trigram remove_diacritics 1')`,
];

/** A turn that was found, as clients of the machine API know it. */
export interface FoundTurn {
  /** 0: it has no event. */
  readonly seq: 0;
  readonly time: string;
  readonly role: Turn["role"];
  readonly snippet: string;
  /** Whole, up to 16 KiB of it. */
  readonly text: string;
}

/** The first `bytes` of a transcript. */
export interface Earlier {
  readonly harness: TranscriptHarness;
  readonly file: string;
  readonly bytes: number;
}

/** A transcript that is not imported yet. */
const Open = z.object({
  agent: z.string(),
  harness: z.enum(transcriptHarnesses),
  file: z.string(),
  bytes: z.number(),
  /** Bytes of it that are imported. */
  done: z.number(),
});
export type Open = z.infer<typeof Open>;

interface Row {
  readonly key: number;
  readonly time: string;
  readonly role: Turn["role"];
  readonly text: string;
}

const agentKeys = 2 ** 32;
const keptUnits = 262_144;
const shownUnits = 16_384;
const scanRows = 20_000;
const scanUnits = 1_048_576;
const answerUnits = 16_777_216;
const dropRows = 500;

export class EarlierTurns {
  readonly #file: MachineDb;

  constructor(file: MachineDb) {
    this.#file = file;
  }

  /** Says that a transcript is to be imported; no second time for the same agent. */
  begin(agent: string, { harness, file, bytes }: Earlier): void {
    this.#file.change(() =>
      this.#run(
        "insert or ignore into earlier_of (agent, harness, file, bytes, done, count) values (?, ?, ?, ?, 0, 0)",
        agent,
        harness,
        file,
        bytes,
      ),
    );
  }

  /** What is left to import, one transcript each. */
  open(): Open[] {
    return this.#all(
      "select agent, harness, file, bytes, done from earlier_of where done < bytes order by num",
    ).map((row) => Open.parse(row));
  }

  agents(): string[] {
    return this.#all("select agent from earlier_of").map(({ agent }) => String(agent));
  }

  /** Adds turns, oldest first, and says how far the transcript is imported now. */
  add(agent: string, turns: readonly Turn[], done: number): void {
    this.#file.change(() => {
      const of = this.#of(agent);
      if (!of) return;
      let key = of.num * agentKeys + of.count;
      for (const { role, time, text } of turns) {
        const kept = cut(text, keptUnits);
        key++;
        this.#run("insert into earlier_turn values (?, ?, ?, ?)", key, time, role, kept);
        this.#run(
          "insert into earlier_index (rowid, text) values (cast(? as integer), ?)",
          key,
          fold(kept),
        );
      }
      this.#run(
        "update earlier_of set done = ?, count = count + ? where num = ?",
        done,
        turns.length,
        of.num,
      );
    });
  }

  /** The newest turns of the agent's transcript that contain `q`, newest first. */
  search(agent: string, q: string, limit: number): FoundTurn[] {
    const wanted = fold(q);
    if (wanted === "" || limit <= 0) return [];
    return this.#file.look(() => {
      const of = this.#of(agent);
      if (!of) return [];
      const first = of.num * agentKeys;
      const last = first + of.count;
      return /^.{3}/su.test(wanted)
        ? this.#lookUp(wanted, first, last, limit)
        : this.#scan(wanted, first, last, limit);
    });
  }

  #lookUp(wanted: string, first: number, last: number, limit: number): FoundTurn[] {
    const phrase = `"${wanted.replaceAll('"', '""')}"`;
    const found: FoundTurn[] = [];
    let units = answerUnits;
    for (let before = last; found.length < limit && units > 0;) {
      const missing = limit - found.length;
      const hits = this.#all(
        `select rowid from earlier_index where earlier_index match ? and rowid >= cast(? as integer)
         and rowid <= cast(? as integer) order by rowid desc limit ?`,
        phrase,
        first,
        before,
        missing,
      );
      for (const { rowid } of hits) {
        before = Number(rowid) - 1;
        for (const row of this.#rows("where key = ?", Number(rowid))) {
          addIfContained(found, row, wanted);
          units -= row.text.length;
        }
      }
      if (hits.length < missing) break;
    }
    return found;
  }

  /** A query of one or two characters has no trigram: the newest turns are looked through. */
  #scan(wanted: string, first: number, last: number, limit: number): FoundTurn[] {
    const found: FoundTurn[] = [];
    let units = scanUnits;
    let before = last + 1;
    for (let seen = 0; seen < scanRows && units > 0; seen += 100) {
      const rows = this.#rows(
        "where key >= ? and key < ? order by key desc limit 100",
        first,
        before,
      );
      for (const row of rows) {
        before = row.key;
        addIfContained(found, row, wanted);
        units -= row.text.length;
        if (found.length === limit || units <= 0) return found;
      }
      if (rows.length < 100) break;
    }
    return found;
  }

  /** One slice of forgetting an agent's; whether more is left. */
  dropSlice(agent: string): boolean {
    return this.#file.change(() => {
      const of = this.#of(agent);
      if (!of) return false;
      const first = of.num * agentKeys;
      const rows = this.#all(
        "select key from earlier_turn where key >= ? and key <= ? limit ?",
        first,
        first + of.count,
        dropRows,
      );
      for (const { key } of rows) {
        this.#run("delete from earlier_index where rowid = cast(? as integer)", Number(key));
        this.#run("delete from earlier_turn where key = ?", Number(key));
      }
      if (rows.length === dropRows) return true;
      this.#run("delete from earlier_of where num = ?", of.num);
      return false;
    });
  }

  #of(agent: string): { readonly num: number; readonly count: number } | undefined {
    const [row] = this.#all("select num, count from earlier_of where agent = ?", agent);
    return row && { num: Number(row["num"]), count: Number(row["count"]) };
  }

  #rows(where: string, ...values: (string | number)[]): Row[] {
    return this.#all(`select key, time, role, text from earlier_turn ${where}`, ...values).map(
      (row) => ({
        key: Number(row["key"]),
        time: String(row["time"]),
        role: row["role"] === "user" ? "user" : "assistant",
        text: String(row["text"]),
      }),
    );
  }

  #all(sql: string, ...values: (string | number)[]) {
    return this.#file.db.prepare(sql).all(...values);
  }

  #run(sql: string, ...values: (string | number)[]): void {
    this.#file.db.prepare(sql).run(...values);
  }
}

function addIfContained(found: FoundTurn[], { time, role, text }: Row, wanted: string): void {
  const snippet = snippetAround(text, wanted);
  if (snippet === undefined) return;
  found.push({ seq: 0, time, role, snippet, text: cut(text, shownUnits) });
}
