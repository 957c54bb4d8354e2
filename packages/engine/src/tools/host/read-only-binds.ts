// What a sandbox binds read-only, and that nothing comes to be where such a path does not exist yet.
//
// Where there is nothing, a placeholder stands for as long as a command runs (bubblewrap would leave an empty file
// behind). A link cannot be mounted on and could be replaced, so the folder that holds it is bound.
//
// What remains: a file that its owner saves by renaming, or a folder that its owner replaces, while a command runs, is
// open to that command; a bind holds what was there when the command began.

import { randomInt } from "node:crypto";
import { lstatSync, readdirSync, readlinkSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { Fault } from "@lichen/wire";
import { isPlaceholder, leavePlaceholder, takePlaceholder } from "./placeholders.ts";
import { isWithin, isWritable } from "./places.ts";

export interface Held {
  /** Real paths that exist, none inside another. */
  readonly places: readonly string[];
  /** To be called when nothing of the command runs any more. */
  release(): void;
}

interface Spot {
  readonly place: string;
  readonly isThere: boolean;
}

const maxLinks = 40;
const maxLookedAt = 10_000;

export class ReadOnlyBinds {
  /** How many commands each placeholder serves. */
  readonly #serving = new Map<string, number>();
  readonly #mark = randomInt(1, 2 ** 30);

  /** `cwd` is a real path; what lies in `hidden` needs no bind. */
  hold(paths: readonly string[], cwd: string, hidden: readonly string[]): Held {
    const spots = paths
      .flatMap((path) => spotsOf(resolve(path), cwd))
      .filter(({ place }) => !hidden.some((mask) => isWithin(place, mask)));
    const existing = spots.filter(({ isThere }) => isThere).map(({ place }) => place);
    const missing = outermost(
      spots.filter(({ isThere }) => !isThere).map(({ place }) => place),
    ).filter((place) => !existing.some((other) => isWithin(place, other)));
    for (const place of outermost(existing)) refuseSecondNames(place, hidden);
    const taken: string[] = [];
    const release = () => {
      for (const place of taken.splice(0)) this.#leave(place);
    };
    try {
      for (const place of [...missing, ...existing]) if (this.#take(place)) taken.push(place);
    } catch (error) {
      release();
      throw error;
    }
    return { places: outermost([...existing, ...missing]), release };
  }

  /** True where a placeholder stands, made now or before. */
  #take(place: string): boolean {
    try {
      if (!takePlaceholder(place, this.#mark)) return false;
    } catch (error) {
      throw new Fault("unavailable", `${place} cannot be kept from agents. Nothing is run.`, {
        cause: error,
      });
    }
    this.#serving.set(place, (this.#serving.get(place) ?? 0) + 1);
    return true;
  }

  #leave(place: string): void {
    const left = (this.#serving.get(place) ?? 1) - 1;
    if (left > 0) return void this.#serving.set(place, left);
    this.#serving.delete(place);
    leavePlaceholder(place, this.#mark);
  }
}

/** Where a path leads: the first part of it that does not exist, or itself, and the folders of the links on its way. */
function spotsOf(path: string, cwd: string, links = 0): Spot[] {
  let place = "/";
  const names = path.split("/").filter((name) => name !== "");
  for (const [index, name] of names.entries()) {
    const next = join(place, name);
    const found = lstatSync(next, { throwIfNoEntry: false });
    if (!found) return isWritable(place) ? [{ place: next, isThere: false }] : [];
    if (found.isSymbolicLink()) {
      if (links === maxLinks) return [];
      const target = resolve(place, readlinkSync(next));
      const there = spotsOf(join(target, ...names.slice(index + 1)), cwd, links + 1);
      return isWritable(place) ? [folderOfLink(next, place, cwd), ...there] : there;
    }
    place = next;
    if (!found.isDirectory() || isPlaceholder(found)) break;
  }
  return [{ place, isThere: true }];
}

function folderOfLink(link: string, folder: string, cwd: string): Spot {
  if (!isWithin(cwd, folder)) return { place: folder, isThere: true };
  throw new Fault(
    "unavailable",
    `${relative(cwd, link) || link} is a link that belongs to the agent's code, and inside the sandbox a link beside the work cannot be kept from being replaced. No command is run. Put what it leads to in its place, or give the agent another working directory.`,
  );
}

/** A file with a second name could be changed under that name. Installed packages are left out: package stores link them. */
function refuseSecondNames(place: string, hidden: readonly string[]): void {
  const waiting = [place];
  for (let looked = 0; looked < maxLookedAt; looked++) {
    const path = waiting.pop();
    if (path === undefined) return;
    if (/\/(?:node_modules|\.git)(?:\/|$)/.test(path)) continue;
    if (hidden.some((mask) => isWithin(path, mask))) continue;
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory()) waiting.push(...namesIn(path).map((name) => join(path, name)));
    else if (found?.isFile() && found.nlink > 1 && isWritable(path))
      throw new Fault(
        "unavailable",
        `${path} belongs to the agent's code and has a second name (a hard link), under which a command could change it. No command is run. Copy the file and put the copy in its place.`,
      );
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function outermost(places: readonly string[]): string[] {
  const all = [...new Set(places)];
  return all.filter((place) => !all.some((other) => other !== place && isWithin(place, other)));
}
