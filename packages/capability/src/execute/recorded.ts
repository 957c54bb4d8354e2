// What is journalled of a call that succeeded: its value and, where it handed any out, its images and display data, so
// that they are there again after a restart. A value that stands alone is recorded as it is.

import { isList, isObject, listAt, objectAt, textAt } from "../connectors/read-json.ts";
import type { Json, JsonObject } from "../json.ts";
import { fromBase64, toBase64 } from "./base64.ts";
import type { CollectedImage } from "./image-collector.ts";

export interface Answered {
  readonly value?: Json;
  readonly images: readonly CollectedImage[];
  /** For a person, beside the call. */
  readonly display: readonly JsonObject[];
}

const mark = "$answered";

export function toRecord({ value, images, display }: Answered): Json | undefined {
  const isAlone = images.length === 0 && display.length === 0;
  if (isAlone && !(isObject(value) && Object.hasOwn(value, mark))) return value;
  return {
    [mark]: {
      ...(value === undefined ? {} : { value }),
      ...(images.length === 0
        ? {}
        : {
            images: images.map(({ number, mediaType, bytes }) => ({
              number,
              mediaType,
              data: toBase64(bytes),
            })),
          }),
      ...(display.length === 0 ? {} : { display }),
    },
  };
}

export function fromRecord(record: Json | undefined): Answered {
  const answered = isObject(record) ? objectAt(record, mark) : undefined;
  if (!answered)
    return { ...(record === undefined ? {} : { value: record }), images: [], display: [] };
  const { value } = answered;
  return {
    ...(value === undefined ? {} : { value }),
    images: isList(answered["images"]) ? answered["images"].flatMap(imageOf) : [],
    display: listAt(answered, "display").filter(isObject),
  };
}

function imageOf(given: Json): CollectedImage[] {
  if (!isObject(given)) return [];
  const { number } = given;
  const [mediaType, data] = [textAt(given, "mediaType"), textAt(given, "data")];
  if (typeof number !== "number" || mediaType === undefined || data === undefined) return [];
  return [{ number, mediaType, bytes: fromBase64(data) }];
}
