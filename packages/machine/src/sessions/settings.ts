// What a machine keeps of a coding-agent session beside its log: the agent's settings in the host's one store.

import type { KeptAgent } from "@lichen/runtime";
import { Fault } from "@lichen/wire";
import * as z from "zod";

/** Members that this version does not know stay in the store as they are. */
export const SessionSettings = z.object({
  /** Absolute. */
  dir: z.string(),
  harness: z.string(),
  /** Of a harness without a program of its own: the command and its arguments. */
  command: z.array(z.string()).exactOptional(),
  auto_approve: z.boolean(),
  keep_running: z.boolean(),
  starred: z.boolean(),
  /** False while it is being made: one that is left so was never there. */
  isMade: z.boolean().exactOptional(),
  /** Of a session that goes on with a conversation from elsewhere: the first `bytes` of `file` were said before it. */
  earlier: z.object({ file: z.string(), bytes: z.int().nonnegative() }).exactOptional(),
});
export type SessionSettings = z.infer<typeof SessionSettings>;

/** The settings of an agent that this machine keeps; undefined for one that is no coding agent. */
export function settingsOf({ agent, settings }: KeptAgent): SessionSettings | undefined {
  if (!("harness" in settings)) return undefined;
  const parsed = SessionSettings.safeParse(settings);
  if (parsed.success) return parsed.data;
  throw new Fault(
    "unreadable",
    `The settings of agent ${agent} cannot be read (${parsed.error.issues[0]?.path.join(".")}): they were written by another version of Lichen.`,
  );
}
