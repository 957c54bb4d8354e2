// Which texts pi takes as commands of its extensions.

import type { JsonObject } from "@lichen/wire";
import { isObject, type PiResponse } from "./codec.ts";

/** Whether this text runs a command of an extension, which leaves no message in pi's transcript. */
export async function isExtensionCommand(
  text: string,
  pi: { request(command: JsonObject): Promise<PiResponse> },
): Promise<boolean> {
  if (!text.startsWith("/")) return false;
  const name = text.slice(1).split(" ", 1)[0];
  const { data } = await pi.request({ type: "get_commands" });
  const { commands } = data;
  return (
    Array.isArray(commands) &&
    commands.some((one) => isObject(one) && one["name"] === name && one["source"] === "extension")
  );
}
