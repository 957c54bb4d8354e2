// What an agent of a test can call: a server in the test's own process, with the operations that the test says.

import { type Connector, type Operation, OperationError } from "@lichen/capability";
import type { CapabilityOptions } from "../src/index.ts";

export class Lender {
  operations: Operation[];
  isAway = false;
  readonly calls: string[] = [];
  listed = 0;
  answer: (operation: string) => Promise<unknown> = async (operation) => ({ did: operation });
  #tell: () => void = () => {};

  constructor(operations: Operation[] = [operation("look"), operation("send", "write")]) {
    this.operations = operations;
  }

  /** Its server says that its list is another one. */
  tellChanged(): void {
    this.#tell();
  }

  options(more: Partial<CapabilityOptions> = {}): CapabilityOptions {
    return {
      factories: [{ kind: "lender", create: ({ id }) => this.#connector(id) }],
      resolver: { resolve: async () => ({ ok: true, auth: { kind: "none" } }) },
      ...more,
    };
  }

  #connector(id: string): Connector {
    return {
      ...{ id, kind: "lender", namespace: "lender", description: "Lends what a test says" },
      operations: async () => {
        this.listed++;
        if (this.isAway) throw new OperationError("unreachable", "Nobody is there: start it.");
        return this.operations;
      },
      call: async (called) => {
        this.calls.push(called);
        return this.answer(called);
      },
      onChanged: (listener) => {
        this.#tell = listener;
        return () => (this.#tell = () => {});
      },
    };
  }
}

export function operation(name: string, label: "read" | "write" = "read"): Operation {
  return { name, description: `To ${name}`, input: { type: "object" }, label };
}
