// A connection that breaks at any byte of a recorded stream: each reader ends with what the host holds.

import { type Baseline, Fault, foldBaseline } from "@lichen/wire";
import { textOutcome } from "@lichen/runtime/testing";
import { expect, test } from "vitest";
import {
  createClient,
  type Frame,
  type HttpClient,
  type Session,
  settled,
  ViewFold,
  viewOf,
} from "../src/index.ts";
import { hurry } from "./hurry.ts";
import { openTestHost, type TestHost } from "./host.ts";
import { openCuttingProxy, record } from "./recording.ts";
import { png, prompt } from "./session.contract.ts";

/** A session with everything in it that a stream can hold, and the bytes of a watch that saw it happen. */
export async function recordedSession(
  host: TestHost,
): Promise<{ session: Session; bytes: Buffer }> {
  const session = host.client().agent("a").session("s");
  await session.send({ type: "line", requestId: "l", text: "vor dem Anfang: ä ☃ 💥" });
  const recording = await record(host.port, "/agents/a/sessions/s/events", host.token);
  const { commandId } = await session.send({
    ...prompt("p", "zeichne ☃"),
    images: [{ mimeType: "image/png", data: png }],
  });
  const { commandId: queued } = await session.send(prompt("q"));
  await session.send({ type: "cancel", requestId: "c", commandId: queued!, onlyIfPending: true });
  await settled(session, commandId!);
  await session.change({ title: "fertig" });
  return { session, bytes: await recording.until('"title":"fertig"') };
}

export const script = [
  { partials: ["ich", "ich zeichne 💥"] },
  {
    calls: [
      { name: "draw", input: { what: "☃" }, effect: () => textOutcome("drawn", { lines: 3 }) },
      { name: "look", effect: () => textOutcome("seen") },
    ],
  },
  { say: "fertig gezeichnet ☃" },
];

/** Follows the session until the head is reached; what it told must be whole. */
export async function follow(
  client: HttpClient,
  head: number,
): Promise<{ baseline: Baseline; fold: ViewFold; frames: Frame[] }> {
  const fold = new ViewFold();
  const frames: Frame[] = [];
  let baseline: Baseline | undefined;
  for await (const frame of client.agent("a").session("s").watch()) {
    frames.push(frame);
    fold.take(frame);
    if (frame.type === "baseline" || frame.type === "reset") baseline = frame.data;
    if (frame.type === "entry") {
      if (frame.data.seq !== baseline!.head + 1)
        throw new Error(`entry ${frame.data.seq} after ${baseline!.head}`);
      baseline = foldBaseline(baseline!, frame.data);
    }
    if (baseline?.head === head) return { baseline, fold, frames };
  }
  throw new Error("the watch ended before the head");
}

test("[N9] a stream that is cut at any byte is followed to what the host holds, every entry once", async () => {
  await using host = await openTestHost({ script, allowedHosts: ["127.0.0.1"] });
  const { session, bytes } = await recordedSession(host);
  await using proxy = await openCuttingProxy(host.port);
  proxy.recording = bytes;
  const truth = await session.read();

  const cutAt = async (cut: number): Promise<void> => {
    let connections = 0;
    const client = createClient({
      url: proxy.url,
      token: host.token,
      platform: hurry,
      fetch: (url, init) => {
        const headers = new Headers(init.headers);
        if (connections++ > 20) throw new Fault("invalid", "it never arrives");
        if (connections > 1) return fetch(url.replace(proxy.url, host.url), init);
        headers.set("x-cut", String(cut));
        return fetch(url, { ...init, headers });
      },
    });
    const { baseline, fold } = await follow(client, truth.head);
    expect(baseline, `cut at ${cut}`).toEqual(truth);
    expect(fold.view, `cut at ${cut}`).toEqual(viewOf(truth));
  };
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next <= bytes.length) await cutAt(next++);
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  expect(next).toBeGreaterThan(bytes.length);
}, 120_000);
