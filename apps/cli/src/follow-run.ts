// A run that this command line began or set going again, to its end: what is shown of it, who answers what it asks,
// and the exit code.

import type { Session } from "@lichen/client";
import { onStopSignal } from "@lichen/server/node";
import { type Approval, Fault } from "@lichen/wire";
import type { Asked, Decide } from "./ask.ts";
import type { Input } from "./command.ts";
import { decideAtTerminal, describeApproval, oneByOne } from "./decide.ts";
import { oneLine } from "./printable.ts";
import type { ReachedAgent } from "./reach-agent.ts";
import { RunView } from "./run-view.ts";
import type { Terminal } from "./terminal.ts";
import { howToAnswer } from "./waiting.ts";
import { wholeApproval } from "./whole-approval.ts";

export interface Follower {
  readonly reached: ReachedAgent;
  readonly session: Session;
  readonly input: Input;
  readonly terminal: Terminal;
  /** What the session is called to a person; its id where this is left out. */
  readonly name?: string;
  /** Said where Ctrl-C ends the following alone; `undefined` where the run is this command's own, and is cancelled with it. */
  readonly leaving: string | undefined;
}

export interface Following {
  readonly view: RunView;
  readonly decide: Decide;
  /** Aborted by Ctrl-C, where the run is this command's own. */
  readonly cancel: AbortSignal;
}

/**
 * Follows what `begin` does to its end. Answers the exit code, which is 130 after Ctrl-C: that ends the following alone,
 * unless the run is the command's own.
 */
export async function followRun(
  follower: Follower,
  begin: (following: Following) => Promise<Asked>,
): Promise<number> {
  const { input, terminal, leaving } = follower;
  const view = new RunView(terminal);
  const cancel = new AbortController();
  const left = Promise.withResolvers<undefined>();
  const ignoreSignals = onStopSignal(() => {
    terminal.say(leaving ?? "cancelling; once more to quit at once");
    if (leaving === undefined) cancel.abort();
    else left.resolve(undefined);
  });
  try {
    const following = { view, decide: deciderOf(follower), cancel: cancel.signal };
    const asked = await Promise.race([begin(following), left.promise]);
    if (asked === undefined) return 130;
    if (asked.outcome === "waiting") return sayWaiting(asked.approval, follower);
    const { settlement } = asked;
    if (input.flag("json")) terminal.answer(`${JSON.stringify(settlement)}\n`);
    else view.settled(settlement);
    if (settlement.terminal === "completed") return 0;
    return cancel.signal.aborted ? 130 : 1;
  } finally {
    ignoreSignals();
  }
}

function deciderOf({ reached, session, input, terminal, name = session.id }: Follower): Decide {
  const inTurn = oneByOne();
  return async (approval, withdrawn, isEarlier) => {
    if (isEarlier)
      terminal.say(`session ${oneLine(name, 256)} waits for an answer to an earlier message first`);
    if (terminal.canAsk) {
      const whole = await wholeHere(session, approval, terminal);
      if (whole) return inTurn(() => decideAtTerminal(terminal, whole, withdrawn));
    }
    terminal.say(describeApproval(approval));
    if (!reached.isShared) return undefined;
    terminal.say(`waiting for a person to answer:\n  ${howToAnswer(approval, input)}`);
    return new Promise((resolve) => {
      withdrawn.addEventListener("abort", () => resolve(undefined), { once: true });
    });
  };
}

/** The approval with all that is to be decided on; what cannot be shown here is not decided here. */
async function wholeHere(
  session: Session,
  approval: Approval,
  terminal: Terminal,
): Promise<Approval | undefined> {
  try {
    return await wholeApproval(approval, async (sha256) => (await session.blob(sha256))?.bytes);
  } catch (error) {
    if (!Fault.is(error)) throw error;
    terminal.say(`what is asked cannot be shown here: ${error.message}`);
    return undefined;
  }
}

function sayWaiting(
  approval: Approval,
  { session, input, terminal, name = session.id }: Follower,
): number {
  terminal.say(
    `lichen: session ${oneLine(name, 256)} waits for a person, and nobody can be asked here. It keeps waiting until ` +
      `${approval.expiresAt}. Answer with:\n  ${howToAnswer(approval, input)}`,
  );
  return 1;
}
