// A call that an agent's owner makes: one operation, without a session, a grant or a journal.

import {
  type CapabilityRow,
  type CapabilitySource,
  type Image,
  type ImageNote,
  OperationError,
} from "@lichen/capability";
import { type CallAnswer, type CallRequest, Fault, Json } from "@lichen/wire";
import type { Platform } from "../platform.ts";

const mostImages = 16;
const mostImageBytes = 4_194_304;

export interface OwnersCall {
  readonly source: CapabilitySource;
  readonly row: CapabilityRow;
  readonly request: CallRequest;
  readonly platform: Pick<Platform, "toBase64" | "report">;
  readonly signal?: AbortSignal;
}

/** What it came to; a `Fault` where there is nothing to call, or it needs the owner's word. */
export async function ownersCall({
  source,
  row,
  request,
  platform,
  signal = new AbortController().signal,
}: OwnersCall): Promise<CallAnswer> {
  const operation = operationOf(source, row, request.operation);
  if (operation.confirm === true && request.confirm !== true)
    throw new Fault(
      "denied",
      `${row.namespace}.${operation.property} asks for a person's word at each call: say that you want exactly this one.`,
    );
  const images: Image[] = [];
  try {
    const value = await source.call(row.id, operation.name, request.input ?? {}, {
      signal,
      image: (image) => collect(images, image),
      progress: () => {},
      display: () => {},
    });
    return {
      ok: true,
      ...(value === undefined ? {} : { value: Json.parse(value) }),
      ...(images.length === 0
        ? {}
        : {
            images: images.map(({ mediaType, bytes }) => ({
              mimeType: mediaType,
              data: platform.toBase64(bytes),
            })),
          }),
    };
  } catch (error) {
    if (isOperationError(error)) return { ok: false, code: error.code, message: error.message };
    if (signal.aborted) throw error;
    platform.report(error);
    const message = `The connector of ${row.namespace} failed: its host has written down how.`;
    return { ok: false, code: "failed", message };
  }
}

function operationOf(source: CapabilitySource, row: CapabilityRow, called: string) {
  const all = source.surface().namespaces.find(({ id }) => id === row.id)?.operations ?? [];
  const operation =
    all.find(({ name }) => name === called) ?? all.find(({ property }) => property === called);
  if (operation) return operation;
  throw new Fault(
    "invalid",
    row.state === "active"
      ? `operation: ${row.namespace} has no ${called}: list what it has.`
      : `${row.namespace} is ${row.state}: nothing of it can be called${row.problem ? ` (${row.problem.message})` : ""}.`,
  );
}

function collect(images: Image[], image: Image): ImageNote {
  if (images.length >= mostImages)
    throw new OperationError("too_large", `More than ${mostImages} images, the most of one call.`);
  if (image.bytes.length > mostImageBytes)
    throw new OperationError(
      "too_large",
      `An image of ${image.bytes.length} bytes, and ${mostImageBytes} are the most.`,
    );
  images.push(image);
  return { image: images.length, mediaType: image.mediaType, bytes: image.bytes.length };
}

/** Also of another copy of the package. */
function isOperationError(error: unknown): error is OperationError {
  return error instanceof Error && error.name === "OperationError" && "code" in error;
}
