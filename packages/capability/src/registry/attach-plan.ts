// From a request to a row: what is checked before anything is stored, and what a row begins with.
//
//   G16 A namespace that a capability has, or had, is never another's; who names nothing gets the connector's own hint.

import type { AuthConfig } from "../auth/auth-config.ts";
import { checkAuthConfig } from "../auth/check-auth-config.ts";
import type { Connector } from "../connector.ts";
import { hint } from "../connectors/nearest.ts";
import type { JsonObject } from "../json.ts";
import type { AttachRequest, CapabilityRow, OwnerLabel, Problem } from "./capability-row.ts";
import type { CapabilityFactory } from "./factory.ts";
import { NamespaceAllocator, type TakenName } from "./namespace-allocator.ts";
import { RegistryError } from "./registry-error.ts";
import { visible } from "../visible.ts";

const ownerLabels: readonly string[] = ["read", "write", "confirm"] satisfies OwnerLabel[];
const idShape = /^[A-Za-z][A-Za-z0-9_-]{0,127}$/;

/** What makes two requests the same one. */
export function requestText(request: AttachRequest): string {
  const { id: _id, requestId: _requestId, again: _again, ...rest } = request;
  return JSON.stringify(sorted(rest as JsonObject));
}

function sorted(value: JsonObject[string]): JsonObject[string] {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((item) => sorted(item));
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sorted(member)]),
  );
}

/** The row that a request begins with. `rows`: all others. */
export function requestedRow(
  request: AttachRequest,
  made: { id: string; digest: string; at: number; config: JsonObject },
  rows: readonly CapabilityRow[],
): CapabilityRow {
  const { description, grant } = request;
  const namespace = request.namespace ?? request.id;
  const earlier = rows.find((row) => row.id === made.id);
  const name = allocated(
    namespace ?? earlier?.namespace ?? request.kind,
    made.id,
    rows,
    (grant ?? request.id) !== undefined,
  );
  return {
    id: made.id,
    kind: request.kind,
    config: made.config,
    auth: checkedAuth(request),
    namespace: name,
    formerNamespaces: earlier && everLent(earlier) ? formerNames(earlier, name) : [],
    description: description ?? "",
    asked: {
      ...(namespace === undefined ? {} : { namespace }),
      ...(description === undefined ? {} : { description }),
      ...(grant === undefined ? {} : { grant }),
    },
    state: "requested",
    operations: [],
    formerProperties: earlier?.formerProperties ?? {},
    labels: cloned(checkedLabels(request.labels ?? {})),
    grant: grant ?? request.id ?? name,
    keep: request.keep === true,
    ...(request.file === undefined ? {} : { file: request.file }),
    request: made.digest,
    revision: earlier?.revision ?? 0,
    createdAt: made.at,
  };
}

/** The row as its connector makes it: what it is called and said to be, where its owner did not say so. */
export function activeRow(
  row: CapabilityRow,
  connector: Connector,
  rows: readonly CapabilityRow[],
): CapabilityRow {
  const { asked, problem: _, ...rest } = row;
  const isUnnamed = row.revision === 0 && asked.namespace === undefined;
  const hasKey = asked.grant !== undefined || row.grant !== row.namespace;
  const others = rows.filter(({ id }) => id !== row.id);
  const namespace = isUnnamed
    ? allocated(connector.namespace, row.id, others, hasKey)
    : row.namespace;
  const problem = labelProblem(row);
  return {
    ...rest,
    asked,
    namespace,
    grant: hasKey ? row.grant : namespace,
    description: asked.description ?? visible(connector.description ?? ""),
    ...(problem ? { problem } : {}),
  };
}

/** A label that names no operation says nothing: its author must learn of it. */
export function labelProblem(row: CapabilityRow): Problem | undefined {
  const names = row.operations.map(({ name }) => name);
  const wrong = Object.keys(row.labels).find((name) => !names.includes(name));
  if (wrong === undefined) return undefined;
  return {
    code: "unknown_label",
    message: `labels: ${row.namespace} has no operation ${wrong}, so its label says nothing.${hint(wrong, names)}`,
  };
}

/** What the row was called, without the name that it has now. */
export function formerNames(row: CapabilityRow, now: string): string[] {
  return [...new Set([...row.formerNamespaces, row.namespace])].filter((name) => name !== now);
}

/** A name for `identity`. `isOwnKey`: its grants go by a key of its own, so that it may be called like another one's key. */
export function allocated(
  preferred: string,
  identity: string,
  rows: readonly CapabilityRow[],
  isOwnKey: boolean,
): string {
  const others = rows.filter(everLent);
  const taken = function* (): Generator<TakenName> {
    if (!isOwnKey)
      for (const row of others)
        for (const name of [row.id, row.grant]) yield { name, identity: row.id };
    for (const row of others)
      for (const name of [row.namespace, ...row.formerNamespaces]) yield { name, identity: row.id };
  };
  return new NamespaceAllocator(taken()).allocate(preferred, identity);
}

/** What ended before it could ever be called leaves its name to the next. */
function everLent({ state, revision }: CapabilityRow): boolean {
  return state !== "released" || revision > 0;
}

export function checkedId(id: string): string {
  if (idShape.test(id)) return id;
  throw new RegistryError(
    "invalid",
    `id: ${JSON.stringify(id.slice(0, 100))} is not one: use letters, digits, _ and -, at most 128, a letter first.`,
  );
}

/** A word that is no label would take a confirmation away without a sound. */
export function checkedLabels(labels: CapabilityRow["labels"]): CapabilityRow["labels"] {
  const wrong = Object.entries(labels).find(([, label]) => !ownerLabels.includes(label));
  if (wrong === undefined) return labels;
  throw new RegistryError(
    "invalid",
    `labels: ${wrong[0].slice(0, 100)} has no label that there is: use ${ownerLabels.join(", ")}.`,
  );
}

function checkedAuth({ auth = { type: "none" } }: AttachRequest): AuthConfig {
  const checked = checkAuthConfig(auth);
  if ("auth" in checked) return cloned(checked.auth);
  throw new RegistryError("invalid", `${checked.problem}.`);
}

/** The configuration as its kind stores it; refuses one that no connector can be made from. */
export async function checkedConfig(
  { kind, config }: AttachRequest,
  factory: CapabilityFactory,
): Promise<JsonObject> {
  const given = cloned(config ?? {});
  try {
    return factory.check ? cloned(await factory.check(given)) : given;
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new RegistryError("invalid", `config of ${kind}: ${said}`, { cause: error });
  }
}

/** As it comes back from storage. */
function cloned<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}
