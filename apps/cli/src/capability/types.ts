// The types of an operation, as code sees them.

import { declarationsOf } from "@lichen/capability/execute";
import type { CapabilityInfo, OperationInfo } from "@lichen/wire";

/** A TypeScript declaration of it. */
export function typesOf(
  { id, kind, namespace, grant }: CapabilityInfo,
  operation: OperationInfo,
): string {
  const { output, ...rest } = operation;
  // What it is for is told beside it.
  const described = { ...rest, description: "", ...(output && { output }) };
  const of = { id, kind, grant, name: namespace, description: "", operations: [described] };
  return declarationsOf([{ namespace: of, operation: described }]);
}
