// What an operation answers when it succeeds, and what it asks a server for.

import type { Json, JsonObject, JsonSchema } from "../../json.ts";
import { isObject, memberOf, objectAt } from "../read-json.ts";
import { follow } from "./pointer.ts";
import type { Schemas } from "./schemas.ts";

const isJson = (mediaType: string) => /^application\/(?:[\w.+-]*\+)?json\b/i.test(mediaType);

/** The schema of the first 2xx answer that has content; undefined where it is not known, or there is none. */
export function outputOf(
  document: JsonObject,
  schemas: Schemas,
  responses: JsonObject | undefined,
): JsonSchema | undefined {
  for (const content of contents(document, responses)) {
    const types = Object.keys(content);
    const json = types.find(isJson);
    const media = json === undefined ? undefined : memberOf(content, json);
    if (isObject(media) && memberOf(media, "schema") !== undefined)
      return schemas.whole(memberOf(media, "schema"), "output");
    if (json === undefined && types.every((type) => type.startsWith("text/")))
      return { type: "string" };
    return undefined;
  }
  return undefined;
}

/** JSON where it is offered, else what is; anything where nothing is said. */
export function acceptOf(document: JsonObject, responses: JsonObject | undefined): string {
  const types = contents(document, responses)
    .flatMap((content) => Object.keys(content))
    .filter((type) => /^[\w.+*-]+\/[\w.+*-]+(?:;[\w.+=; "-]*)?$/.test(type));
  const json = types.find((type) => isJson(type));
  if (json !== undefined) return `${json}, */*;q=0.1`;
  return types.length === 0
    ? "application/json, */*;q=0.8"
    : [...new Set(types)].slice(0, 5).join(", ");
}

function contents(document: JsonObject, responses: JsonObject | undefined): JsonObject[] {
  const good = Object.entries(responses ?? {})
    .filter(([status]) => /^2(?:\d\d|XX)$/i.test(status))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  return good.flatMap(([, response]: [string, Json]) => {
    const described = follow(document, response);
    const content = typeof described === "string" ? undefined : objectAt(described, "content");
    return content && Object.keys(content).length > 0 ? [content] : [];
  });
}
