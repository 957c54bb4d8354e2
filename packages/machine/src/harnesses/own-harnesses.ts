// The coding agents that Lichen drives, in the order in which a machine offers them.

import { createAcpEngine, createClaudeEngine, createPiEngine } from "@lichen/engine/node";
import { acpHarness } from "./acp.ts";
import { claudeHarness } from "./claude.ts";
import type { Harness } from "./harness.ts";
import { piHarness } from "./pi.ts";

export function ownHarnesses(): Harness[] {
  return [
    claudeHarness(createClaudeEngine),
    piHarness(createPiEngine),
    acpHarness(createAcpEngine),
  ];
}
