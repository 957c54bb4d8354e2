// One prompt of one caller, from its admission to its settlement, pushed as agent events.
//
//   Every event of the command is delivered once and in order, however slow the reader is and however often the
//   session's stream is reset; the terminal event is the last thing the sink is given.
//   Leaving ends delivery at once; whether it also cancels the command is the request's choice.

import type { Agent } from "@lichen/runtime";
import { InlineImages, PromptText, RequestId, SessionId } from "@lichen/wire";
import * as z from "zod";
import { type EventSink, Following } from "./following.ts";

export type { EventSink };

/** What a caller asks of `invoke`: the body of `POST /agents/{agent}/invoke`. */
export const InvokeRequest = z.strictObject({
  session: SessionId,
  text: PromptText,
  images: InlineImages.optional(),
  /** The caller's key for this admission: sending it again follows the same command. */
  requestId: RequestId.optional(),
  /** What a busy session does: take the prompt after its current work (default), or refuse it. */
  busy: z.enum(["queue", "reject"]).optional(),
  /** What leaving does to the command (default `continue`). */
  onDisconnect: z.enum(["continue", "cancel"]).optional(),
});
export type InvokeRequest = z.infer<typeof InvokeRequest>;

export interface Invocation {
  readonly commandId: string;
  /** The sink can take events again. */
  resume(): void;
  /** The caller is gone: nothing more is delivered. Settles once a cancellation, where asked for, is recorded. */
  leave(): Promise<void>;
}

export interface InvokeOptions {
  newRequestId?: () => string;
  /** Told of a bug while following; the caller sees a `failed` event that names none of it. */
  report?: (error: unknown) => void;
}

/** Admits the prompt and follows it. Rejects with the `Fault` when the prompt is refused; later trouble is a `failed` event. */
export async function invoke(
  agent: Agent,
  request: InvokeRequest,
  sink: EventSink,
  options: InvokeOptions = {},
): Promise<Invocation> {
  const session = agent.session(request.session);
  const receipt = await session.send({
    type: "prompt",
    requestId: request.requestId ?? (options.newRequestId ?? newRequestId)(),
    text: request.text,
    ...(request.images === undefined ? {} : { images: request.images }),
    delivery: request.busy === "reject" ? "reject" : "follow_up",
  });
  const { commandId } = receipt;
  if (commandId === undefined) throw new Error("A prompt's receipt names no command.");
  const following = new Following(session, commandId, sink, options.report ?? ignore);
  await following.begin(receipt.replay === true);

  let left: Promise<void> | undefined;
  return {
    commandId,
    resume: () => following.resume(),
    leave: () => (left ??= leave()),
  };

  async function leave(): Promise<void> {
    const wasOver = following.close();
    if (wasOver || request.onDisconnect !== "cancel") return;
    await session.send({ type: "cancel", requestId: `leave:${commandId}`, commandId: commandId! });
  }
}

function newRequestId(): string {
  return `invoke:${crypto.randomUUID()}`;
}

function ignore(): void {}
