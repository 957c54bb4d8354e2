// Folders of files as a kind of capability.

import { OperationError } from "../../failure.ts";
import type { JsonObject } from "../../json.ts";
import type { CapabilityFactory } from "../../registry/factory.ts";
import { refuseUnknown, textIn } from "../read-config.ts";
import { createFilesConnector } from "./connector.ts";
import type { FileStore } from "./file-store.ts";

export interface FilesConfig {
  /** The folder, as its host reads paths. */
  readonly root: string;
  readonly mode: "read" | "write";
}

/** Throws an `OperationError` `invalid_config`. */
export function readFilesConfig(config: JsonObject): FilesConfig {
  refuseUnknown("files", config, ["root", "mode"]);
  const mode = config["mode"] ?? "read";
  if (mode !== "read" && mode !== "write")
    throw new OperationError("invalid_config", 'The config of files: mode is "read" or "write".');
  return { root: textIn("files", config, "root"), mode };
}

/** `open` reaches a folder; it may reject with an `OperationError` that says what to do. */
export function filesFactory(
  open: (root: string) => FileStore | Promise<FileStore>,
): CapabilityFactory {
  return {
    kind: "files",
    check: (config) => ({ ...readFilesConfig(config) }),
    async create({ id, namespace, description, config }) {
      const { root, mode } = readFilesConfig(config);
      return createFilesConnector({ id, namespace, description, mode, store: await open(root) });
    },
  };
}
