// The lifecycle: requested → active → releasing → released, in this order, and requested → released where it is denied.

import type { CapabilityRow, CapabilityState } from "./capability-row.ts";
import { RegistryError } from "./registry-error.ts";

const next: Readonly<Record<CapabilityState, readonly CapabilityState[]>> = {
  requested: ["active", "released"],
  active: ["releasing"],
  releasing: ["released"],
  released: [],
};

function mayMove(from: CapabilityState, to: CapabilityState): boolean {
  return next[from].includes(to);
}

/** The row in its next state; refuses every other move. */
export function moved(row: CapabilityRow, to: CapabilityState): CapabilityRow {
  if (mayMove(row.state, to)) return { ...row, state: to };
  const [first] = next[row.state];
  throw new RegistryError(
    "invalid_move",
    `Capability ${row.id} is ${row.state} and cannot become ${to}: ${
      first === undefined ? "attach another one" : `it becomes ${next[row.state].join(" or ")} next`
    }.`,
  );
}
