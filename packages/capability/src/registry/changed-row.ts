// What an owner changes of a capability: its name, labels, description and grant key.

import { allocated, checkedLabels, formerNames, labelProblem } from "./attach-plan.ts";
import type { CapabilityChanges, CapabilityRow } from "./capability-row.ts";
import { renameNotice, type RenameNotice } from "./surface-event.ts";

export function changedRow(
  before: CapabilityRow,
  changes: CapabilityChanges,
  rows: readonly CapabilityRow[],
): { row: CapabilityRow; notices: RenameNotice[] } {
  const { namespace, labels, description, grant } = changes;
  const name =
    namespace === undefined ? before.namespace : allocated(namespace, before.id, rows, true);
  const { problem: _, ...rest } = before;
  const row: CapabilityRow = {
    ...rest,
    namespace: name,
    formerNamespaces:
      name === before.namespace ? before.formerNamespaces : formerNames(before, name),
    description: description ?? before.description,
    asked: {
      ...before.asked,
      ...(namespace === undefined ? {} : { namespace }),
      ...(description === undefined ? {} : { description }),
      ...(grant === undefined ? {} : { grant }),
    },
    labels: labels === undefined ? before.labels : { ...checkedLabels(labels) },
    grant: grant ?? before.grant,
  };
  const problem = problemAfter(before, row);
  return {
    row: { ...row, ...(problem ? { problem } : {}) },
    notices: name === before.namespace ? [] : [renameNotice(before.id, before.namespace, name)],
  };
}

function problemAfter(before: CapabilityRow, row: CapabilityRow): CapabilityRow["problem"] {
  const isOfLabels = before.problem?.code === "unknown_label" || before.problem === undefined;
  return row.state === "active" && isOfLabels ? labelProblem(row) : before.problem;
}
