// The models as a command finds them where it is typed: with this user's credentials, the variables and models.json
// of the current directory.

import { join } from "node:path";
import { createModels, type Models } from "@lichen/engine";
import { fileCredentials } from "@lichen/engine/node";
import { credentialsPath, FolderFiles, hostsDir, textOf } from "@lichen/server/node";
import { loadEnvironment } from "./environment.ts";

const maxModelsBytes = 1_024 * 1_024;

export async function ownModels(): Promise<Models> {
  await loadEnvironment(process.cwd());
  const modelsJson = await readModels(process.cwd());
  return createModels({
    env: (name) => process.env[name],
    credentials: fileCredentials(credentialsPath()),
    ...(modelsJson === undefined ? {} : { modelsJson }),
  });
}

/** The folder's models.json, where it can be read whole. */
export async function readModels(folder: string): Promise<string | undefined> {
  const found = await new FolderFiles([hostsDir()]).read(
    join(folder, "models.json"),
    folder,
    maxModelsBytes,
  );
  if (found === undefined || found.problem !== undefined || found.isCut) return undefined;
  return textOf(found);
}
