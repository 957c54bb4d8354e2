// Builds the surface from rows: a pure function, the same for the same rows in any order.

import type { CapabilityRow, OwnerLabel } from "../registry/capability-row.ts";
import type { Surface, SurfaceNamespace, SurfaceOperation } from "./surface.ts";

export function buildSurface(rows: Iterable<CapabilityRow>): Surface {
  let revision = 0;
  const namespaces: SurfaceNamespace[] = [];
  const renamed: [string, string][] = [];
  for (const row of rows) {
    revision = Math.max(revision, row.revision);
    const namespace = surfaceOf(row);
    if (!namespace) continue;
    namespaces.push(namespace);
    for (const former of row.formerNamespaces) renamed.push([former, row.namespace]);
  }
  return {
    revision,
    namespaces: namespaces.sort((a, b) => order(a.name, b.name)),
    renamed: Object.fromEntries(renamed.sort(([a], [b]) => order(a, b))),
  };
}

/** What one row adds to the surface; undefined where it lends nothing. */
export function surfaceOf(row: CapabilityRow): SurfaceNamespace | undefined {
  if (row.state !== "active") return undefined;
  return {
    name: row.namespace,
    id: row.id,
    kind: row.kind,
    grant: row.grant,
    description: row.description,
    operations: row.operations.map((operation) =>
      labelled(
        operation,
        Object.hasOwn(row.labels, operation.name) ? row.labels[operation.name] : undefined,
      ),
    ),
  };
}

/** The owner's word wins. */
function labelled(operation: SurfaceOperation, label: OwnerLabel | undefined): SurfaceOperation {
  if (label === undefined) return operation;
  const { confirm: _, ...rest } = operation;
  return label === "confirm" ? { ...rest, label: "write", confirm: true } : { ...rest, label };
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
