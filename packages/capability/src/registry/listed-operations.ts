// What a connector lists, as the row stores it: plain JSON, bounded, each operation under a property that stays its own.
//
//   A property that an operation has, or had, is never another's. Words that people and models read hold nothing unseen.

import type { Operation } from "../operation.ts";
import type { SurfaceOperation } from "../surface/surface.ts";
import { OperationError } from "../failure.ts";
import { hasUnseen, visible, visibleSchema } from "../visible.ts";
import type { CapabilityRow } from "./capability-row.ts";
import { freeName, identifierOf, isReservedProperty } from "./names.ts";

const mostOperations = 10_000;
/** UTF-16 units of JSON. */
const mostUnits = 33_554_432;
/** Of properties whose operations are gone, the newest are remembered. */
const mostFormer = 1_000;

type Listed = Pick<CapabilityRow, "operations" | "formerProperties">;

/** The operations as they are stored, beside those of before; the very same object where nothing is different. */
export function listedOperations(listed: readonly Operation[], before: Listed): Listed {
  if (listed.length > mostOperations)
    throw new OperationError(
      "too_large",
      `It lists ${listed.length} operations, and ${mostOperations} are the most that can be attached: attach less of it.`,
    );
  const owners = new Map<string, string>(Object.entries(before.formerProperties));
  for (const { property, name } of before.operations) owners.set(property, name);
  const properties = new Map([...owners].map(([property, name]) => [name, property]));
  const operations = new Map<string, SurfaceOperation>();
  const counts = new Map<string, number>();
  for (const operation of listed) {
    if (operations.has(operation.name)) continue;
    let property = properties.get(operation.name);
    if (property === undefined) {
      property = freeName(
        identifierOf(operation.name, "operation"),
        (tried) => !owners.has(tried) && !isReservedProperty(tried),
        counts,
      );
      owners.set(property, operation.name);
    }
    operations.set(operation.name, { property, ...checked(operation) });
  }
  const sorted = [...operations.values()].sort((a, b) => (a.property < b.property ? -1 : 1));
  const text = textOf(sorted);
  if (text.length > mostUnits)
    throw new OperationError(
      "too_large",
      `Its operations take ${text.length} characters of JSON, and ${mostUnits} are the most that can be attached: attach less of it.`,
    );
  if (text === JSON.stringify(before.operations)) return before;
  const gone = [...owners].filter(([, name]) => !operations.has(name)).slice(-mostFormer);
  return {
    operations: JSON.parse(text) as SurfaceOperation[],
    formerProperties: Object.fromEntries(gone),
  };
}

/** What a capability that ends leaves behind: its properties, which stay their operations' own where it comes back. */
export function emptied<T extends Listed>(row: T): T {
  return { ...row, ...listedOperations([], row) };
}

function textOf(operations: readonly SurfaceOperation[]): string {
  const text = JSON.stringify(operations);
  return hasUnseen(text) ? JSON.stringify(operations.map(seen)) : text;
}

function seen(operation: SurfaceOperation): SurfaceOperation {
  const { description, input, output } = operation;
  return {
    ...operation,
    description: visible(description),
    input: visibleSchema(input),
    ...(output && { output: visibleSchema(output) }),
  };
}

/** A connector of a host may be anybody's code: what it lists must be what the contract says. */
function checked(operation: Operation): Operation {
  const { name, description, input, output, label, confirm, replaySafe } = operation;
  const isRight =
    typeof name === "string" &&
    name !== "" &&
    typeof description === "string" &&
    typeof input === "object" &&
    input !== null &&
    (label === "read" || label === "write");
  if (!isRight)
    throw new OperationError(
      "bad_operation",
      `Its connector lists an operation without a name, description, input or label: ${String(name).slice(0, 100)}.`,
    );
  return {
    name,
    description,
    input,
    ...(output === undefined ? {} : { output }),
    label,
    ...(confirm === undefined ? {} : { confirm }),
    ...(replaySafe === undefined ? {} : { replaySafe }),
  };
}
