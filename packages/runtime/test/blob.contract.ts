import { expect, test } from "vitest";
import { dropSessionBlobs, findBlobUse, putBlob, readBlob } from "../src/log/blob.ts";
import { openSchema } from "../src/store/schema.ts";
import type { Sql } from "../src/store/sql.ts";
import type { WithSql } from "./sql.contract.ts";

const pattern = (length: number): Uint8Array =>
  new Uint8Array(length).map((_, index) => (index * 7) % 253);
const same = (a: Uint8Array | undefined, b: Uint8Array): boolean =>
  a !== undefined && a.length === b.length && a.every((byte, index) => byte === b[index]);
const partCount = (sql: Sql): number =>
  sql.all<{ count: number }>("select count(*) as count from blob")[0]!.count;
const sha = (digit: string): string => digit.repeat(64);

/** What blobs promise on any host. */
export function blobContract(host: string, withSql: WithSql): void {
  const check = (name: string, body: (sql: Sql) => void): void =>
    test(`${name} (${host})`, () =>
      withSql((sql) => {
        openSchema(sql);
        body(sql);
      }));

  check(
    "[S13] bytes of any length come back whole, in rows under 1 MiB, kept once however often they are put",
    (sql) => {
      const lengths = [0, 1, 524_287, 524_288, 524_289, 2_000_000];
      for (const [index, length] of lengths.entries()) {
        const bytes = pattern(length);
        putBlob(sql, 1, sha(String(index)), "image/png", bytes);
        putBlob(sql, 2, sha(String(index)), "image/png", bytes);
        expect(same(readBlob(sql, sha(String(index))), bytes)).toBe(true);
      }
      expect(partCount(sql)).toBe(1 + 1 + 1 + 1 + 2 + 4);
      expect(
        sql.all<{ most: number }>("select max(length(bytes)) as most from blob")[0]!.most,
      ).toBeLessThan(1_048_576);
      expect(readBlob(sql, sha("f"))).toBeUndefined();
    },
  );

  check("[S13] the first part of a long blob can be read alone", (sql) => {
    const bytes = pattern(1_500_000);
    putBlob(sql, 1, sha("a"), "text/plain", bytes);
    for (const atMost of [10, 524_288, 600_000, 9_000_000])
      expect(same(readBlob(sql, sha("a"), atMost), bytes.subarray(0, atMost))).toBe(true);
  });

  check("[S13] a session knows the blobs that were put for it and no other's", (sql) => {
    putBlob(sql, 1, sha("a"), "image/png", pattern(10));
    expect(findBlobUse(sql, 1, sha("a"))).toEqual({ mimeType: "image/png", bytes: 10 });
    expect(findBlobUse(sql, 2, sha("a"))).toBeUndefined();
  });

  check(
    "[S14] a session's blobs are forgotten in bounded slices, and bytes that another session uses stay",
    (sql) => {
      putBlob(sql, 1, sha("a"), "image/png", pattern(3_000_000));
      putBlob(sql, 1, sha("b"), "image/png", pattern(10));
      putBlob(sql, 1, sha("c"), "image/png", pattern(10));
      putBlob(sql, 2, sha("b"), "image/png", pattern(10));
      let slices = 1;
      for (
        let before = partCount(sql);
        dropSessionBlobs(sql, 1, 2);
        slices++, before = partCount(sql)
      ) {
        expect(before - partCount(sql)).toBeLessThanOrEqual(2);
        expect(slices).toBeLessThan(20);
      }
      expect(sql.all("select sha256, part from blob")).toEqual([{ sha256: sha("b"), part: 0 }]);
      expect(findBlobUse(sql, 1, sha("b"))).toBeUndefined();
      expect(same(readBlob(sql, sha("b")), pattern(10))).toBe(true);
      expect(dropSessionBlobs(sql, 2)).toBe(false);
      expect(partCount(sql)).toBe(0);
    },
  );

  check("[S14] bytes that come again while they are half forgotten are whole again", (sql) => {
    const bytes = pattern(3_000_000);
    putBlob(sql, 1, sha("a"), "image/png", bytes);
    expect(dropSessionBlobs(sql, 1, 2)).toBe(true);
    putBlob(sql, 2, sha("a"), "image/png", bytes);
    while (dropSessionBlobs(sql, 1, 2));
    expect(same(readBlob(sql, sha("a")), bytes)).toBe(true);
    expect(findBlobUse(sql, 1, sha("a"))).toBeUndefined();
  });
}
