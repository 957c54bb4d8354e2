// How a body is written: JSON, forms, text, bytes. At most 8 MiB.

import { OperationError } from "../../failure.ts";
import type { Json, JsonObject } from "../../json.ts";
import { isList, isObject, objectAt, textAt } from "../read-json.ts";
import type { ApiBody } from "./body-shape.ts";
import { inQuery } from "./encode.ts";

const maxBytes = 8 * 1_024 * 1_024;

export interface WrittenBody {
  readonly content: string | Uint8Array<ArrayBuffer> | FormData;
  /** Left out for a multipart form, whose boundary the sender chooses. */
  readonly contentType?: string;
}

export function writeBody(body: ApiBody, value: Json): WrittenBody {
  const contentType = body.mediaType;
  switch (body.kind) {
    case "json":
      return { content: bounded(JSON.stringify(value)), contentType };
    case "form":
      return { content: bounded(formOf(body, object(value))), contentType };
    case "multipart":
      return { content: multipart(body, object(value)) };
    case "text":
      return { content: bounded(text(value)), contentType };
    case "bytes":
      return { content: bytesOf(value, "body"), contentType };
  }
}

function formOf({ encoding }: ApiBody, value: JsonObject): string {
  return Object.entries(value)
    .flatMap(([name, member]) => {
      if (member === null) return [];
      const said = objectAt(encoding, name);
      const style = textAt(said, "style");
      const isNested =
        isObject(member) || (isList(member) && member.some((it) => isObject(it) || isList(it)));
      return inQuery(
        {
          name,
          input: `body.${name}`,
          place: "query",
          style:
            style === "deepObject" || style === "spaceDelimited" || style === "pipeDelimited"
              ? style
              : "form",
          explode: said?.["explode"] !== false,
          allowReserved: false,
          isJson: isNested && style === undefined,
          isRequired: true,
          schema: {},
        },
        member,
      );
    })
    .join("&");
}

function multipart({ encoding }: ApiBody, value: JsonObject): FormData {
  const form = new FormData();
  let size = 0;
  for (const [name, member] of Object.entries(value)) {
    const types = textAt(objectAt(encoding, name), "contentType")?.split(",") ?? [];
    const type = types.length === 1 && !types[0]!.includes("*") ? types[0]!.trim() : undefined;
    for (const item of isList(member) ? member : [member]) {
      if (item === null) continue;
      size += append(form, name, item, type);
      if (size > maxBytes) throw tooLarge();
    }
  }
  return form;
}

/** Answers the field's size in bytes. */
function append(form: FormData, name: string, item: Json, type: string | undefined): number {
  if (isObject(item) && isFile(item)) {
    const bytes = bytesOf(item, `body.${name}`);
    const mediaType = textAt(item, "mediaType") ?? type ?? "application/octet-stream";
    form.append(name, new Blob([bytes], { type: mediaType }), textAt(item, "filename") ?? name);
    return bytes.length;
  }
  const text = isObject(item) || isList(item) ? JSON.stringify(item) : String(item);
  const isJson = isObject(item) || isList(item);
  if (isJson || type !== undefined)
    form.append(name, new Blob([text], { type: type ?? "application/json" }));
  else form.append(name, text);
  return text.length;
}

function isFile(item: JsonObject): boolean {
  const known = ["base64", "filename", "mediaType"];
  return (
    typeof item["base64"] === "string" && Object.keys(item).every((key) => known.includes(key))
  );
}

function bytesOf(value: Json, where: string): Uint8Array<ArrayBuffer> {
  if (typeof value === "string") return Uint8Array.from(new TextEncoder().encode(bounded(value)));
  const base64 = isObject(value) ? textAt(value, "base64") : undefined;
  if (base64 === undefined)
    throw new OperationError("invalid_input", `"${where}" must be text or { base64 }.`);
  bounded(base64, 4 / 3);
  let binary: string;
  try {
    binary = atob(base64);
  } catch (error) {
    throw new OperationError("invalid_input", `"${where}.base64" is no base64.`, { cause: error });
  }
  return Uint8Array.from(binary, (sign) => sign.charCodeAt(0));
}

function object(value: Json): JsonObject {
  if (isObject(value)) return value;
  throw new OperationError(
    "invalid_input",
    '"body" must be an object: its members are the fields of a form.',
  );
}

function text(value: Json): string {
  if (typeof value === "string") return value;
  throw new OperationError("invalid_input", '"body" must be text.');
}

function bounded(text: string, times = 1): string {
  if (text.length > maxBytes * times) throw tooLarge();
  return text;
}

function tooLarge(): OperationError {
  return new OperationError(
    "too_large",
    `The body is larger than ${maxBytes} bytes. Send less at once.`,
  );
}
