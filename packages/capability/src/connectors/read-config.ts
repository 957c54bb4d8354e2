// What configs of small kinds have in common: refused strictly, with what was probably meant.

import { OperationError } from "../failure.ts";
import type { JsonObject } from "../json.ts";
import { hint } from "./nearest.ts";

/** Throws an `OperationError` `invalid_config` for a key that the kind does not have. */
export function refuseUnknown(kind: string, config: JsonObject, keys: readonly string[]): void {
  const unknown = Object.keys(config).find((key) => !keys.includes(key));
  if (unknown === undefined) return;
  throw new OperationError(
    "invalid_config",
    `The config of ${kind}: "${unknown.slice(0, 100)}" is not a key of it.${hint(unknown, keys)}`,
  );
}

/** A text that must be there. */
export function textIn(kind: string, config: JsonObject, key: string): string {
  const value = config[key];
  if (typeof value === "string" && value !== "" && !value.includes("\0")) return value;
  throw new OperationError("invalid_config", `The config of ${kind}: "${key}" must be a text.`);
}
