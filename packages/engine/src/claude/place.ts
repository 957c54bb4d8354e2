// What the Claude Code driver needs of the computer that it runs on.

import type { Json } from "@lichen/wire";
import type { ProcessHost } from "../harness/process.ts";

export interface ClaudePlace {
  readonly processes: ProcessHost;
  /** Claude Code refuses to skip permissions as root, unless it is told that it is in a sandbox. */
  readonly isRoot: boolean;
  randomUuid(): string;
  /** The uuid of the message that carries what is named so: the same for ever. */
  messageUuid(name: string): string;
  toBase64(bytes: Uint8Array): string;
  /**
   * What Claude Code has of this conversation on disk: `begun` where nothing was said in it yet, which it can neither go
   * on with nor begin anew under that id.
   */
  stateOf(conversation: string): Promise<"unknown" | "begun" | "said">;
  /** The conversation's own lines from the message of this uuid on, oldest first; nothing where it holds none. */
  transcriptFrom(conversation: string, uuid: string): Promise<readonly Json[]>;
  /** Whether the owner has said that Claude Code may trust the folder: only there its local settings count. */
  isTrusted(): Promise<boolean>;
}
