import { expect, test } from "vitest";
import { putBlob } from "../src/log/blob.ts";
import { dropSession, indexSlice, search, touchSearch } from "../src/log/search.ts";
import { eidOf } from "../src/store/keys.ts";
import { openSchema } from "../src/store/schema.ts";
import type { Sql } from "../src/store/sql.ts";
import type { WithSql } from "./sql.contract.ts";

const at = Date.UTC(2026, 0, 2, 3, 4, 5);

function append(sql: Sql, sid: number, seq: number, kind: string, data: unknown): void {
  sql.run(
    "insert into entry (eid, at, kind, data) values (?, ?, ?, ?)",
    eidOf(sid, seq),
    at,
    kind,
    JSON.stringify(data),
  );
  touchSearch(sql, sid);
}

const say = (sql: Sql, sid: number, seq: number, text: unknown): void =>
  append(sql, sid, seq, "message.user", { text });
const seqs = (sql: Sql, sid: number, q: string, limit = 200): number[] =>
  search(sql, sid, q, limit).map((found) => found.seq);
const indexAll = (sql: Sql): void => {
  while (indexSlice(sql));
};

/** What search promises on any host. */
export function searchContract(host: string, withSql: WithSql): void {
  const check = (name: string, body: (sql: Sql) => void): void =>
    test(`${name} (${host})`, () =>
      withSql((sql) => {
        openSchema(sql);
        body(sql);
      }));

  /** The same before and after indexing: the tail is scanned. */
  const bothWays = (sql: Sql, expectation: () => void): void => {
    expectation();
    indexAll(sql);
    expect(sql.all("select * from search_dirty")).toEqual([]);
    expectation();
  };

  check(
    "[S17] a message is found by any part of it, newest first, with who said it and when",
    (sql) => {
      say(sql, 1, 1, "please restart the build server");
      append(sql, 1, 2, "message.assistant", {
        content: [
          { type: "thinking", text: "restart? hidden thought" },
          { type: "text", text: "I RESTARTED it" },
          { type: "call", index: 0, callId: "c", name: "bash", input: { command: "restart" } },
        ],
      });
      append(sql, 1, 3, "message.tool", { content: [{ type: "text", text: "restarted: ok" }] });
      append(sql, 1, 4, "line", { text: "it restarts often" });
      append(sql, 1, 5, "run.settled", { answer: "restart" });
      bothWays(sql, () => {
        expect(search(sql, 1, "restart", 200).map(({ seq, role }) => [seq, role])).toEqual([
          [4, "line"],
          [3, "tool"],
          [2, "assistant"],
          [1, "user"],
        ]);
        expect(search(sql, 1, "build serv", 10)).toEqual([
          {
            seq: 1,
            at: "2026-01-02T03:04:05.000Z",
            role: "user",
            snippet: "please restart the build server",
          },
        ]);
        expect(seqs(sql, 1, "start", 2)).toEqual([4, 3]);
        expect(seqs(sql, 1, "hidden thought")).toEqual([]);
        expect(seqs(sql, 1, "never said")).toEqual([]);
        expect(seqs(sql, 1, "")).toEqual([]);
      });
    },
  );

  check(
    "[S17] case, accents and the composition of characters do not matter, in any script",
    (sql) => {
      say(sql, 1, 1, "Zoë isst im Café");
      say(sql, 1, 2, "Zoe\u0308 isst im Cafe\u0301");
      say(sql, 1, 3, "東京都の天気は晴れ");
      say(sql, 1, 4, "ΟΔΥΣΣΕΥΣ went home");
      say(sql, 1, 5, "한국어 문장입니다".normalize("NFD"));
      say(sql, 1, 6, "smile 😀😁😂 end");
      say(sql, 1, 7, "İSTANBUL");
      bothWays(sql, () => {
        for (const q of ["zoe isst", "ZOË", "Zoe\u0308 ISST", "cafe", "café"])
          expect(seqs(sql, 1, q)).toEqual([2, 1]);
        expect(seqs(sql, 1, "京都の天")).toEqual([3]);
        expect(seqs(sql, 1, "οδυσσευς")).toEqual([4]);
        expect(seqs(sql, 1, "σευσ")).toEqual([4]);
        expect(seqs(sql, 1, "국어 문")).toEqual([5]);
        expect(seqs(sql, 1, "😀😁😂")).toEqual([6]);
        expect(seqs(sql, 1, "istanbul")).toEqual([7]);
      });
    },
  );

  check(
    "[S17] what the index's language would read as an operator is text, also quotes, NUL and half characters",
    (sql) => {
      say(sql, 1, 1, 'he said "a OR b" AND left* (col:x) -y ^z');
      say(sql, 1, 2, "before\u0000after");
      say(sql, 1, 3, "half \ud83d of it");
      say(sql, 1, 4, "100% of_it \\ done");
      bothWays(sql, () => {
        for (const q of ['"a OR b"', 'b" AND', "left*", "(col:x)", " -y ^z"])
          expect(seqs(sql, 1, q)).toEqual([1]);
        expect(seqs(sql, 1, "after")).toEqual([2]);
        expect(seqs(sql, 1, "re\u0000af")).toEqual([2]);
        expect(seqs(sql, 1, "half \ud83d of")).toEqual([3]);
        expect(seqs(sql, 1, "100%")).toEqual([4]);
        expect(seqs(sql, 1, "10_%")).toEqual([]);
      });
    },
  );

  check(
    "[S17] one and two characters are found as well, and patterns far longer than a host's LIKE takes",
    (sql) => {
      const long = "a very long sentence ".repeat(20);
      say(sql, 1, 1, "日本");
      say(sql, 1, 2, `x ${long} y`);
      bothWays(sql, () => {
        expect(seqs(sql, 1, "日本")).toEqual([1]);
        expect(seqs(sql, 1, "本")).toEqual([1]);
        expect(seqs(sql, 1, "Y")).toEqual([2]);
        expect(seqs(sql, 1, long)).toEqual([2]);
      });
    },
  );

  check("[S17] a session finds nothing of its neighbours", (sql) => {
    for (const sid of [1, 2, 3])
      for (let seq = 1; seq <= 5; seq++) say(sql, sid, seq, `common words of ${sid}`);
    bothWays(sql, () => {
      expect(search(sql, 2, "common", 200).map((it) => it.snippet)).toEqual(
        Array(5).fill("common words of 2"),
      );
      expect(seqs(sql, 4, "common")).toEqual([]);
    });
  });

  check(
    "[S17] a snippet shows what stands around the hit, whole characters only, and says where it is cut",
    (sql) => {
      const filler = "😀 filler ".repeat(40);
      say(sql, 1, 1, `${filler}Needle\n\n in   the hay ${filler}`);
      say(sql, 1, 2, `${filler.repeat(30)}${"e\u0301 ".repeat(900)}Nadel im Heu ${filler}`);
      bothWays(sql, () => {
        for (const [q, shown] of [
          ["needle", "Needle in the hay"],
          ["nadel", "Nadel im Heu"],
        ] as const) {
          const [{ snippet } = { snippet: "" }] = search(sql, 1, q, 1);
          expect(snippet).toContain(shown);
          expect(snippet.isWellFormed()).toBe(true);
          expect(snippet).toMatch(/^….*…$/);
          expect(snippet.length).toBeLessThanOrEqual(162);
        }
      });
    },
  );

  check("[S17] text that was put aside in a blob is found, in its first 256 KiB", (sql) => {
    const text = `${"lorem ipsum ".repeat(10_000)}treasure${" dolor".repeat(60_000)} buried`;
    const bytes = new TextEncoder().encode(text);
    putBlob(sql, 1, "a".repeat(64), "text/plain; charset=utf-8", bytes);
    const ref = {
      blob: "a".repeat(64),
      mimeType: "text/plain; charset=utf-8",
      bytes: bytes.length,
    };
    append(sql, 1, 1, "message.tool", { content: [{ type: "text", text: ref }] });
    bothWays(sql, () => {
      expect(search(sql, 1, "Treasure", 5)[0]?.snippet).toContain("ipsum treasure dolor");
      expect(seqs(sql, 1, "buried")).toEqual([]);
    });
  });

  check(
    "[S18] the index follows in bounded slices over all sessions, and no answer lags behind the log meanwhile",
    (sql) => {
      const text = `the same text ${"filling ".repeat(30)}`;
      for (let sid = 1; sid <= 3; sid++)
        for (let seq = 1; seq <= 40; seq++) say(sql, sid, seq, text);
      const rows = (): number =>
        sql.all<{ count: number }>("select count(*) as count from search_docsize")[0]!.count;
      const whole = Array.from({ length: 40 }, (_, index) => 40 - index);
      for (let slices = 0, before = 0; indexSlice(sql, 1_000); slices++, before = rows()) {
        expect(rows() - before).toBeLessThanOrEqual(4);
        expect(slices).toBeLessThan(100);
        if (slices % 10 === 0)
          for (const sid of [1, 2, 3]) expect(seqs(sql, sid, "same text")).toEqual(whole);
      }
      expect(rows()).toBe(120);
      say(sql, 2, 41, text);
      expect(seqs(sql, 2, "same text", 2)).toEqual([41, 40]);
      expect(indexSlice(sql)).toBe(false);
      expect(rows()).toBe(121);
      expect(seqs(sql, 2, "same text", 2)).toEqual([41, 40]);
    },
  );

  check("[S18] entries without words move the cursor and end the work", (sql) => {
    for (let seq = 1; seq <= 600; seq++) append(sql, 1, seq, "run.started", {});
    say(sql, 1, 601, "at last a word");
    bothWays(sql, () => expect(seqs(sql, 1, "a word")).toEqual([601]));
    expect(sql.all("select * from search_cursor")).toEqual([{ sid: 1, indexed: 601 }]);
  });

  check("[S19] a session is forgotten in bounded slices, and its neighbours stay", (sql) => {
    for (const sid of [1, 2])
      for (let seq = 1; seq <= 50; seq++) say(sql, sid, seq, "to be forgotten");
    indexAll(sql);
    say(sql, 1, 51, "to be forgotten");
    sql.run("delete from entry where eid < ?", eidOf(2, 0));
    let slices = 1;
    for (; dropSession(sql, 1, 20); slices++) expect(slices).toBeLessThan(10);
    expect(slices).toBe(3);
    expect(indexSlice(sql)).toBe(false);
    expect(seqs(sql, 1, "forgotten")).toEqual([]);
    expect(seqs(sql, 2, "forgotten")).toHaveLength(50);
    expect(sql.all("select sid from search_cursor")).toEqual([{ sid: 2 }]);
    expect(sql.all("select rowid from search where search match 'forgotten'")).toHaveLength(50);
  });
}
