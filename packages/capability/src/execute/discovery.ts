// How code finds what it may call: the operations of a namespace of their own, `capabilities`.
//
//   D4  Only what the session may call now is shown.
//   D5  Every answer is bounded, however much is attached.

import { type Access, decide } from "../access.ts";
import { hint } from "../connectors/nearest.ts";
import { isList, isObject, memberOf } from "../connectors/read-json.ts";
import { OperationError } from "../failure.ts";
import type { Json, JsonObject } from "../json.ts";
import type { Surface, SurfaceNamespace } from "../surface/surface.ts";
import { declarationsOf, signatureOf } from "./declarations.ts";
import { type Found, OperationIndex } from "./search.ts";
import { cutLine } from "./type-text.ts";

/** What code calls it; the registry gives this name to nothing. */
export const discoveryNamespace = "capabilities";

type Answer = (surface: Surface, given: Json | undefined, access: Access | undefined) => Json;

export interface Discovery {
  readonly list: Answer;
  readonly search: Answer;
  readonly describe: Answer;
}

export function isDiscovery(property: string): property is keyof Discovery {
  return property === "list" || property === "search" || property === "describe";
}

const most = { listed: 200, namespaces: 500, found: 50, described: 20, describedUnits: 48_000 };

export function createDiscovery(): Discovery {
  let indexed: { readonly surface: Surface; readonly index: OperationIndex } | undefined;
  const indexOf = (surface: Surface): OperationIndex => {
    if (indexed?.surface !== surface) indexed = { surface, index: new OperationIndex(surface) };
    return indexed.index;
  };
  return {
    list(surface, given, access) {
      const fields = fieldsOf("list", given, "namespace", ["namespace", "after", "limit"]);
      const name = textField("list", fields, "namespace");
      if (name === undefined) return { namespaces: namespacesOf(surface, access) };
      return operationsOf(namespaceNamed(surface, name, access), access, {
        after: textField("list", fields, "after") ?? "",
        limit: countField("list", fields, "limit", most.listed, most.listed),
      });
    },
    search(surface, given, access) {
      const fields = fieldsOf("search", given, "query", ["query", "limit", "namespace"]);
      const query = textField("search", fields, "query");
      if (query === undefined)
        throw invalid('search: say what you look for: capabilities.search("create an issue").');
      const within = textField("search", fields, "namespace");
      const only = within === undefined ? undefined : namespaceNamed(surface, within, access);
      const limit = countField("search", fields, "limit", 10, most.found);
      const found = indexOf(surface).search(
        query,
        ({ namespace, operation }) =>
          (only === undefined || namespace.id === only.id) &&
          decide(access ?? {}, namespace.grant, operation.label).allowed,
      );
      return {
        operations: found.slice(0, limit).map(toShown),
        more: Math.max(0, found.length - limit),
      };
    },
    describe(surface, given, access) {
      const names = namesOf(given);
      const found = names.flatMap((name) => foundNamed(surface, name, access));
      if (found.length > most.described)
        throw invalid(
          `describe: ${found.length} operations at once, and ${most.described} are the most: name fewer.`,
        );
      const share = Math.floor(most.describedUnits / found.length);
      return declarationsOf(found, {
        inputBudget: Math.min(12_000, share),
        outputBudget: Math.min(8_000, Math.floor(share / 2)),
      });
    },
  };
}

/** Lines for a prompt: what is attached and may be called, however much there is. Empty where there is nothing. */
export function namespacesText(surface: Surface, access?: Access, limit = 40): string {
  const all = namespacesOf(surface, access);
  if (all.length === 0) return "";
  const lines = all.slice(0, limit).map((namespace) => {
    const { name, operations, description } = namespace;
    const count = `${operations} operation${operations === 1 ? "" : "s"}`;
    return `- ${name} (${count})${description === "" ? "" : `: ${cutLine(description, 100)}`}`;
  });
  if (all.length > limit) lines.push(`- and ${all.length - limit} more: capabilities.list()`);
  return lines.join("\n");
}

function namespacesOf(surface: Surface, access: Access | undefined) {
  return surface.namespaces
    .map((namespace) => ({
      name: namespace.name,
      operations: callable(namespace, access).length,
      description: cutLine(namespace.description, 200),
    }))
    .filter(({ operations }) => operations > 0)
    .slice(0, most.namespaces);
}

function operationsOf(
  namespace: SurfaceNamespace,
  access: Access | undefined,
  { after, limit }: { readonly after: string; readonly limit: number },
): Json {
  const rest = callable(namespace, access)
    .filter(({ operation }) => operation.property > after)
    .sort((a, b) => (a.operation.property < b.operation.property ? -1 : 1));
  const shown = rest.slice(0, limit);
  const last = shown.at(-1);
  return {
    operations: shown.map(({ operation }) => ({
      name: `${namespace.name}.${operation.property}`,
      description: cutLine(operation.description, 120),
    })),
    ...(rest.length > limit && last ? { next: { after: last.operation.property } } : {}),
  };
}

function callable(namespace: SurfaceNamespace, access: Access = {}): Found[] {
  return namespace.operations
    .filter(({ label }) => decide(access, namespace.grant, label).allowed)
    .map((operation) => ({ namespace, operation }));
}

function toShown(found: Found): JsonObject {
  const { namespace, operation } = found;
  return {
    name: `${namespace.name}.${operation.property}`,
    description: cutLine(operation.description, 200),
    call: signatureOf(found),
    ...(operation.label === "read" ? { reads: true } : {}),
    ...(operation.confirm === true ? { asksPerson: true } : {}),
  };
}

function foundNamed(surface: Surface, name: string, access: Access | undefined): Found[] {
  const dot = name.indexOf(".");
  const namespace = namespaceNamed(surface, dot < 0 ? name : name.slice(0, dot), access);
  if (dot < 0) return callable(namespace, access);
  const property = name.slice(dot + 1);
  const operation =
    namespace.operations.find((one) => one.property === property) ??
    namespace.operations.find((one) => one.name === property);
  if (operation) {
    const decision = decide(access ?? {}, namespace.grant, operation.label);
    if (decision.allowed) return [{ namespace, operation }];
    throw new OperationError(decision.code, decision.message);
  }
  const names = callable(namespace, access).map((one) => one.operation.property);
  throw new OperationError(
    "unknown_operation",
    `${namespace.name} has no operation ${property.slice(0, 100)}.${hint(property, names)}`,
  );
}

function namespaceNamed(
  surface: Surface,
  name: string,
  access: Access | undefined,
): SurfaceNamespace {
  const now = Object.hasOwn(surface.renamed, name) ? surface.renamed[name] : undefined;
  const namespace = surface.namespaces.find((one) => one.name === (now ?? name));
  if (namespace) return namespace;
  const names = namespacesOf(surface, access).map((one) => one.name);
  throw new OperationError(
    "unknown_namespace",
    `Nothing that is called ${name.slice(0, 100)} is attached.${hint(name, names)}`,
  );
}

function namesOf(given: Json | undefined): string[] {
  const named = isObject(given)
    ? (memberOf(given, "operations") ?? memberOf(given, "input"))
    : given;
  const names = isList(named) ? named : [named];
  const texts = names.filter((name) => typeof name === "string");
  if (texts.length === 0 || texts.length < names.length)
    throw invalid('describe: name operations: capabilities.describe(["github.issuesCreate"]).');
  return [...new Set(texts)];
}

/** The fields of what was given; a text alone is the field `main`. */
function fieldsOf(
  called: string,
  given: Json | undefined,
  main: string,
  names: readonly string[],
): JsonObject {
  if (given === undefined || given === null) return {};
  if (typeof given === "string") return { [main]: given };
  if (!isObject(given))
    throw invalid(`${called}: takes one text, or one object with ${names.join(", ")}.`);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown === undefined) return given;
  throw invalid(`${called}: ${unknown.slice(0, 100)} is none of its fields: ${names.join(", ")}.`);
}

function textField(called: string, fields: JsonObject, name: string): string | undefined {
  const value = memberOf(fields, name);
  if (value === undefined || typeof value === "string") return value;
  throw invalid(`${called}: ${name} is a text.`);
}

function countField(
  called: string,
  fields: JsonObject,
  name: string,
  usual: number,
  limit: number,
): number {
  const value = memberOf(fields, name) ?? usual;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1)
    return Math.min(value, limit);
  throw invalid(`${called}: ${name} is a whole number from 1 to ${limit}.`);
}

function invalid(message: string): OperationError {
  return new OperationError("invalid_input", message);
}
