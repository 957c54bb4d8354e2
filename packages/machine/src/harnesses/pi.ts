// pi, as a machine knows it.

import type { Harness } from "./harness.ts";
import { isProviderVariable } from "./environment.ts";
import { commandOf, findProgram } from "./find-program.ts";
import { piOutside, piToClaude } from "./pi-lines.ts";

export function piHarness(open: Harness["open"]): Harness {
  return {
    name: "pi",
    title: "pi",
    caps: { approve: false, takeover: true },
    can: { steer: true, approve: false, resume: true, takeover: true, images: true, models: true },
    // What is sent meanwhile waits until the turn is done.
    folds: false,
    find: (places) => {
      const program = findProgram("pi", places);
      return program === undefined
        ? {
            missing:
              "pi is not on this machine: install it with npm install -g @earendil-works/pi-coding-agent, then set up a model with `pi`.",
          }
        : { command: commandOf(program) };
    },
    takesVariable: isProviderVariable,
    open,
    toClaudeLine: piToClaude,
    outsideOf: piOutside,
  };
}
