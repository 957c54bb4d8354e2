// The invoke route: one prompt in, its agent events out as a stream, until its settlement.

import type { AgentEvent } from "@lichen/wire";
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

export async function invokeRoute({ request, agent, streams }: Ask): Promise<Response> {
  const body = await readJson(request, InvokeRequest, imageCap);
  const stream = streams.create();
  const invocation = await invoke(agent, body, {
    event: (event) => stream.write(encode(event)),
    end: () => stream.end(),
  });
  // The request says what leaving does; where that fails the command simply goes on.
  const leave = () => void invocation.leave().catch(() => {});
  return streams.answer(stream, {
    resume: () => invocation.resume(),
    close: leave,
    drain: () => stream.write(encode(cut)),
  });
}

function encode(event: AgentEvent): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify(event)}\n\n`);
}
