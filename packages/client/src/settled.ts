// Waiting for a command's end, for as long as it takes: reads follow each other, through outages too.

import { Fault, type Settlement } from "@lichen/wire";
import type { Session } from "./api.ts";
import { backoffMs, type ClientPlatform, pause, webPlatform } from "./platform.ts";

const readMs = 30_000;

/** How the command ended. Rejects with the signal's reason, or with a refusal that no retry can change. */
export async function settled(
  session: Pick<Session, "readSettlement">,
  commandId: string,
  options: { signal?: AbortSignal; platform?: Partial<ClientPlatform> } = {},
): Promise<Settlement> {
  const { signal } = options;
  const platform = { ...webPlatform, ...options.platform };
  let failures = 0;
  for (;;) {
    signal?.throwIfAborted();
    const began = platform.now();
    try {
      const reading = { timeoutMs: readMs, ...(signal ? { signal } : {}) };
      const settlement = await session.readSettlement(commandId, reading);
      if (settlement) return settlement;
      signal?.throwIfAborted();
      if (platform.now() - began >= readMs / 2) {
        failures = 0;
        continue;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!Fault.is(error) || !(error.retryable || error.code === "internal")) throw error;
    }
    // The host went down, or answered before its time: not at once again.
    await pause(platform, backoffMs(platform, failures++), signal);
  }
}
