// How a model is named on the command line: `demo` is short for the built-in one.

import { demoSpec } from "@lichen/engine";

/** `provider/id` for what was typed; undefined where nothing was. */
export function modelNamed(typed: string | undefined): string | undefined {
  if (typed === undefined || typed === "") return undefined;
  return typed === "demo" ? demoSpec : typed;
}

/** The variables of this process as a host reads them. */
export function variable(name: string): string | undefined {
  const value = process.env[name];
  return name === "LICHEN_MODEL" ? modelNamed(value) : value;
}
