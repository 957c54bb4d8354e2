// Where a service is. A document may say which path of an origin, and never lead to another origin than the one that the
// owner named: by `baseUrl`, else by the address the document was read from, else by handing the document itself in, which
// is enough only for calls without a credential.

import type { JsonObject } from "../../json.ts";
import { isObject, listAt, objectAt, textAt } from "../read-json.ts";
import { httpUrl, type OpenApiConfig } from "./config.ts";
import { badDocument } from "./bad-document.ts";

/** `source`: the address that the document came from, where it came from one. */
export function baseOf(config: OpenApiConfig, document: JsonObject, source: URL | undefined): URL {
  if (config.baseUrl !== undefined) return httpUrl(config.baseUrl, '"baseUrl"');
  const said = firstServer(document) ?? "/";
  const base = URL.parse(said, source?.href);
  if (!base || !/^https?:$/.test(base.protocol))
    throw badDocument(
      `its first server is ${said.slice(0, 100)}, which is no whole address. Say in the capability's config: baseUrl.`,
    );
  if (source && base.origin !== source.origin)
    throw badDocument(
      `it comes from ${source.origin} and names a server on ${base.origin.slice(0, 100)}. If that is right, say in the capability's config: baseUrl.`,
    );
  return httpUrl(base.href, "The document's first server");
}

/** The base of one operation, without a slash at its end; undefined where it would lie on another origin. */
export function serverOf(described: JsonObject, item: JsonObject, base: URL): string | undefined {
  const own = firstServer(described) ?? firstServer(item);
  const place = own === undefined ? base : URL.parse(own, base.href);
  if (!place || place.origin !== base.origin || place.username !== "" || place.password !== "")
    return undefined;
  return place.origin + place.pathname.replace(/\/+$/, "");
}

/** The first server's address with its variables at their defaults. */
function firstServer(described: JsonObject): string | undefined {
  const first = listAt(described, "servers")[0];
  const url = isObject(first) ? textAt(first, "url") : undefined;
  if (url === undefined || !isObject(first)) return undefined;
  const variables = objectAt(first, "variables");
  return url.replaceAll(/\{([^{}]+)\}/g, (whole, name: string) => {
    return textAt(objectAt(variables, name), "default") ?? whole;
  });
}
