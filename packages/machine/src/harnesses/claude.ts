// Claude Code, as a machine knows it.

import type { Harness } from "./harness.ts";
import { isClaudeVariable } from "./environment.ts";
import { commandOf, findProgram } from "./find-program.ts";

export function claudeHarness(open: Harness["open"]): Harness {
  return {
    name: "claude",
    title: "Claude Code",
    caps: { approve: true, takeover: true },
    can: { steer: true, approve: true, resume: true, takeover: true, images: true, models: true },
    folds: true,
    find: (places) => {
      const program = findProgram("claude", places);
      return program === undefined
        ? {
            missing:
              "Claude Code is not on this machine: install it (npm install -g @anthropic-ai/claude-code, or its own installer), then log in once with `claude`.",
          }
        : { command: commandOf(program) };
    },
    takesVariable: isClaudeVariable,
    open,
  };
}
