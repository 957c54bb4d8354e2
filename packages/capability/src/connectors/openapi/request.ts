// One request of an operation: its address, headers and body from the input. The address can lie nowhere else than the
// operation's path below the base, whatever the values are.

import { OperationError } from "../../failure.ts";
import type { Json, JsonObject } from "../../json.ts";
import { writeBody } from "./body.ts";
import { inCookie, inHeader, inPath, inQuery, refused } from "./encode.ts";
import type { ApiOperation } from "./operations.ts";
import type { ApiParameter } from "./parameters.ts";

export interface ApiRequest {
  readonly method: string;
  readonly url: URL;
  /** Without auth. */
  readonly headers: Headers;
  readonly body?: string | Uint8Array<ArrayBuffer> | FormData;
}

const maxUrl = 16_384;

/** The input has been checked against the operation's schema. Throws an `OperationError` (`invalid_input`). */
export function requestOf(operation: ApiOperation, input: JsonObject): ApiRequest {
  const given = operation.parameters.flatMap((parameter): [ApiParameter, Json][] => {
    const value = Object.hasOwn(input, parameter.input) ? input[parameter.input] : undefined;
    if (value === undefined) return [];
    // What may be null and is not needed is left out.
    return value === null && !parameter.isRequired && !parameter.isJson ? [] : [[parameter, value]];
  });
  const headers = new Headers({ accept: operation.accept });
  for (const [parameter, value] of given)
    if (parameter.place === "header") headers.set(parameter.name, inHeader(parameter, value));
  const cookies = pairsOf(given, "cookie", inCookie);
  if (cookies.length > 0) headers.set("cookie", cookies.join("; "));
  const body =
    operation.body && input["body"] !== undefined
      ? writeBody(operation.body, input["body"])
      : undefined;
  if (body?.contentType !== undefined) headers.set("content-type", body.contentType);
  return {
    method: operation.method,
    url: addressOf(operation, given),
    headers,
    ...(body && { body: body.content }),
  };
}

function addressOf(operation: ApiOperation, given: readonly [ApiParameter, Json][]): URL {
  const values = new Map<string, string>();
  for (const [parameter, value] of given)
    if (parameter.place === "path") values.set(parameter.name, pathValue(parameter, value));
  const path = operation.path
    .split(/\{([^{}]*)\}/)
    .map((part, index) => (index % 2 === 0 ? fixed(part) : values.get(part)!))
    .join("");
  const query = pairsOf(given, "query", inQuery).join("&");
  const text = operation.base + path + (query === "" ? "" : `?${query}`);
  if (text.length > maxUrl)
    throw new OperationError(
      "invalid_input",
      `The address would be longer than ${maxUrl} characters.`,
    );
  const url = URL.parse(text);
  if (!url || url.origin + url.pathname !== operation.base + path)
    throw new OperationError(
      "invalid_input",
      `The values would lead to another path than ${operation.path}.`,
    );
  return url;
}

/** Never empty, and no step up or down: not once the server decodes it either. */
function pathValue(parameter: ApiParameter, value: Json): string {
  const written = inPath(parameter, value);
  if (written === "") throw refused(parameter, "a part of a path cannot be empty");
  const plain = decodeURIComponent(written);
  if ([plain, lenient(plain)].some((text) => /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/.test(text)))
    throw refused(parameter, "a part of a path cannot be or hold . or .. as a step");
  return written;
}

function lenient(text: string): string {
  return text.replaceAll(/%2e/gi, ".").replaceAll(/%2f/gi, "/").replaceAll(/%5c/gi, "\\");
}

/** `name=value` of all parameters of a place: no member of one stands in for another one. */
function pairsOf(
  given: readonly [ApiParameter, Json][],
  place: "query" | "cookie",
  write: typeof inQuery,
): string[] {
  const owners = new Map<string, ApiParameter>();
  const pairs: string[] = [];
  for (const [parameter, value] of given) {
    if (parameter.place !== place) continue;
    for (const pair of write(parameter, value)) {
      const key = pair.slice(0, pair.indexOf("="));
      const owner = owners.get(key);
      if (owner && owner !== parameter)
        throw refused(parameter, `a name in it is that of the parameter "${owner.input}"`);
      owners.set(key, parameter);
      pairs.push(pair);
    }
  }
  return pairs;
}

/** A fixed part of a template, as it stands in an address. */
function fixed(part: string): string {
  return part.replaceAll(/[^\w.~!$&'()*+,;=:@/%-]/gu, (sign) => encodeURIComponent(sign));
}
