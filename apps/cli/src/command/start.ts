// `lichen start`: serves an agent folder.

import type { Input } from "../command.ts";
import { openLog } from "../log.ts";
import { serve } from "../serve.ts";
import type { Terminal } from "../terminal.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  return serve(input, terminal, { log: openLog(terminal, "info") });
}
