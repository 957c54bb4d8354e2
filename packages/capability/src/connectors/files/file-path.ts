// Paths as code gives them: relative to the folder, and never out of it.

import { OperationError } from "../../failure.ts";

const longest = 1_024;

/** The path in its one form, "" for the folder itself. Throws an `OperationError` `invalid_input`. */
export function filePath(given: string): string {
  if (given.length > longest) throw wrong(given, `is longer than ${longest} characters`);
  if (!given.isWellFormed() || /[\0\\]/.test(given))
    throw wrong(given, "holds a character that no path here has: separate folders with /");
  if (given.startsWith("/") || /^[A-Za-z]:/.test(given))
    throw wrong(given, "is absolute: say where it is from the folder on");
  const parts = given.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw wrong(given, "leads out of the folder with ..");
  return parts.join("/");
}

/** The same for a file or folder inside: the folder itself is refused. */
export function innerPath(given: string): string {
  const path = filePath(given);
  if (path === "") throw wrong(given, "is the folder itself: name something in it");
  return path;
}

export function joined(folder: string, name: string): string {
  return folder === "" ? name : `${folder}/${name}`;
}

function wrong(path: string, problem: string): OperationError {
  return new OperationError(
    "invalid_input",
    `The path ${JSON.stringify(path.slice(0, 100))} ${problem}.`,
  );
}
