// `lichen models`: what can be named as a model, the usable ones first.

import { join } from "node:path";
import { createModels, demoSpec } from "@lichen/engine";
import { fileCredentials } from "@lichen/engine/node";
import { credentialsPath, FolderFiles, hostsDir, textOf } from "@lichen/server/node";
import type { Input } from "../command.ts";
import { loadEnvironment } from "../environment.ts";
import type { Terminal } from "../terminal.ts";

const maxModelsBytes = 1_024 * 1_024;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  await loadEnvironment(process.cwd());
  const modelsJson = await readModels(process.cwd());
  const models = createModels({
    env: (name) => process.env[name],
    credentials: fileCredentials(credentialsPath()),
    ...(modelsJson === undefined ? {} : { modelsJson }),
  });
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
      ? "none of a provider has its key in the environment or in .secrets/.env yet"
      : `${ready} can be used: their key or login is at hand`;
  terminal.say(`${found.length} ${found.length === 1 ? "model" : "models"}; ${usable}`);
  return 0;
}

async function readModels(folder: string): Promise<string | undefined> {
  const found = await new FolderFiles([hostsDir()]).read(
    join(folder, "models.json"),
    folder,
    maxModelsBytes,
  );
  return found === undefined || found.problem !== undefined ? undefined : textOf(found);
}
