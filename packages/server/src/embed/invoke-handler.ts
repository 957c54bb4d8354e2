// `createInvokeHandler`: an agent behind one POST, for programs that embed it. No credentials, no Host check: what
// stands in front of it is the program's choice.
//
//   The next event is asked for when the reader took the last one. A reader that leaves stops the run.

import type { Agent, AgentEvent } from "../invoke/contract.ts";
import { readBodyCapped } from "./read-body-capped.ts";
import { text } from "./text.ts";

const invokeBodyBytes = 1_048_576;
const pingMs = 30_000;

export interface InvokeHandlerOptions {
  /** Calls `wake` once after `ms`; the answer cancels it. */
  after?: (ms: number, wake: () => void) => () => void;
}

export function createInvokeHandler(
  agent: Agent,
  options: InvokeHandlerOptions = {},
): (request: Request) => Promise<Response> {
  const after = options.after ?? timer;
  return async (request) => {
    if (request.method !== "POST") return text("POST only", 405);
    const read = await readBodyCapped(request, invokeBodyBytes);
    if ("tooLarge" in read) return text("body too large", 413);
    let body: unknown;
    try {
      body = JSON.parse(read.text);
    } catch {
      return text("invalid json", 400);
    }
    const asked = parseBody(body);
    if (typeof asked === "string") return text(asked, 400);
    const events = agent.invoke(asked.scope, { text: asked.text })[Symbol.asyncIterator]();
    return new Response(eventStream(events, after), {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-cache",
        connection: "keep-alive",
      },
    });
  };
}

function parseBody(body: unknown): { scope: { session: string }; text: string } | string {
  const it: Record<string, unknown> = typeof body === "object" && body !== null ? { ...body } : {};
  const { session, text: said, parentSession, branchHints } = it;
  if (typeof session !== "string" || typeof said !== "string")
    return "session and text must be strings";
  if (parentSession !== undefined && typeof parentSession !== "string")
    return "parentSession must be a string";
  const isHints = Array.isArray(branchHints) && branchHints.every((it) => typeof it === "string");
  if (branchHints !== undefined && !isHints) return "branchHints must be an array of strings";
  return {
    // Extensions of the scope go along for agents that know them.
    scope: {
      session,
      ...(parentSession === undefined ? {} : { parentSession }),
      ...(branchHints === undefined ? {} : { branchHints }),
    },
    text: said,
  };
}

function eventStream(
  events: AsyncIterator<AgentEvent>,
  after: NonNullable<InvokeHandlerOptions["after"]>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let stopPing = () => {};
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const beat = () => {
          // A reader that has not taken the last ping needs no other.
          if ((controller.desiredSize ?? -1) >= 0) controller.enqueue(encoder.encode(": ping\n\n"));
          stopPing = after(pingMs, beat);
        };
        stopPing = after(pingMs, beat);
      },
      async pull(controller) {
        try {
          const next = await events.next();
          if (next.done) {
            stopPing();
            controller.close();
          } else controller.enqueue(encoder.encode(`data: ${JSON.stringify(next.value)}\n\n`));
        } catch (error) {
          stopPing();
          throw error;
        }
      },
      async cancel() {
        stopPing();
        await events.return?.();
      },
    },
    { highWaterMark: 0 },
  );
}

function timer(ms: number, wake: () => void): () => void {
  const id = setTimeout(wake, ms);
  return () => clearTimeout(id);
}
