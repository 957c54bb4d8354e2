// Lines for a person who watches a host: each has a level, and LICHEN_LOG_LEVEL says from which on they are shown.

import { Fault } from "@lichen/wire";
import { nearest } from "@lichen/server/nearest";
import type { Terminal } from "./terminal.ts";

const levels = ["debug", "info", "warn", "error"] as const;
export type Level = (typeof levels)[number];
export type Log = (level: Level, line: string) => void;

export function openLog(terminal: Terminal, usual: Level): Log {
  const least = levels.indexOf(levelOf(process.env["LICHEN_LOG_LEVEL"]) ?? usual);
  return (level, line) => {
    if (levels.indexOf(level) < least) return;
    terminal.say(level === "info" || level === "debug" ? line : `${level}: ${line}`);
  };
}

function levelOf(name: string | undefined): Level | undefined {
  if (name === undefined || name === "") return undefined;
  const level = levels.find((it) => it === name);
  if (level !== undefined) return level;
  const meant = nearest(name, levels);
  throw new Fault(
    "invalid",
    `LICHEN_LOG_LEVEL is "${name}": use one of ${levels.join(", ")}${meant === undefined ? "" : ` (did you mean ${meant}?)`}.`,
  );
}
