// `lichen dev`: serves an agent folder, and says what it picks up of what changes there.

import { type FSWatcher, watch } from "node:fs";
import type { Host } from "@lichen/server/node";
import type { Input } from "../command.ts";
import { describeError } from "../fault-text.ts";
import { type Log, openLog } from "../log.ts";
import type { Problems } from "../problem.ts";
import { serve } from "../serve.ts";
import type { Terminal } from "../terminal.ts";

/** Editors write a file in several steps. */
const settleMs = 200;
/** What a person edits; the rest is tools' own and comes in with what imports it. */
const counts =
  /^(persona\.md|AGENTS\.md|CLAUDE\.md|models\.json|lichen\.config\.\w+|(tools|skills)\/.+)$/;

export async function run(input: Input, terminal: Terminal): Promise<number> {
  const log = openLog(terminal, "debug");
  return serve(input, terminal, {
    log,
    whileServing: (host, problems) => follow(host, problems, log),
  });
}

/** Reads the folder again after each change and says what became of it. The answer stops it. */
function follow(host: Host, problems: Problems, log: Log): () => void {
  const changed = new Set<string>();
  const served = settingsOf(host.config);
  let settings = served;
  let failure = "";
  let timer: NodeJS.Timeout | undefined;
  const tell = async (): Promise<void> => {
    const names = [...changed].toSorted();
    changed.clear();
    log("info", `changed: ${names.join(", ")} (counts from the next turn on)`);
    const { definition, diagnostics } = await host.load();
    failure = "";
    const now = settingsOf(definition.config);
    if (now !== settings && now !== served) {
      log(
        "warn",
        "http, publicUrl, allowedHosts and approvals.expireAfterMs count from the next start on",
      );
    }
    settings = now;
    problems.tell(diagnostics);
  };
  const fail = (error: unknown): void => {
    const text = describeError(error);
    if (text !== failure) log("error", text);
    failure = text;
  };
  const watcher = watchFolder(host.place.dir, log, (path) => {
    if (!counts.test(path)) return;
    changed.add(path);
    clearTimeout(timer);
    timer = setTimeout(() => {
      tell().catch(fail);
    }, settleMs);
  });
  return () => {
    clearTimeout(timer);
    watcher?.close();
  };
}

function watchFolder(
  dir: string,
  log: Log,
  onChange: (path: string) => void,
): FSWatcher | undefined {
  try {
    const watcher = watch(dir, { recursive: true, persistent: false }, (_event, path) => {
      if (path !== null) onChange(path);
    });
    watcher.on("error", (error) =>
      log("warn", `changes cannot be followed any more: ${error.message}`),
    );
    return watcher;
  } catch (error) {
    log("warn", `changes cannot be followed (they count all the same): ${String(error)}`);
    return undefined;
  }
}

/** What a host takes from its config once, when it starts. */
function settingsOf(config: Host["config"]): string {
  const { http, publicUrl, allowedHosts, approvals } = config;
  return JSON.stringify([http, publicUrl, allowedHosts, approvals?.expireAfterMs]);
}
