// How a call stands, as its mark, its colour and its remark: the same for a tool's call and for one that a program makes.

import type { CallState } from "@lichen/client";
import type { Style, Theme } from "./theme.ts";

export const marks: Readonly<Record<CallState, string>> = {
  called: "○ ",
  waiting: "? ",
  allowed: "○ ",
  denied: "⊘ ",
  running: "▸ ",
  done: "✓ ",
  failed: "✗ ",
  interrupted: "! ",
};

export const remarks: Readonly<Record<CallState, string>> = {
  called: "",
  waiting: "waits for your answer",
  allowed: "allowed",
  denied: "denied",
  running: "",
  done: "",
  failed: "",
  interrupted: "interrupted: its effect is unknown",
};

export function colorOf(state: CallState, theme: Theme): Style {
  return {
    called: theme.dim,
    waiting: theme.warn,
    allowed: theme.dim,
    denied: theme.error,
    running: theme.accent,
    done: theme.ok,
    failed: theme.error,
    interrupted: theme.warn,
  }[state];
}

/** In ms, where both ends are known. */
export function tookMs(startedAt: string | undefined, endedAt: string | undefined): number {
  return startedAt && endedAt ? Date.parse(endedAt) - Date.parse(startedAt) : 0;
}
