// Gets the document of a capability and reads it: once, for all who ask at the same time; a failure is not kept.
//
// A document at an address is read without auth; where that is refused, and the service is on the same origin, with it.
// Redirects stay on the origin.

import { OperationError } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import { isObject, oneLine } from "../read-json.ts";
import { baseOf } from "./base-url.ts";
import { httpUrl, type OpenApiConfig } from "./config.ts";
import { badDocument } from "./bad-document.ts";
import { type ApiDocument, readDocument } from "./operations.ts";
import { readBytes, textOf } from "./read-answer.ts";
import { send, type Sender, throwIfAborted } from "./send.ts";

const maxBytes = 32 * 1_024 * 1_024;

/** What a document that is no object in the config is read with. */
export interface SpecReading {
  /** Reads a file that the config names. Without it only addresses are read. */
  readonly readSpec?: (path: string, signal: AbortSignal) => Promise<string>;
  /** Reads YAML. Without it documents are JSON. */
  readonly parseYaml?: (text: string) => unknown;
}

export async function loadDocument(
  config: OpenApiConfig,
  reading: SpecReading,
  sender: Sender,
): Promise<ApiDocument> {
  const { spec } = config;
  if (typeof spec !== "string") return toDocument(spec, config, undefined);
  if (!isAddress(spec)) {
    if (!reading.readSpec)
      throw badDocument(`${spec.slice(0, 200)} is no address, and no files are read here.`);
    const text = await readFile(reading.readSpec, spec, sender.signal);
    return toDocument(parse(text, spec, reading), config, undefined);
  }
  const url = httpUrl(spec, '"spec"');
  const { text, place } = await fetchText(url, config, sender);
  return toDocument(parse(text, url.pathname, reading), config, place);
}

/** Whether a document is fetched; else it is a path, or stands in the config itself. */
export function isAddress(spec: OpenApiConfig["spec"]): boolean {
  return typeof spec === "string" && /^[a-z][a-z0-9+.-]+:\/\//i.test(spec);
}

async function readFile(
  read: NonNullable<SpecReading["readSpec"]>,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  try {
    return await read(path, signal);
  } catch (error) {
    throwIfAborted(signal);
    if (error instanceof OperationError) throw error;
    throw new OperationError(
      "bad_document",
      `The OpenAPI document ${oneLine(path, 100)} cannot be read. Check that it is there.`,
      { cause: error },
    );
  }
}

function toDocument(
  document: JsonObject,
  config: OpenApiConfig,
  source: URL | undefined,
): ApiDocument {
  return readDocument(document, baseOf(config, document, source), config.safeMethods);
}

async function fetchText(
  url: URL,
  { baseUrl }: OpenApiConfig,
  sender: Sender,
): Promise<{ text: string; place: URL }> {
  const accept = "application/json, application/yaml;q=0.9, */*;q=0.5";
  const request = { method: "GET", url, headers: new Headers({ accept }) };
  let answer = await send(request, { ...sender, authKind: "none" });
  const isOurs = baseUrl === undefined || URL.parse(baseUrl)?.origin === url.origin;
  if ([401, 403, 404].includes(answer.response.status) && isOurs && sender.authKind !== "none") {
    await answer.response.body?.cancel();
    answer = await send(request, sender);
  }
  const { response } = answer;
  if (!response.ok) {
    await response.body?.cancel();
    throw new OperationError(
      `http_${response.status}`,
      `The OpenAPI document cannot be read: ${url.host} answered ${response.status}.`,
    );
  }
  const bytes = await readBytes(response, sender.signal, maxBytes, "refuse");
  return { text: textOf(bytes), place: answer.url };
}

function parse(text: string, name: string, { parseYaml }: SpecReading): JsonObject {
  if (text.length > maxBytes) throw badDocument(`it is larger than ${maxBytes} bytes.`);
  const isJson = /^\uFEFF?\s*\{/.test(text);
  let value: unknown;
  try {
    if (isJson) value = JSON.parse(text.replace(/^\uFEFF/, ""));
    else if (parseYaml) value = parseYaml(text);
  } catch (error) {
    const why = error instanceof Error ? oneLine(error.message, 200) : "";
    throw badDocument(`${oneLine(name, 100)} is no ${isJson ? "JSON" : "YAML"}: ${why}`);
  }
  if (isObject(value)) return value;
  throw badDocument(
    value === undefined
      ? `${oneLine(name, 100)} is not JSON, and nothing here reads YAML.`
      : `${oneLine(name, 100)} holds no object.`,
  );
}
