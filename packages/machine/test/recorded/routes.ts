// What the tables of routes hold: each route with what is asked of it, and what is answered.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Shape } from "./shape.ts";
import type { Condition } from "./stage.ts";

/** What stands for `{…}` in a path, a query or a body is said by the stage. */
export interface Exchange {
  readonly when: string;
  /** How the session stands that it is about. */
  readonly of?: Condition;
  readonly as?: "owner" | "viewer" | "process" | "nobody" | "peer";
  readonly query?: string;
  readonly path?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly text?: string;
  /** A body of so many bytes is announced, and none sent. */
  readonly announce?: number;
  readonly status: number;
  /** `none`: no body; `stream`: server-sent events, of these numbers at least. */
  readonly body: Shape;
  /** What some fields hold, by path: `sessions.0.name`. */
  readonly values?: Readonly<Record<string, unknown>>;
  readonly ids?: readonly number[];
  /** What Lichen answers where that is another, and why: see the decision. */
  readonly ours?: {
    readonly status: number;
    readonly body: Shape;
    readonly because: string;
  };
}

export interface Route {
  /** `POST /v1/sessions/{name}/rename`. */
  readonly route: string;
  readonly exchanges: readonly Exchange[];
}

export function routesOf(file: string): readonly Route[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, file), "utf8")) as readonly Route[];
}
