// What the file tools may read and never change: the code that a host runs outside the sandbox.
//
// A path and all below it, whether it exists yet or not, under every name: through links of either kind, `..`, another
// case, another mount.

import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Fault } from "@lichen/wire";
import { filesWithin, identityOf, isWithin, realPlace } from "./places.ts";

export class ReadOnlyPaths {
  readonly #list: () => readonly string[];

  /** The list is asked for at each change: what a host has loaded grows. */
  constructor(list: () => readonly string[] = () => []) {
    this.#list = list;
  }

  /**
   * Refuses where something at `place` (there or not yet) would be made, replaced or changed; `whole`: with all that is
   * below it.
   */
  async refuseChange(place: string, shown: string, whole = false): Promise<void> {
    const paths = [...new Set(this.#list().flatMap((path) => [resolve(path), realPlace(path)]))];
    if (paths.length === 0) return;
    if (whole && paths.some((path) => isWithin(path, place))) throw refusal(shown);
    if (paths.some((path) => isWithin(place, path))) throw refusal(shown);
    const identities = new Set<string>();
    for (const path of paths) {
      const found = await stat(path, { bigint: true }).catch(() => undefined);
      if (found) identities.add(identityOf(found));
    }
    for (let at = place; ; at = dirname(at)) {
      const found = await stat(at, { bigint: true }).catch(() => undefined);
      if (found && identities.has(identityOf(found))) throw refusal(shown);
      if (found?.isFile() && found.nlink > 1n)
        if ((await filesWithin(paths)).has(identityOf(found))) throw refusal(shown);
      if (at === dirname(at)) return;
    }
  }
}

function refusal(path: string): Fault {
  return new Fault(
    "denied",
    `${path} belongs to what runs outside the sandbox (the code and settings of this agent, or what its user's computer starts by itself), so tools may read it and not change it. Whoever owns the agent can change it outside the agent (in an editor), or give the agent another working directory; codingTools in lichen.config says which tools it has.`,
  );
}
