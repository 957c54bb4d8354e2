// `lichen models`: what can be named as a model, the usable ones first.

import { demoSpec } from "@lichen/engine";
import type { Input } from "../command.ts";
import { ownModels } from "../own-models.ts";
import type { Terminal } from "../terminal.ts";
import { commandName } from "../typed.ts";

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const models = await ownModels();
  const search = input.argument("search");
  const found = await models.listModels(search);
  if (input.flag("json")) {
    terminal.answer(`${JSON.stringify(found)}\n`);
    return found.length > 0 ? 0 : 1;
  }
  terminal.answer(found.map(({ spec }) => `${spec}\n`).join(""));
  if (found.length === 0) {
    terminal.say(`lichen: no model has "${search}" in its name; \`lichen models\` lists them all`);
    return 1;
  }
  const ready = found.filter(({ isReady, spec }) => isReady && spec !== demoSpec).length;
  const usable =
    ready === 0
      ? `none but the demo can be used yet: ${commandName()} login signs in to a provider`
      : `${ready} can be used: their key or login is at hand`;
  terminal.say(`${found.length} ${found.length === 1 ? "model" : "models"}; ${usable}`);
  return 0;
}
