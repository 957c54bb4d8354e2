// Tools of a server as operations. What a server says of its own harmlessness counts for nothing: each is a `write`
// until its owner says otherwise.

import type { Operation } from "../../operation.ts";
import { isObject } from "../read-json.ts";

/** `tools` as `clean-tools.ts` left them. */
export function operationsOf(tools: readonly unknown[]): Operation[] {
  return tools.flatMap((tool) => {
    if (!isObject(tool) || typeof tool["name"] !== "string") return [];
    const { name, title, description, inputSchema, outputSchema } = tool;
    const named = typeof title === "string" ? title : "";
    const told = typeof description === "string" ? description : "";
    return [
      {
        name,
        description:
          named === "" || told.startsWith(named) ? told : told === "" ? named : `${named}: ${told}`,
        input: isObject(inputSchema) ? inputSchema : { type: "object" },
        ...(isObject(outputSchema) ? { output: outputSchema } : {}),
        label: "write",
      },
    ];
  });
}
