// Makes the engine of one Claude Code on this computer.

import type { HarnessOptions } from "../../harness/port.ts";
import { claudeEngine, type ClaudeEngine } from "../engine.ts";
import { claudePlace } from "./place.ts";

/**
 * `options.command` is the program, `options.env` all of its environment: HOME, PATH and, where it is not
 * `$HOME/.claude`, CLAUDE_CONFIG_DIR. As root IS_SANDBOX=1 is added, without which it refuses to skip permissions.
 */
export function createClaudeEngine(options: HarnessOptions): ClaudeEngine {
  return claudeEngine(options, claudePlace(options));
}
