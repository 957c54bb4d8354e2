// Surfaces for tests, and a source that tells what reached it.

import type {
  CapabilitySource,
  JsonObject,
  JsonSchema,
  Label,
  SourceContext,
  Surface,
  SurfaceNamespace,
  SurfaceOperation,
} from "@lichen/capability";
import { OperationError } from "@lichen/capability";

export function operation(
  property: string,
  given: Partial<SurfaceOperation> = {},
): SurfaceOperation {
  return {
    property,
    name: property,
    description: `Does ${property}.`,
    input: { type: "object" },
    label: "write" satisfies Label,
    ...given,
  };
}

export function namespace(
  name: string,
  operations: readonly SurfaceOperation[],
  given: Partial<SurfaceNamespace> = {},
): SurfaceNamespace {
  return {
    name,
    id: `id-${name}`,
    kind: "test",
    grant: name,
    description: `The ${name}.`,
    operations,
    ...given,
  };
}

export function surface(
  namespaces: readonly SurfaceNamespace[],
  renamed: Surface["renamed"] = {},
): Surface {
  return { revision: 1, namespaces, renamed };
}

export function schema(properties: JsonObject, required: readonly string[] = []): JsonSchema {
  return { type: "object", properties, required: [...required] };
}

export interface Made {
  readonly id: string;
  readonly operation: string;
  readonly input: JsonObject;
}

/** A source whose surface a test changes; `answer` says what each call comes to. */
export class TestSource implements CapabilitySource {
  current: Surface;
  readonly made: Made[] = [];
  answer: (made: Made, context: SourceContext) => Promise<unknown>;

  constructor(
    current: Surface,
    answer: TestSource["answer"] = async ({ operation: name }) => `did ${name}`,
  ) {
    this.current = current;
    this.answer = answer;
  }

  surface(): Surface {
    return this.current;
  }

  async call(
    id: string,
    name: string,
    input: JsonObject,
    context: SourceContext,
  ): Promise<unknown> {
    if (!this.current.namespaces.some((one) => one.id === id))
      throw new OperationError("detached", `${id} is not attached any more.`);
    const made = { id, operation: name, input };
    this.made.push(made);
    return this.answer(made, context);
  }
}
