// Waits until all that an agent may call is there: a turn waits for servers 10 s at most, which a busy machine needs.

import type { Capabilities } from "@lichen/runtime";

/** Settles once `count` capabilities are listed and each of them can be called. */
export async function allActive(capabilities: Capabilities, count: number): Promise<void> {
  const done = Promise.withResolvers<void>();
  const look = () => {
    const rows = capabilities.registry.list();
    if (rows.length === count && rows.every(({ state }) => state === "active")) done.resolve();
  };
  const stop = capabilities.observe(look);
  look();
  await done.promise;
  stop();
}
