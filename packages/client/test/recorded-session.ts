// A session with everything in it that a stream can hold, and the bytes of a watch that saw it happen.

import type { Baseline } from "@lichen/wire";
import { type Move, textOutcome } from "@lichen/runtime/testing";
import { settled } from "../src/index.ts";
import { openTestHost, type TestHost } from "./host.ts";
import { png, prompt } from "./messages.ts";
import { type CuttingProxy, openCuttingProxy, type Pages, record } from "./recording.ts";

const scriptOf = (gate: Promise<void>): readonly Move[] => [
  { partials: ["ich", "ich zeichne 💥"] },
  { gate },
  {
    calls: [
      { name: "draw", input: { what: "☃" }, effect: () => textOutcome("drawn", { lines: 3 }) },
      { name: "look", effect: () => textOutcome("seen") },
    ],
  },
  { say: "fertig gezeichnet ☃" },
];

export interface RecordedSession extends AsyncDisposable {
  readonly host: TestHost;
  readonly proxy: CuttingProxy;
  readonly bytes: Buffer;
  readonly truth: Baseline;
}

/** The host, a proxy that plays the recording, and what the host holds in the end. */
export async function openRecordedSession(pages?: Pages): Promise<RecordedSession> {
  const gate = Promise.withResolvers<void>();
  const host = await openTestHost({ script: scriptOf(gate.promise), allowedHosts: ["127.0.0.1"] });
  const session = host.client().agent("a").session("s");
  await session.send({ type: "line", requestId: "l", text: "vor dem Anfang: ä ☃ 💥" });
  const recording = await record(host.port, "/agents/a/sessions/s/events", host.token);
  const { commandId } = await session.send({
    ...prompt("p", "zeichne ☃"),
    images: [{ mimeType: "image/png", data: png }],
  });
  const { commandId: queued } = await session.send(prompt("q"));
  await session.send({ type: "cancel", requestId: "c", commandId: queued!, onlyIfPending: true });
  await recording.seen("event: partial");
  gate.resolve();
  await settled(session, commandId!);
  await session.change({ title: "fertig" });
  const bytes = await recording.until('"title":"fertig"');
  const proxy = await openCuttingProxy(host.port, pages);
  proxy.recording = bytes;
  return {
    host,
    proxy,
    bytes,
    truth: await session.read(),
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]();
      await host[Symbol.asyncDispose]();
    },
  };
}
