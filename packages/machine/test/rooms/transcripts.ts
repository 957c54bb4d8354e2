// Transcripts as coding agents leave them, for tests.

import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const minute = 60_000;
const began = Date.UTC(2026, 5, 1, 12);

/** When the nth line of a transcript was written. */
export function timeOf(n: number): string {
  return new Date(began + n * minute).toISOString();
}

export function typed(text: string, n: number, cwd?: string, more: object = {}): string {
  const message = { role: "user", content: text };
  return JSON.stringify({
    ...{ type: "user", isSidechain: false, message, timestamp: timeOf(n) },
    ...(cwd === undefined ? {} : { cwd }),
    ...more,
  });
}

export function said(text: string, n: number, more: object = {}): string {
  const content = [{ type: "text", text }];
  return JSON.stringify({
    ...{ type: "assistant", isSidechain: false, timestamp: timeOf(n) },
    message: { role: "assistant", model: "claude-x", content },
    ...more,
  });
}

export function toolResult(text: string, n: number): string {
  const content = [{ type: "tool_result", tool_use_id: "t", content: text }];
  return JSON.stringify({ type: "user", message: { role: "user", content }, timestamp: timeOf(n) });
}

export interface Written {
  readonly home: string;
  readonly id: string;
  readonly lines: readonly string[];
  /** Minutes after the first. */
  readonly age?: number;
  readonly folder?: string;
}

/** Puts a transcript of Claude Code where it keeps them. */
export function claudeTranscript({ home, id, lines, age = 0, folder = "-work" }: Written): string {
  return written(join(home, ".claude", "projects", folder, `${id}.jsonl`), lines, age);
}

export function piTranscript({ home, id, lines, age = 0, folder = "--work--" }: Written): string {
  const name = `2026-06-01T12-00-00-000Z_${id}.jsonl`;
  return written(join(home, ".pi", "agent", "sessions", folder, name), lines, age);
}

export function piHead(id: string, cwd: string): string {
  return JSON.stringify({ type: "session", version: 3, id, timestamp: timeOf(0), cwd });
}

export function piSaid(role: "user" | "assistant", text: string, n: number): string {
  const content = [{ type: "text", text }];
  return JSON.stringify({ type: "message", timestamp: timeOf(n), message: { role, content } });
}

function written(file: string, lines: readonly string[], age: number): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, lines.length === 0 ? "" : `${lines.join("\n")}\n`);
  const at = (began + age * minute) / 1000;
  utimesSync(file, at, at);
  return file;
}
