// What an operation takes as its body: which media type is sent, and what the input's `body` looks like for it.
//
// Where a document offers several, JSON is sent, else a form, else a multipart form, else text, else bytes. Bytes stand
// in the input as text (sent as UTF-8) or as { base64 }, in a multipart form with a name and a media type if wanted.

import type { Json, JsonObject } from "../../json.ts";
import { isObject, memberOf, objectAt, textAt } from "../read-json.ts";
import { follow } from "./pointer.ts";
import type { Schemas } from "./schemas.ts";

type BodyKind = "json" | "form" | "multipart" | "text" | "bytes";

export interface ApiBody {
  readonly kind: BodyKind;
  readonly mediaType: string;
  readonly isRequired: boolean;
  readonly schema: Json;
  /** The document's `encoding`: how single fields of a form are written. */
  readonly encoding: JsonObject;
}

const kinds: readonly BodyKind[] = ["json", "form", "multipart", "text", "bytes"];

const bytes: JsonObject = {
  description: "Text, sent as UTF-8, or bytes as base64.",
  anyOf: [
    { type: "string" },
    {
      type: "object",
      properties: { base64: { type: "string" } },
      required: ["base64"],
      additionalProperties: false,
    },
  ],
};

const file: JsonObject = {
  description: "Text, sent as UTF-8, or bytes as base64.",
  anyOf: [
    { type: "string" },
    {
      type: "object",
      properties: {
        base64: { type: "string" },
        filename: { type: "string", maxLength: 200 },
        mediaType: { type: "string", maxLength: 100 },
      },
      required: ["base64"],
      additionalProperties: false,
    },
  ],
};

/** A sentence where it cannot be sent; undefined where there is none. */
export function bodyOf(
  document: JsonObject,
  schemas: Schemas,
  mentions: Set<string>,
  described: Json | undefined,
): ApiBody | string | undefined {
  if (described === undefined) return undefined;
  const body = follow(document, described);
  if (typeof body === "string") return `of its body, ${body}`;
  const offered = Object.entries(objectAt(body, "content") ?? {}).map(([mediaType, media]) => ({
    mediaType,
    kind: kindOf(mediaType),
    media: isObject(media) ? media : {},
  }));
  const chosen = offered.toSorted((a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind))[0];
  if (!chosen) return undefined;
  const { mediaType, kind, media } = chosen;
  if (!/^[\x20-\x7e]{1,200}$/.test(mediaType))
    return "its body has a media type that no header can hold";
  const read = () => schemas.read(memberOf(media, "schema"), "input", mentions);
  return {
    kind,
    mediaType: concrete(mediaType),
    isRequired: memberOf(body, "required") === true,
    schema:
      kind === "bytes"
        ? bytes
        : kind === "text"
          ? { type: "string" }
          : kind === "multipart"
            ? multipart(document, schemas, mentions, memberOf(media, "schema"))
            : read(),
    encoding: objectAt(media, "encoding") ?? {},
  };
}

/** What is sent for a range of media types. */
function concrete(mediaType: string): string {
  if (!mediaType.includes("*")) return mediaType;
  const kind = kindOf(mediaType);
  if (kind === "json") return "application/json";
  return kind === "text" ? "text/plain" : "application/octet-stream";
}

function kindOf(mediaType: string): BodyKind {
  const type = mediaType.split(";")[0]!.trim().toLowerCase();
  if (/^application\/(?:[\w.+-]*\+)?json$|^\*\/\*$/.test(type)) return "json";
  if (type === "application/x-www-form-urlencoded") return "form";
  if (type === "multipart/form-data") return "multipart";
  if (/^text\/|^application\/(?:[\w.+-]*\+)?(?:xml|yaml|graphql)$/.test(type)) return "text";
  return "bytes";
}

/** The schema of a multipart body, with the fields that are files as files. */
function multipart(
  document: JsonObject,
  schemas: Schemas,
  mentions: Set<string>,
  schema: Json | undefined,
): Json {
  const described = follow(document, schema);
  if (typeof described === "string") return { type: "object" };
  const read = schemas.read(described, "input", mentions);
  const properties = isObject(read) ? objectAt(read, "properties") : undefined;
  if (!isObject(read) || !properties) return { type: "object" };
  const changed = Object.entries(properties).map(([name, property]): [string, Json] => {
    const field = follow(document, memberOf(objectAt(described, "properties"), name));
    if (typeof field === "string") return [name, property];
    if (isFile(field)) return [name, file];
    const items = follow(document, memberOf(field, "items"));
    const isFiles = textAt(field, "type") === "array" && typeof items !== "string" && isFile(items);
    return [name, isFiles ? { type: "array", items: file } : property];
  });
  return { ...read, properties: Object.fromEntries(changed) };
}

function isFile(field: JsonObject): boolean {
  const format = textAt(field, "format");
  if (format === "binary") return true;
  return (
    textAt(field, "contentMediaType") !== undefined &&
    memberOf(field, "contentEncoding") === undefined
  );
}
