// A session as clients of the machine API see it: every field, those of rooms that are not built yet with their empty values.

import type { SessionInfo } from "@lichen/wire";
import type { HarnessCaps } from "../harnesses/harness.ts";

export interface MachineSessionInfo {
  /** Never changes: names do. */
  readonly id: string;
  /** Of its log: another epoch begins its numbers anew. */
  readonly epoch: string;
  readonly name: string;
  readonly dir: string;
  readonly state: "idle" | "working" | "waiting";
  /** Prompts that wait for a person. */
  readonly pending: number;
  /** Whether its process is up. */
  readonly running: boolean;
  readonly last_seq: number;
  readonly last_time: string;
  readonly turns: number;
  readonly auto_approve: boolean;
  readonly context_used: number;
  readonly context_window: number;
  readonly preview: string;
  readonly model: string;
  readonly harness: string;
  readonly caps: HarnessCaps;
  readonly starred: boolean;
  readonly keep_running: boolean;
  readonly fresh_by_agents: false;
  readonly tasks_open: 0;
  readonly tasks_stalled: 0;
  readonly limited: null;
  readonly accept_caged: false;
  readonly accept_files_from: readonly string[];
  readonly file_requests: readonly never[];
  readonly task_requests: readonly never[];
  readonly meshes: readonly string[];
  readonly cage: null;
  readonly created: string;
  /** What is missing to start it, where something is. */
  readonly missing?: string;
  /** With `?tail=N` only. */
  readonly tail?: readonly string[];
}

/** Fields whose rooms are yet to come. */
export const laterFields = {
  fresh_by_agents: false,
  tasks_open: 0,
  tasks_stalled: 0,
  limited: null,
  accept_caged: false,
  accept_files_from: [],
  file_requests: [],
  task_requests: [],
  meshes: [],
  cage: null,
} as const;

/** Whether something is in hand there, as clients name it. */
export function stateOf({ state }: SessionInfo): MachineSessionInfo["state"] {
  switch (state) {
    case "idle":
      return "idle";
    case "waiting":
      return "waiting";
    case "queued":
    case "running":
      return "working";
  }
}
