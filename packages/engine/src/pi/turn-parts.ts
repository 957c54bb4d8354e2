// What a turn is given, and how it ends.

import type { Run } from "@lichen/runtime";
import type { BlobRef, Json, JsonObject } from "@lichen/wire";
import type { Gone } from "../harness/supervisor.ts";
import type { PiResponse } from "./codec.ts";
import type { Feed } from "./feed.ts";

/** What a turn asks of the process and of its host. */
export interface PiLink {
  /** Sends a command and settles with pi's answer. Rejects where the process is gone. */
  request(command: JsonObject): Promise<PiResponse>;
  /** Writes a line that is not answered. */
  tell(line: JsonObject): Promise<void>;
  /** A name for a command that no other command of this process has. */
  newId(): string;
  /** Ends the process; `why` stands in the log. */
  kill(why: string): void;
  /** Whether this version says when it has settled; undefined where that is not known yet. */
  saysSettled?: boolean | undefined;
  after(ms: number, wake: () => void): () => void;
  report(error: unknown): void;
}

export interface Prompt {
  readonly text: string;
  readonly images: readonly JsonObject[];
  /** Joins what runs now at its next step; otherwise it waits until that is done. */
  readonly steers?: boolean;
  /** Our own word: nobody misses it. */
  readonly isNote?: boolean;
  /** pi lost it once. */
  readonly isAgain?: boolean;
}

export type TurnEnd =
  | { readonly how: "settled"; readonly wasAborted: boolean }
  /** pi took the prompt, and no model was asked. `words`: of the extension's command that threw. */
  | { readonly how: "handled"; readonly line: Json; readonly words?: string }
  | { readonly how: "refused"; readonly words: string }
  | { readonly how: "compacted"; readonly response: PiResponse; readonly line: Json }
  | { readonly how: "gone"; readonly gone: Gone }
  | { readonly how: "stopped" };

export interface TurnParts {
  readonly run: Run;
  readonly feed: Feed;
  readonly link: PiLink;
  /** Images as pi takes them. */
  readonly images: (images: readonly BlobRef[]) => JsonObject[];
}
