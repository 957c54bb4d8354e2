// One connection of an event stream: its bytes become messages until it ends, breaks, or falls silent.
//
//   N12  Forty seconds without a byte are the end of a connection, whatever the network says.

import { createParser } from "eventsource-parser";
import type { ClientPlatform } from "../platform.ts";

export interface Message {
  /** `:` for a comment, whose text is the data. */
  readonly type: string;
  readonly id?: string;
  readonly data: string;
}

const silenceMs = 40_000;
/** No frame of a host comes near this; a stream that fills it is none. */
const bufferUnits = 32 * 1_048_576;

/** The messages of an answer. Bytes are read as messages are asked for, and leaving it ends the connection. */
export async function* messagesOf(
  response: Response,
  ears: AbortController,
  platform: Pick<ClientPlatform, "after">,
): AsyncGenerator<Message, void, undefined> {
  if (!response.body) return;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const ready: Message[] = [];
  const decoder = new TextDecoder();
  const parser = createParser({
    maxBufferSize: bufferUnits,
    onEvent: ({ event, id, data }) =>
      ready.push({ type: event ?? "message", data, ...(id === undefined ? {} : { id }) }),
    onComment: (data) => ready.push({ type: ":", data }),
  });
  let isSilent = false;
  // A cancelled reader answers the read that waits, also where the body's source does not listen.
  const leave = (): void => void reader.cancel().catch(() => {});
  ears.signal.addEventListener("abort", leave);
  try {
    while (!ears.signal.aborted) {
      const cancel = platform.after(silenceMs, () => {
        isSilent = true;
        leave();
      });
      let chunk: Awaited<ReturnType<typeof reader.read>>;
      try {
        chunk = await reader.read();
      } finally {
        cancel();
      }
      if (isSilent) throw new Error(`nothing came for ${silenceMs / 1_000} seconds`);
      if (chunk.done) return;
      parser.feed(decoder.decode(chunk.value, { stream: true }));
      for (const message of ready.splice(0)) yield message;
    }
  } finally {
    ears.signal.removeEventListener("abort", leave);
    leave();
    ears.abort();
  }
}
