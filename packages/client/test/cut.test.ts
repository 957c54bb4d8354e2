// Connections that break at any byte of a recorded stream: each reader ends with what the host holds.

import { expect, test } from "vitest";
import { createClient } from "../src/index.ts";
import { follow, followCuts } from "./follow.ts";
import { hurry } from "./hurry.ts";
import { openRecordedSession } from "./recorded-session.ts";

test("[N9] a stream that is cut at any byte is followed to what the host holds, every entry once", async () => {
  await using recorded = await openRecordedSession();
  const { host, proxy, bytes, truth } = recorded;
  expect(bytes.toString()).toMatch(/event: baseline\n[^]*event: partial\n[^]*event: entry\n/);
  const options = { proxy: proxy.url, host: host.url, token: host.token, truth };
  expect(await followCuts(options, bytes.length, 8)).toEqual({
    wrong: [],
    cuts: bytes.length + 1,
  });
}, 120_000);

test("[N9] a stream whose every connection is cut arrives all the same", async () => {
  await using recorded = await openRecordedSession();
  const { host, proxy, truth } = recorded;
  // The baseline has to come whole once; after that each connection brings at least an entry.
  const least = JSON.stringify(truth).length + 1_500;
  for (let limit = least; limit < least + 700; limit += 70) {
    const client = createClient({
      url: proxy.url,
      token: host.token,
      platform: hurry,
      fetch: (url, init) => {
        const headers = new Headers(init.headers);
        headers.set("x-limit", String(limit));
        return fetch(url, { ...init, headers });
      },
    });
    expect((await follow(client, truth.head)).baseline).toEqual(truth);
  }
});
