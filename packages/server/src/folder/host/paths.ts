// Paths of an agent's folder: what lies inside, and how a path is shown to whom.

import { relative, sep } from "node:path";
import { pathToFileURL } from "node:url";

/** Whether a path is `folder` or lies below it. Links are not followed. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** Relative where the path lies below `dir`, as it is elsewhere. */
export function pathFrom(dir: string, path: string): string {
  const way = relative(dir, path);
  return way === ".." || way.startsWith(`..${sep}`) ? path : way;
}

/** A message for others than the owner: paths below `dir` become relative to it, of any other only its last name stays. */
export function withoutPaths(message: string, dir: string): string {
  return message
    .replaceAll(`${pathToFileURL(dir).href}/`, "")
    .replaceAll(`${dir}/`, "")
    .replaceAll(dir, ".")
    .replace(/(^|[\s"'`(=,[])(?:file:\/\/)?\/(?:[^\s"'`()/:,]+\/)+([^\s"'`()/:,]+)/g, "$1$2");
}
