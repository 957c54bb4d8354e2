// A harness that this version of Lichen does not know, of a session that another version made: listed and readable.

import { Fault } from "@lichen/wire";
import type { Harness } from "./harness.ts";

export function unknownHarness(name: string): Harness {
  const missing = `This version of Lichen does not know the harness ${name}: start the one that made this session.`;
  return {
    name,
    title: name,
    caps: { approve: false, takeover: false },
    can: {
      steer: false,
      approve: false,
      resume: true,
      takeover: false,
      images: false,
      models: false,
    },
    folds: false,
    find: () => ({ missing }),
    takesVariable: () => false,
    open: () => {
      throw new Fault("unavailable", missing, { retryable: false });
    },
  };
}
