// The session that a command line names: its id, and the sentence for one that is not there.

import { Fault, SessionId } from "@lichen/wire";
import { type Input, UsageError } from "./command.ts";
import { oneLine } from "./printable.ts";
import { commandName, samePlace } from "./typed.ts";

/** The id, where it can be one. */
export function sessionIdOf(word: string, command: string): string {
  const parsed = SessionId.safeParse(word);
  if (parsed.success) return word;
  throw new UsageError(`${command}: ${parsed.error.issues[0]?.message}`, command);
}

/** Does work on a session; one that is not there is refused with the way to find those that are. */
export async function onSession<T>(
  id: string,
  input: Input,
  work: () => Promise<T>,
  more = "",
): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!Fault.is(cause) || !(cause.code === "unknown_session" || cause.code === "closed"))
      throw cause;
    const list = `${commandName()} sessions${samePlace(input)}`;
    throw new Fault(
      cause.code,
      `There is no session "${oneLine(id, 256)}": \`${list}\` lists them${more}.`,
      { cause },
    );
  }
}
