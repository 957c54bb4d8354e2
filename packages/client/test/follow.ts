// A reader whose first connection is cut at a byte, in Node and in a page alike.

import { type Baseline, canonicalJson, Fault, foldBaseline } from "@lichen/wire";
import { type Client, createClient, ViewFold, viewOf } from "../src/index.ts";
import { hurry } from "./hurry.ts";

export interface CutOptions {
  /** Where connections are cut, and where the host is; the same, where a page may ask only one. */
  readonly proxy: string;
  readonly host: string;
  readonly token: string;
  /** What the host holds in the end. */
  readonly truth: Baseline;
}

/** Follows session `s` of agent `a` through a cut after so many bytes; answers what is wrong with what was told. */
export async function followCut(options: CutOptions, cut: number): Promise<string | undefined> {
  let connections = 0;
  const client = createClient({
    url: options.proxy,
    token: options.token,
    platform: hurry,
    fetch: (url, init) => {
      if (connections++ > 20) throw new Fault("invalid", "it never arrives");
      if (connections > 1) return fetch(url.replace(options.proxy, options.host), init);
      const headers = new Headers(init.headers);
      headers.set("x-cut", String(cut));
      return fetch(url, { ...init, headers });
    },
  });
  const { baseline, fold } = await follow(client, options.truth.head);
  if (canonicalJson(baseline) !== canonicalJson(options.truth))
    return `cut at ${cut}: the fold is not what the host holds`;
  if (canonicalJson(fold.view) !== canonicalJson(viewOf(options.truth)))
    return `cut at ${cut}: the view is not that of what the host holds`;
  return undefined;
}

/** All cuts from the first byte to the last, several at a time. Answers what was wrong. */
export async function followCuts(
  options: CutOptions,
  bytes: number,
  lanes: number,
): Promise<{ wrong: string[]; cuts: number }> {
  const wrong: string[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next <= bytes) {
      const cut = next++;
      const found = await followCut(options, cut).catch(
        (error: unknown) => `cut at ${cut}: ${String(error)}`,
      );
      if (found !== undefined) wrong.push(found);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return { wrong, cuts: next };
}

/** Follows the session until the head is reached. Throws where an entry does not follow the one before. */
export async function follow(
  client: Client,
  head: number,
): Promise<{ baseline: Baseline; fold: ViewFold }> {
  const fold = new ViewFold();
  let baseline: Baseline | undefined;
  for await (const frame of client.agent("a").session("s").watch()) {
    fold.take(frame);
    if (frame.type === "baseline" || frame.type === "reset") baseline = frame.data;
    if (frame.type === "entry") {
      if (!baseline || frame.data.seq !== baseline.head + 1)
        throw new Error(`entry ${frame.data.seq} after ${baseline?.head}`);
      baseline = foldBaseline(baseline, frame.data);
    }
    if (baseline?.head === head) return { baseline, fold };
  }
  throw new Error("the watch ended before the head");
}
