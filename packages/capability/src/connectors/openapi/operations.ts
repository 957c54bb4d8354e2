// The operations of a document: what each is called, what it takes and answers, and how that is sent.
//
// The input of an operation is one object: each parameter under its name, the body under `body`. Where one name stands
// in several places, or a parameter is called `body`, the path's keeps the name and the others are `<place>_<name>`.

import type { Json, JsonObject, JsonSchema } from "../../json.ts";
import type { Operation } from "../../operation.ts";
import { isObject, listAt, memberOf, objectAt, oneLine, textAt } from "../read-json.ts";
import { type ApiBody, bodyOf } from "./body-shape.ts";
import { acceptOf, outputOf } from "./answers.ts";
import { follow } from "./pointer.ts";
import { type ApiParameter, readParameters } from "./parameters.ts";
import { Schemas } from "./schemas.ts";
import { serverOf } from "./base-url.ts";
import { badDocument } from "./bad-document.ts";

export interface ApiOperation {
  readonly operation: Operation;
  /** In capitals. */
  readonly method: string;
  /** The template: `/repos/{owner}`. */
  readonly path: string;
  /** Without a slash at its end. */
  readonly base: string;
  readonly parameters: readonly ApiParameter[];
  readonly body?: ApiBody;
  /** The `accept` header. */
  readonly accept: string;
}

export interface ApiDocument {
  readonly title: string;
  readonly origin: string;
  readonly operations: ReadonlyMap<string, ApiOperation>;
  /** Why an operation of the document is not among them, by its name. */
  readonly leftOut: ReadonlyMap<string, string>;
}

const methods = ["get", "head", "options", "post", "put", "patch", "delete"];
const safe = ["get", "head", "options"];
const maxOperations = 5_000;
const maxWords = 600;

/** `base` is where the service is. Throws an `OperationError` (`bad_document`) for what is no document of 3.0 or 3.1. */
export function readDocument(
  document: JsonObject,
  base: URL,
  safeMethods: "read" | undefined,
): ApiDocument {
  const schemas = new Schemas(document, versionOf(document) === "3.0");
  const operations = new Map<string, ApiOperation>();
  const leftOut = new Map<string, string>();
  const ids = idsOf(document);
  for (const [path, item] of Object.entries(objectAt(document, "paths") ?? {})) {
    const whole = follow(document, item);
    if (typeof whole === "string") {
      leftOut.set(path, whole);
      continue;
    }
    for (const method of methods) {
      const described = objectAt(whole, method);
      if (!described) continue;
      if (operations.size >= maxOperations)
        throw badDocument(`it has more than ${maxOperations} operations.`);
      const id = textAt(described, "operationId");
      const own = id !== undefined && id.length <= 200 && ids.get(id) === 1 ? id : undefined;
      const name = free(own ?? nameOf(method, path), operations);
      const label = safeMethods === "read" && safe.includes(method) ? "read" : "write";
      const read = readOperation({ document, schemas, base, path, whole, method, described });
      if (typeof read === "string") leftOut.set(name, read);
      else operations.set(name, { ...read, operation: { ...read.operation, name, label } });
    }
  }
  const title = oneLine(textAt(objectAt(document, "info"), "title") ?? "", 100);
  return { title, origin: base.origin, operations, leftOut };
}

function versionOf(document: JsonObject): "3.0" | "3.1" {
  const version = textAt(document, "openapi") ?? "";
  if (version.startsWith("3.0.")) return "3.0";
  if (version.startsWith("3.1.") || version.startsWith("3.2.")) return "3.1";
  const old = memberOf(document, "swagger");
  throw badDocument(
    typeof old === "string"
      ? `it is Swagger ${old.slice(0, 20)}; OpenAPI 3.0 and 3.1 are understood. Convert it first.`
      : `it says no version 3.0 or 3.1 under "openapi"${version === "" ? "" : ` but ${version.slice(0, 20)}`}.`,
  );
}

interface Described {
  readonly document: JsonObject;
  readonly schemas: Schemas;
  readonly base: URL;
  readonly path: string;
  readonly whole: JsonObject;
  readonly method: string;
  readonly described: JsonObject;
}

type Unnamed = Omit<ApiOperation, "operation"> & {
  readonly operation: Omit<Operation, "name" | "label">;
};

/** A sentence where it cannot be called. */
function readOperation(from: Described): Unnamed | string {
  const { document, schemas, path, whole, method, described } = from;
  if (!path.startsWith("/") || /[?#\\]/.test(path) || !path.isWellFormed())
    return `its path ${path} is no plain path`;
  const base = serverOf(described, whole, from.base);
  if (base === undefined)
    return `it has a server of its own on another origin than ${from.base.origin}`;
  const mentions = new Set<string>();
  const parameters = readParameters(document, schemas, mentions, {
    path,
    listed: [...listAt(whole, "parameters"), ...listAt(described, "parameters")],
  });
  if (typeof parameters === "string") return parameters;
  const body = bodyOf(document, schemas, mentions, memberOf(described, "requestBody"));
  if (typeof body === "string") return body;
  if (body && (method === "get" || method === "head"))
    return `it wants a body with ${method.toUpperCase()}, which cannot be sent`;
  const responses = objectAt(described, "responses");
  const output = outputOf(document, schemas, responses);
  return {
    method: method.toUpperCase(),
    path,
    base,
    parameters,
    ...(body && { body }),
    accept: acceptOf(document, responses),
    operation: {
      description: describe(method, path, described),
      input: inputOf(parameters, body, schemas.definitions(mentions, "input")),
      ...(output && { output }),
    },
  };
}

function inputOf(
  parameters: readonly ApiParameter[],
  body: ApiBody | undefined,
  definitions: { $defs?: JsonObject },
): JsonSchema {
  const properties: [string, Json][] = [];
  const required: string[] = [];
  for (const { input, schema, isRequired } of parameters) {
    properties.push([input, schema]);
    if (isRequired) required.push(input);
  }
  if (body) properties.push(["body", body.schema]);
  if (body?.isRequired) required.push("body");
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...definitions,
  };
}

function describe(method: string, path: string, described: JsonObject): string {
  const summary = oneLine(textAt(described, "summary") ?? "", 200);
  const words = oneLine(textAt(described, "description") ?? "", maxWords);
  const parts = [
    memberOf(described, "deprecated") === true ? "Deprecated." : "",
    summary && !words.startsWith(summary) ? `${summary.replace(/\.$/, "")}.` : "",
    words,
    `(${method.toUpperCase()} ${path.slice(0, 200)})`,
  ];
  return parts.filter(Boolean).join(" ");
}

/** How often each operation id stands in the document: one that stands twice names nothing. */
function idsOf(document: JsonObject): Map<string, number> {
  const ids = new Map<string, number>();
  for (const item of Object.values(objectAt(document, "paths") ?? {}))
    for (const described of isObject(item) ? Object.values(item) : []) {
      const id = isObject(described) ? textAt(described, "operationId") : undefined;
      if (id !== undefined) ids.set(id, (ids.get(id) ?? 0) + 1);
    }
  return ids;
}

/** `get_repos_owner_repo` for GET /repos/{owner}/{repo}. */
function nameOf(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter(Boolean);
  return [method, ...words].join("_").slice(0, 200);
}

function free(name: string, taken: ReadonlyMap<string, unknown>): string {
  let free = name;
  for (let number = 2; taken.has(free); number++) free = `${name}_${number}`;
  return free;
}
