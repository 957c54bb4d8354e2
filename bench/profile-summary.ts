// Where the time of a profiled process went: functions by their own time.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

interface Frame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A worker thread leaves a profile of its own: only the main thread's is summarized. */
const ofMainThread = /^CPU\.\d+\.\d+\.\d+\.0\.\d+\.cpuprofile$/;

/** Prints, for every profile below the folder, the functions that cost most. */
export function summarizeProfiles(folder: string, top = 25): void {
  for (const child of readdirSync(folder)) {
    for (const file of readdirSync(join(folder, child)).filter((name) => ofMainThread.test(name)))
      summarize(child, join(folder, child, file), top);
  }
}

function summarize(title: string, path: string, top: number): void {
  const profile = JSON.parse(readFileSync(path, "utf8")) as Profile;
  const names = new Map(profile.nodes.map((node) => [node.id, nameOf(node.callFrame)]));
  const own = new Map<string, number>();
  const rooms = new Map<string, number>();
  const roomOf = new Map(profile.nodes.map((node) => [node.id, roomName(node.callFrame)]));
  let busy = 0;
  for (const [at, id] of profile.samples.entries()) {
    const name = names.get(id) ?? "?";
    if (name === "(idle)" || name === "(program)") continue;
    const micros = profile.timeDeltas[at] ?? 0;
    busy += micros;
    own.set(name, (own.get(name) ?? 0) + micros);
    const room = roomOf.get(id) ?? "?";
    rooms.set(room, (rooms.get(room) ?? 0) + micros);
  }
  console.log(`\n${title}: ${(busy / 1_000).toFixed(0)} ms of work`);
  printShares("by folder", rooms, busy, 14);
  printShares("by function", own, busy, top);
}

function printShares(title: string, micros: Map<string, number>, of: number, top: number): void {
  console.log(` ${title}`);
  for (const [name, value] of [...micros].toSorted((a, b) => b[1] - a[1]).slice(0, top))
    console.log(`  ${((100 * value) / of).toFixed(1).padStart(5)} %  ${name}`);
}

/** The folder of a function's file; native functions by their own name. */
function roomName({ url, functionName }: Frame): string {
  if (url === "") return `native ${functionName || "(anonymous)"}`;
  if (url.startsWith("node:"))
    return url.replace(/^node:(internal\/)?/, "node:").replace(/\/[^/]*$/, "");
  return shortPath(url).replace(/\/[^/]*$/, "");
}

function shortPath(url: string): string {
  return url.replace(/^file:\/\//, "").replace(/^.*\/(node_modules|packages|bench)\//, "$1/");
}

function nameOf(frame: Frame): string {
  const name = frame.functionName || "(anonymous)";
  if (frame.url === "") return name;
  return `${name}  ${shortPath(frame.url)}:${frame.lineNumber + 1}`;
}
