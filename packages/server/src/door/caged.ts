// What a machine passes on from a cage: it may look, and changes nothing, whoever's machine that is.

import { Fault } from "@lichen/wire";

/** A machine sets it on what it passes on. It only takes away. */
const cageHeader = "x-shrooms-caged";

/** Refuses (`denied`) what would change something and comes out of a cage, as its machine says. */
export function refuseCaged({ method, headers }: Request): void {
  if (method === "GET" || method === "HEAD" || !headers.has(cageHeader)) return;
  throw new Fault("denied", "What comes out of a cage changes nothing here: ask its owner.");
}
