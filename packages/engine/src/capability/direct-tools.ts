// Operations as tools of their own, under names that every provider takes.

import type { CapabilitySource, Surface, SurfaceOperation } from "@lichen/capability";
import { callOnce, checkInput } from "@lichen/capability/execute";
import { JsonObject } from "@lichen/wire";
import type { Tool } from "../tool.ts";
import { askOf } from "./asks.ts";

export interface DirectOptions {
  readonly source: CapabilitySource;
  readonly taken?: Iterable<string>;
  readonly report?: (error: unknown) => void;
}

const longestName = 64;
const longestDescription = 2_000;

/** A tool for each operation, in the order of the surface. */
export function directTools(surface: Surface, options: DirectOptions): Tool[] {
  const taken = new Set(options.taken);
  return surface.namespaces.flatMap(({ name: namespace, grant, operations }) =>
    operations.map((operation) => {
      const name = freeName(`${namespace}_${operation.property}`, taken);
      taken.add(name);
      return directTool(name, `${namespace}.${operation.property}`, grant, operation, options);
    }),
  );
}

function directTool(
  name: string,
  called: string,
  grant: string,
  operation: SurfaceOperation,
  { source, report }: DirectOptions,
): Tool {
  const { description, input, label, confirm, replaySafe } = operation;
  return {
    name,
    description: description.slice(0, longestDescription),
    parameters: JsonObject.parse(input),
    label,
    grant,
    endsItself: true,
    ...(confirm === undefined ? {} : { confirm }),
    ...(replaySafe === undefined ? {} : { replaySafe }),
    // Also what a person edited comes through here.
    parse: (given) => {
      const parsed = JsonObject.safeParse(given);
      if (!parsed.success) throw new Error(`${name} takes one object with its fields.`);
      checkInput(name, parsed.data, input);
      return parsed.data;
    },
    execute: (given, { signal, access, ask, clean, ...host }) =>
      callOnce({
        ...{ source, operation: called, input: given },
        ...(report ? { report } : {}),
        context: {
          signal,
          output: (text) => host.output(text),
          // The tool's own confirmation came before its call.
          confirm: async () => confirm === true,
          ask: () => askOf(ask),
          ...(access ? { access } : {}),
          ...(clean ? { clean } : {}),
        },
      }),
  };
}

/** Letters, digits, `_` and `-`, at most 64; with a number behind it where another tool is called so. */
function freeName(wanted: string, taken: ReadonlySet<string>): string {
  const plain = wanted.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  for (let count = 1; ; count++) {
    const end = count === 1 ? "" : `_${count}`;
    const name = `${plain.slice(0, longestName - end.length)}${end}`;
    if (!taken.has(name)) return name;
  }
}
