// Runs one search in a thread of its own, so that a slow expression or a huge tree stalls nobody and can be ended.

import { parentPort, workerData } from "node:worker_threads";
import { globMatcher } from "../glob.ts";
import {
  grepExpression,
  maxAnswerBytes,
  type SearchAnswer,
  type SearchRequest,
  shownLine,
} from "../search.ts";
import { Guard, type GuardOptions } from "./guard.ts";
import { type Visited, walk } from "./walk.ts";

export interface SearchTask {
  readonly guard: GuardOptions;
  readonly request: SearchRequest;
}

const maxFileBytes = 16 * 1_024 * 1_024;

async function search({ guard: options, request }: SearchTask): Promise<SearchAnswer> {
  const guard = new Guard(options);
  const lines: string[] = [];
  let bytes = 0;
  let found = 0;
  /** False where there is no room left. */
  const add = (some: readonly string[]): boolean => {
    const size = some.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
    if (bytes + size > maxAnswerBytes) return false;
    bytes += size;
    lines.push(...some);
    return true;
  };
  const root = guard.resolve(request.path);
  const matches = request.glob === undefined ? () => true : globMatcher(request.glob);
  if (request.type === "find") {
    for await (const { path, isFolder } of filesBelow(guard, root)) {
      if (!matches(relativeTo(root, path))) continue;
      if (found === request.limit) return { lines, found, hasMore: true };
      if (!add([guard.shown(path) + (isFolder ? "/" : "")])) return { lines, found, hasMore: true };
      found++;
    }
    return { lines, found, hasMore: false };
  }
  const expression = grepExpression(request);
  for await (const visited of filesBelow(guard, root)) {
    if (visited.isFolder || !matches(relativeTo(root, visited.path))) continue;
    const text = await textOf(visited);
    if (text === undefined) continue;
    const name = guard.shown(visited.path);
    const all = text.split("\n");
    let shownUntil = 0;
    for (const [index, line] of all.entries()) {
      if (!expression.test(line)) continue;
      if (found === request.limit) return { lines, found, hasMore: true };
      const from = Math.max(shownUntil, index - request.contextLines);
      const until = Math.min(all.length, index + request.contextLines + 1);
      const block: string[] = [];
      if (request.contextLines > 0 && from > shownUntil && lines.length > 0) block.push("--");
      for (let at = from; at < until; at++) {
        const isMatch = at === index || (at > index && expression.test(all[at] ?? ""));
        if (at > index && isMatch) break;
        const mark = isMatch ? ":" : "-";
        block.push(`${name}${mark}${at + 1}${mark} ${shownLine(all[at] ?? "")}`);
        shownUntil = at + 1;
      }
      if (!add(block)) return { lines, found, hasMore: true };
      found++;
    }
  }
  return { lines, found, hasMore: false };
}

/** The files below a folder, or the one file that the path is. */
async function* filesBelow(guard: Guard, root: string): AsyncGenerator<Visited> {
  if (await guard.isFolder(root)) return yield* walk(guard, root);
  await (await guard.openFile(root)).close();
  yield { path: root, isFolder: false, open: () => guard.openFile(root) };
}

async function textOf(visited: Visited): Promise<string | undefined> {
  const file = await visited.open();
  if (!file) return undefined;
  await using held = file;
  const { size } = await held.stat();
  if (size === 0 || size > maxFileBytes) return undefined;
  const bytes = await held.readFile();
  return bytes.subarray(0, 8_192).includes(0) ? undefined : bytes.toString("utf8");
}

function relativeTo(root: string, path: string): string {
  if (path === root) return path.slice(path.lastIndexOf("/") + 1);
  return path.slice(root === "/" ? 1 : root.length + 1);
}

const task: SearchTask = workerData;
search(task).then(
  (answer) => parentPort?.postMessage({ answer }),
  (error: unknown) =>
    parentPort?.postMessage({ refusal: error instanceof Error ? error.message : String(error) }),
);
