// The invoke route: one prompt in, its agent events out as a stream, until its settlement.

import { type AgentEvent, Fault } from "@lichen/wire";
import { invoke, InvokeRequest } from "../invoke/invoke.ts";
import { imageCap, readJson } from "./body.ts";
import type { Ask } from "./route.ts";

const encoder = new TextEncoder();

/** What a stream that the host cuts ends with: the command goes on, and the same request id follows it again. */
const cut: AgentEvent = {
  type: "failed",
  details:
    "The host is going down and the command goes on when it is back: send the same requestId again to follow it.",
  retryable: true,
  code: "unavailable",
};

export async function invokeRoute(ask: Ask): Promise<Response> {
  const body = await readJson(ask.request, InvokeRequest, imageCap);
  const stream = ask.streams.create();
  const sink = {
    event: (event: AgentEvent) => stream.write(encode(event)),
    end: () => stream.end(),
  };
  const invocation = await invoke(ask.agent, body, sink, { report: (error) => ask.report(error) });
  // Where a cancellation is refused (the host goes down) the command simply goes on.
  const leave = () =>
    void invocation.leave().catch((error: unknown) => Fault.is(error) || ask.report(error));
  return ask.streams.answer(stream, {
    resume: () => invocation.resume(),
    close: leave,
    drain: () => {
      // Nothing that the run still says may come after the cut, and no cancellation: the command goes on.
      stream.write(encode(cut));
      stream.end();
    },
  });
}

function encode(event: AgentEvent): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify(event)}\n\n`);
}
