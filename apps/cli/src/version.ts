import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

/** The version of this Lichen, as its package states it. */
export async function version(): Promise<string> {
  const text = await readFile(fileURLToPath(import.meta.resolve("../package.json")), "utf8");
  const found = /"version": *"([^"]+)"/.exec(text)?.[1];
  if (found === undefined) throw new Error("the command line's own package.json names no version");
  return found;
}
