// What the tests of offered capabilities attach: a surface that they change, and a record of what reached it.

import { appendFile } from "node:fs/promises";
import type {
  CapabilitySource,
  JsonObject,
  SourceContext,
  Surface,
  SurfaceNamespace,
  SurfaceOperation,
} from "@lichen/capability";
import { OperationError } from "@lichen/capability";
import { createQuickJsExecutor } from "../../src/execute/host/quickjs-executor.ts";
import { capabilityTools, type CapabilityToolsOptions } from "../../src/index.ts";
import { type Rig, type RigOptions, startRig } from "../model/rig.ts";

export function operation(
  property: string,
  given: Partial<SurfaceOperation> = {},
): SurfaceOperation {
  const input = { type: "object", properties: {}, additionalProperties: true };
  return {
    property,
    name: property,
    description: `Does ${property}.`,
    input,
    label: "write",
    ...given,
  };
}

export function namespace(name: string, operations: readonly SurfaceOperation[]): SurfaceNamespace {
  return {
    name,
    id: `id-${name}`,
    kind: "test",
    grant: name,
    description: `The ${name}.`,
    operations,
  };
}

export interface Made {
  readonly operation: string;
  readonly input: JsonObject;
}

type Answer = (made: Made, context: SourceContext) => unknown;

export class Attached implements CapabilitySource {
  current: Surface;
  readonly made: Made[] = [];
  answer: Answer = ({ operation: name }) => `did ${name}`;

  constructor(...namespaces: SurfaceNamespace[]) {
    this.current = { revision: 1, namespaces, renamed: {} };
  }

  surface(): Surface {
    return this.current;
  }

  detach(name: string): void {
    const namespaces = this.current.namespaces.filter((one) => one.name !== name);
    this.current = { ...this.current, revision: this.current.revision + 1, namespaces };
  }

  async call(
    id: string,
    name: string,
    input: JsonObject,
    context: SourceContext,
  ): Promise<unknown> {
    if (!this.current.namespaces.some((one) => one.id === id))
      throw new OperationError("detached", `${id} is not attached any more.`);
    const made = { operation: name, input };
    this.made.push(made);
    return this.answer(made, context);
  }
}

export interface OfferedRig extends Rig {
  closeAll(): Promise<void>;
}

/** A conversation that is offered what is attached. */
export async function startOffered(
  source: CapabilitySource,
  options: RigOptions & Pick<CapabilityToolsOptions, "threshold" | "report"> = {},
): Promise<OfferedRig> {
  const executor = createQuickJsExecutor();
  const { threshold = 0, report } = options;
  const rig = await startRig({
    ...options,
    define: () => {
      const { tools, ...offered } = capabilityTools({
        ...{ source, executor, threshold },
        ...(report ? { report } : {}),
      });
      return { tools: [...(options.tools ?? []), ...tools], offered };
    },
  });
  return Object.assign(rig, {
    async closeAll() {
      await rig.close();
      await executor.close();
    },
  });
}

export const program = (code: string) => ({
  parts: [{ call: { name: "execute", input: { code } } }],
});

export const ledgerNamespace = namespace("ledger", [
  operation("note"),
  operation("pay", { confirm: true }),
]);

/** Writes down each call that was made, beside the store: what a process did is seen after its death. */
export function writesDown(store: string): Answer {
  return async ({ operation: name, input }) => {
    await appendFile(ledgerOf(store), `${name} ${JSON.stringify(input)}\n`);
    return { name, input };
  };
}

export function ledgerOf(store: string): string {
  return `${store}.ledger`;
}
