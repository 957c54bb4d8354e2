// The pi engine on a computer of its own.

import { processHost } from "../../harness/host/launch.ts";
import type { HarnessEngine } from "../../harness/port.ts";
import { piEngine, type PiEngineOptions } from "../engine.ts";
import { sessionFiles } from "./session-files.ts";

/** An engine that drives the pi of `options.command` in `options.dir`. */
export function createPiEngine(options: PiEngineOptions): HarnessEngine {
  return piEngine(options, { processes: processHost, files: sessionFiles });
}
