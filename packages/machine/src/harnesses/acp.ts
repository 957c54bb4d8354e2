// Any agent of the Agent Client Protocol: a session names the command that it is.

import { acpAnswered, acpToClaude } from "./acp-lines.ts";
import type { Harness } from "./harness.ts";
import { isProviderVariable } from "./environment.ts";
import { commandOf, findProgram } from "./find-program.ts";

export function acpHarness(open: Harness["open"]): Harness {
  return {
    name: "acp",
    title: "an agent of the Agent Client Protocol",
    caps: { approve: true, takeover: false },
    can: { steer: true, approve: true, resume: true, takeover: false, images: true, models: true },
    folds: false,
    takesCommand: true,
    find: (places, [name, ...args] = []) => {
      if (name === undefined) return { missing: "Name the program that the agent is." };
      const program = findProgram(name, places);
      return program === undefined
        ? {
            missing: `${name} is not on this machine: install it, or name the program by its whole path.`,
          }
        : { command: [...commandOf(program), ...args] };
    },
    takesVariable: isProviderVariable,
    open,
    toClaudeLine: acpToClaude,
    answeredIn: acpAnswered,
  };
}
