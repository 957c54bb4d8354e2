// What Claude Code is told: its arguments, messages, and requests that it answers.

import type { Run } from "@lichen/runtime";
import type { BlobRef, Json, JsonObject } from "@lichen/wire";
import { Fault } from "@lichen/wire";

export function argumentsOf(start: {
  readonly autoApprove: boolean;
  readonly conversation: string;
  readonly isNew: boolean;
}): string[] {
  return [
    ...["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"],
    ...["--include-partial-messages", "--permission-prompt-tool", "stdio"],
    ...(start.autoApprove ? ["--dangerously-skip-permissions"] : []),
    ...[start.isNew ? "--session-id" : "--resume", start.conversation],
    "--replay-user-messages",
  ];
}

/** A message that waits to be written, and then to be taken into a turn. */
export interface Message {
  readonly uuid: string;
  readonly text: string;
  readonly images: readonly { readonly mimeType: string; readonly data: string }[];
}

export function userLine({ uuid, text, images }: Message): JsonObject {
  const pictures = images.map(({ mimeType, data }) => ({
    type: "image",
    source: { type: "base64", media_type: mimeType, data },
  }));
  const words = text === "" ? [] : [{ type: "text", text }];
  const content: Json = pictures.length === 0 ? text : [...words, ...pictures];
  return { type: "user", uuid, message: { role: "user", content } };
}

export function imagesOf(
  run: Run,
  images: readonly BlobRef[],
  toBase64: (b: Uint8Array) => string,
) {
  return images.map(({ blob, mimeType }) => {
    const bytes = run.blob(blob);
    if (!bytes) throw new Fault("unavailable", `Image ${blob} of this message is not in the log.`);
    return { mimeType, data: toBase64(bytes) };
  });
}

export function requestLine(id: string, request: JsonObject): JsonObject {
  return { type: "control_request", request_id: id, request };
}

export function responseLine(id: string, response: JsonObject): JsonObject {
  return {
    type: "control_response",
    response: { subtype: "success", request_id: id, response },
  };
}

/** The answer to a request of a kind that is not known here: without one it would be waited for. */
export function unknownLine(id: string, subtype: string): JsonObject {
  return refusalLine(id, `Lichen does not know requests of the kind ${subtype}.`);
}

function refusalLine(id: string, error: string): JsonObject {
  return { type: "control_response", response: { subtype: "error", request_id: id, error } };
}
