// The owner's token of a host that a person names by its address: from a file, the environment, or the person.

import { readFile } from "node:fs/promises";
import { Fault } from "@lichen/wire";
import { askSecret } from "./ask-secret.ts";
import type { Input } from "./command.ts";
import type { Terminal } from "./terminal.ts";

export async function hostToken(input: Input, terminal: Terminal): Promise<string> {
  const path = input.value("token-file");
  if (path !== undefined) return fromFile(path);
  const named = process.env["LICHEN_TOKEN"];
  if (named !== undefined && named !== "") return named.trim();
  if (terminal.canAsk) {
    const typed = await askSecret("The host's token (`<state>/token` on its computer): ");
    if (typed !== "") return typed;
  }
  throw new Fault(
    "unauthenticated",
    "A host answers nobody without its token. Name a file that holds it with --token-file, or set LICHEN_TOKEN; " +
      "it lies in the host's state directory as `token`.",
  );
}

async function fromFile(path: string): Promise<string> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    throw new Fault("invalid", `The token cannot be read from ${path} (${code}): check the path.`);
  }
}
