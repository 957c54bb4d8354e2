// The client in a real Chromium: the same cuts as in Node, and an outbox that outlives its browser.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { build } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Chromium, openChromium, type Page } from "./chromium.ts";
import { temporaryFolder } from "./host.ts";
import { openRecordedSession, type RecordedSession } from "./recorded-session.ts";
import type { Pages } from "./recording.ts";
import { itemAt } from "./storage.contract.ts";

const folder = temporaryFolder();
const profile = join(folder, "profile");
let recorded: RecordedSession;
let chromium: Chromium;

beforeAll(async () => {
  recorded = await openRecordedSession(await pages());
  chromium = await openChromium(profile);
}, 60_000);
afterAll(async () => {
  await chromium[Symbol.asyncDispose]();
  await recorded[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** The page and the client in it, as one script. */
async function pages(): Promise<Pages> {
  const built = await build({
    configFile: false,
    logLevel: "error",
    build: {
      write: false,
      target: "esnext",
      lib: { entry: new URL("page/page.ts", import.meta.url).pathname, formats: ["es"] },
    },
  });
  const [output] = Array.isArray(built) ? built : [];
  const [chunk] = output?.output ?? [];
  return new Map([
    [
      "/",
      { type: "text/html", body: '<!doctype html><script type="module" src="/page.js"></script>' },
    ],
    ["/page.js", { type: "text/javascript", body: chunk?.code ?? "" }],
  ]);
}

function call<T>(page: Page, name: string, ...given: unknown[]): Promise<T> {
  return page.evaluate<T>(`page.${name}(${given.map((it) => JSON.stringify(it)).join(", ")})`);
}

test("[N9] in Chromium, a stream that is cut at any byte is followed to what the host holds, every entry once", async () => {
  const { proxy, host, bytes, truth } = recorded;
  const page = await chromium.open(`${proxy.url}/`);
  const options = { proxy: proxy.url, host: proxy.url, token: host.token, truth };
  expect(await call(page, "followCuts", options, bytes.length)).toEqual({
    wrong: [],
    cuts: bytes.length + 1,
  });
}, 240_000);

test("[N22] a browser's database keeps the outbox as the other storages do, also for the next page", async () => {
  const { proxy } = recorded;
  const items = [itemAt(1), itemAt(2), itemAt(3)];
  const expected = { items: [{ ...items[1], state: "restored" }, items[2]], damaged: [] };
  const first = await chromium.open(`${proxy.url}/`);
  expect(await call(first, "keep", items)).toEqual(expected);
  const second = await chromium.open(`${proxy.url}/`);
  expect(await call(second, "kept")).toEqual({
    ...expected,
    isWhole: true,
    gone: true,
    old: ["i1-0"],
    none: [],
  });
}, 60_000);

test("[N16] what a page's outbox answered for is sent once, though its browser is killed before it gets out", async () => {
  const { proxy, host } = recorded;
  const page = await chromium.open(`${proxy.url}/`);
  const written = await call<string[]>(page, "write", ["one", "two"]);
  await chromium.kill();
  await chromium[Symbol.asyncDispose]();
  chromium = await openChromium(profile);
  const next = await chromium.open(`${proxy.url}/`);
  expect(await call(next, "send", host.token)).toEqual(written);
  expect(await call(await chromium.open(`${proxy.url}/`), "send", host.token)).toEqual([]);
  const { entries } = await host.client().agent("a").session("t").read();
  const queued = entries.filter((entry) => entry.kind === "command.queued");
  expect(queued.map((entry) => entry.requestId)).toEqual(written);
  expect(queued[0]?.data).toMatchObject({ text: "one", images: [{ bytes: 10_000 }] });
}, 60_000);
