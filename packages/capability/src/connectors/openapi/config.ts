// What the row of an OpenAPI capability says, read strictly.
//
// A document that comes from a server is that server's word: its methods make no operation a `read`. The owner who
// knows the service says so with `safeMethods`, or by labels on the row.

import { OperationError } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import { hint } from "../nearest.ts";
import { isObject } from "../read-json.ts";

export interface OpenApiConfig {
  /** Where the document is (http, https), a path that the host can read, or the document itself. */
  readonly spec: string | JsonObject;
  /**
   * Where the service is. Left out: the document's first server, on the origin that the document came from. It must be
   * there for calls with a credential where the document is no address.
   */
  readonly baseUrl?: string;
  /** GET, HEAD and OPTIONS are reads. Without it every operation is a `write`. */
  readonly safeMethods?: "read";
  /** For one call with its redirects and its answer, in ms: 60,000, at most 600,000. */
  readonly timeoutMs?: number;
}

const keys = ["spec", "baseUrl", "safeMethods", "timeoutMs"];

/** Throws an `OperationError` (`invalid_config`) that names what is wrong. */
export function readOpenApiConfig(value: unknown): OpenApiConfig {
  if (!isObject(value)) throw wrong("it is not an object: write { spec: … }.");
  const unknown = Object.keys(value).find((key) => !keys.includes(key));
  if (unknown !== undefined) throw wrong(`"${unknown}" is not a key of it.${hint(unknown, keys)}`);
  const { spec, baseUrl, safeMethods, timeoutMs } = value;
  if (!isObject(spec) && (typeof spec !== "string" || spec === ""))
    throw wrong('"spec" must be an address, a path or the document itself.');
  if (baseUrl !== undefined && typeof baseUrl !== "string")
    throw wrong('"baseUrl" must be an address.');
  if (safeMethods !== undefined && safeMethods !== "read")
    throw wrong('"safeMethods" can only be "read".');
  if (timeoutMs !== undefined && !isTime(timeoutMs))
    throw wrong('"timeoutMs" must be a whole number from 1 to 600000.');
  return {
    spec,
    ...(baseUrl === undefined ? {} : { baseUrl: httpUrl(baseUrl, '"baseUrl"').href }),
    ...(safeMethods === undefined ? {} : { safeMethods }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

/** An http or https address without a name and a password in it. */
export function httpUrl(text: string, what: string): URL {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol))
    throw wrong(`${what} must be an address that begins with https:// or http://.`);
  if (url.username !== "" || url.password !== "")
    throw wrong(`${what} must hold no user name and password: give the capability an auth.`);
  url.hash = "";
  return url;
}

function isTime(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= 600_000;
}

function wrong(problem: string): OperationError {
  return new OperationError("invalid_config", `The config of an OpenAPI capability: ${problem}`);
}
