// The operations of a capability, page after page.

import type { Agent } from "@lichen/client";
import type { OperationInfo } from "@lichen/wire";

const pageLimit = 200;

export async function* operationsOf(
  agent: Agent,
  id: string,
): AsyncGenerator<OperationInfo, void, undefined> {
  for (let after: string | undefined; ;) {
    const page = await agent.capabilities.read(id, {
      limit: pageLimit,
      ...(after === undefined ? {} : { after }),
    });
    yield* page.operations;
    after = page.next;
    if (after === undefined) return;
  }
}

/** By what code calls it, or by its connector's own name; undefined where there is none, with all names. */
export async function operationCalled(
  agent: Agent,
  id: string,
  name: string,
): Promise<{ operation: OperationInfo | undefined; names: string[] }> {
  const names: string[] = [];
  let named: OperationInfo | undefined;
  for await (const operation of operationsOf(agent, id)) {
    if (operation.property === name) return { operation, names };
    if (operation.name === name) named ??= operation;
    names.push(operation.property);
  }
  return { operation: named, names };
}
