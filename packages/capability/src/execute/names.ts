// What the code of a program can name: the operations of each namespace, as the program begins.

import type { Surface } from "../surface/surface.ts";
import { discoveryNamespace } from "./discovery.ts";
import type { ProgramNamesLike } from "./program.ts";

/** What code that begins now can name; a former namespace has what the one that it became has. */
export function namesOf({ namespaces, renamed }: Surface): ProgramNamesLike {
  const names: Record<string, readonly string[]> = {};
  for (const { name, operations } of namespaces)
    names[name] = operations.map(({ property }) => property);
  for (const [former, now] of Object.entries(renamed)) {
    const properties = names[now];
    if (properties && !Object.hasOwn(names, former)) names[former] = properties;
  }
  names[discoveryNamespace] = ["list", "search", "describe"];
  return names;
}
