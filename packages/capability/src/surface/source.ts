// What can be called now, and the way to call it: read anew at every call, kept by nobody.

import type { CallContext } from "../connector.ts";
import type { JsonObject } from "../json.ts";
import type { Surface } from "./surface.ts";

export interface CapabilitySource {
  surface(): Surface;
  /**
   * Runs one operation (by the connector's name for it) of the capability `id` with auth asked for at this call. Rejects
   * with an `OperationError`; `detached` where it is attached no more, also when it was a moment ago.
   */
  call(id: string, operation: string, input: JsonObject, context: SourceContext): Promise<unknown>;
}

export type SourceContext = Omit<CallContext, "resolve">;
