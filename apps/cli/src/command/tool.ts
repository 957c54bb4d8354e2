// `lichen tool`: the tools of an agent folder by hand, for people who write them: listed, described, or one of them run.

import type { Input } from "../command.ts";
import type { Terminal } from "../terminal.ts";
import { runApart } from "../tool/apart.ts";

export function run(input: Input, terminal: Terminal): Promise<number> {
  const { name, json, dir } = Object.fromEntries(
    ["name", "json", "dir"].map((argument) => [argument, input.argument(argument)]),
  );
  const state = input.value("state");
  return runApart(
    {
      words: { name, json, dir },
      state,
      flags: ["schema", "yes", "json"].filter((flag) => input.flag(flag)),
      showsLive: terminal.showsLive,
    },
    terminal,
  );
}
