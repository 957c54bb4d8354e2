// Plays one answer onto one response: what needs no waiting is gathered and written at once, and every wait ends when
// the response closes, whoever closed it.

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Encoder } from "./encoding.ts";
import type { Gates } from "./gate.ts";
import { type Answer, type Part, stopOf } from "./script.ts";

const streamHeaders = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
};

export interface Stage {
  readonly response: ServerResponse;
  readonly encoder: Encoder;
  readonly gates: Gates;
  /** An id for a call that has none of its own. */
  callId(): string;
  /** Destroys the connection on the script's behalf. */
  cut(): void;
}

export async function playAnswer(answer: Answer, stage: Stage): Promise<void> {
  const { response, encoder, gates } = stage;
  let pending = "";
  let hasBegun = false;

  function say(frames: string): void {
    pending += hasBegun ? frames : encoder.start() + frames;
    hasBegun = true;
  }

  /** Writes what is pending; `done` is called once the operating system has it. */
  function flush(done?: () => void): void {
    if (!response.headersSent) response.writeHead(200, streamHeaders);
    response.write(pending, done);
    pending = "";
  }

  let closed: Promise<unknown> | undefined;
  /** False where the response closed first. */
  async function waited(wait: Promise<unknown>): Promise<boolean> {
    if (response.closed) return false;
    closed ??= once(response, "close");
    await Promise.race([wait, closed]);
    return !response.closed;
  }

  for (const part of answer.parts) {
    if ("text" in part) for (const delta of deltas(part.text)) say(encoder.text(delta));
    else if ("thinking" in part)
      for (const delta of deltas(part.thinking)) say(encoder.thinking(delta, part.signature));
    else if ("call" in part)
      say(encoder.call({ ...part.call, id: part.call.id ?? stage.callId() }));
    else if ("raw" in part) pending += part.raw;
    else if ("cut" in part) {
      if (pending !== "") await waited(new Promise<void>(flush));
      stage.cut();
      return;
    } else if ("breaks" in part) {
      say(encoder.breaks(part.breaks, part.message));
      break;
    } else {
      if (pending !== "") flush();
      const timer = timerOf(part);
      const goesOn = await waited(timer?.promise ?? waitOf(part, gates));
      timer?.stop();
      if (!goesOn) return;
    }
  }
  if (!answer.parts.some((part) => "breaks" in part)) say(encoder.end(stopOf(answer)));
  if (!response.headersSent) response.writeHead(200, streamHeaders);
  response.end(pending);
}

function waitOf(part: Part, gates: Gates): Promise<unknown> {
  if (!("gate" in part)) return new Promise(() => {});
  return typeof part.gate === "string" ? gates.pass(part.gate) : part.gate;
}

function timerOf(part: Part): { promise: Promise<void>; stop(): void } | undefined {
  if (!("delayMs" in part)) return undefined;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, part.delayMs);
  return { promise, stop: () => clearTimeout(timer) };
}

function deltas(text: string | readonly string[]): readonly string[] {
  return typeof text === "string" ? [text] : text;
}
