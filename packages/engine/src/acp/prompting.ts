// One prompt, from before it is sent to the end of its turn.
//
//   - What is sent stands in the log before it is.
//   - A cancelled turn has 8 s to end; then the agent's whole process group is killed. One whose log cannot be written is
//     killed at once.

import { methods } from "@agentclientprotocol/sdk";
import type { Json } from "@lichen/wire";
import * as z from "zod";
import type { HarnessOptions } from "../harness/port.ts";
import { isUnwritable } from "../harness/stopping.ts";
import type { OwnModel } from "../harness/own-model.ts";
import type { Supervisor } from "../harness/supervisor.ts";
import { secretsOf } from "../harness/last-words.ts";
import { diagnosticOf } from "../model/diagnostic.ts";
import type { Asks } from "./asks.ts";
import type { Choices } from "./choices.ts";
import type { Held } from "./driver.ts";
import { signInFirst } from "./greeting.ts";
import { inTime } from "./in-time.ts";
import { authRequired, errorOf } from "./link.ts";
import type { PromptParts } from "./prompt.ts";
import { sending } from "./sent.ts";
import type { Stopped } from "./settlement.ts";
import type { Turn } from "./turn.ts";

/** How long a cancelled turn has to end. */
export const cancelMs = 8_000;
const lastWordsMs = 2_000;

export interface PromptingOptions {
  readonly options: HarnessOptions;
  readonly choices: Choices;
  readonly asks: Asks;
  readonly supervisor: Supervisor;
  readonly own: OwnModel;
}

export const unrecorded = "what it does cannot be recorded";

/** How a turn ended, and the line that said so. */
export interface TurnEnd {
  readonly stopped: Stopped;
  readonly answer?: Json | undefined;
}

export async function prompt(
  it: PromptingOptions,
  held: Held,
  turn: Turn,
  parts: PromptParts,
): Promise<TurnEnd> {
  const { run } = turn;
  const { link, talk } = held;
  const { sessionId } = talk;
  if (parts.hasImages && talk.facts?.takesImages !== true)
    return refused("This agent takes no images: send the message without them.");
  await inTime(
    it.choices.apply(link, sessionId, { settings: run.settings(), own: it.own }),
    "for the session's model or level",
    { clock: it.options.clock, supervisor: it.supervisor, signal: run.signal },
  );
  turn.line(sending(sessionId, parts.messages, it.choices.model));
  await turn.recorder.durable();
  turn.wasSent = true;
  talk.begin(turn);
  let cancelKill: (() => void) | undefined;
  const cancel = (): void => {
    if (isUnwritable(run.signal)) return void it.supervisor.stop(unrecorded);
    link.notify(methods.agent.session.cancel, { sessionId });
    cancelKill = it.options.clock.after(
      cancelMs,
      () => void it.supervisor.stop("it did not stop when it was cancelled"),
    );
  };
  try {
    const answered = link.request(methods.agent.session.prompt, {
      sessionId,
      prompt: parts.blocks,
    });
    run.signal.addEventListener("abort", cancel, { once: true });
    if (run.signal.aborted) cancel();
    const { stopReason, usage } = PromptAnswer.parse(await answered);
    if (usage) turn.addUsage(usage);
    return { stopped: { how: "stopped", reason: stopReason }, answer: talk.end() };
  } catch (error) {
    return { stopped: await whyStopped(it, error, held), answer: talk.end() };
  } finally {
    run.signal.removeEventListener("abort", cancel);
    cancelKill?.();
    if (it.asks.isWaiting) await it.asks.withdrawAll("the agent ended its turn");
  }
}

async function whyStopped(it: PromptingOptions, error: unknown, held: Held): Promise<Stopped> {
  const { code, message } = errorOf(error);
  if (code === undefined) await goneSoon(it, held);
  const { gone, facts } = held.talk;
  if (gone) return { how: "gone", words: gone.reason, wasAsked: gone.wasAsked };
  if (code === authRequired && facts)
    return { how: "refused", words: signInFirst(it, facts).message };
  return {
    how: "refused",
    words: `The agent refused: ${diagnosticOf(message, secretsOf(it.options.env))}`,
  };
}

/** A process that listens no more ends soon, or is ended. */
async function goneSoon({ options, supervisor }: PromptingOptions, held: Held): Promise<void> {
  const late = Promise.withResolvers<void>();
  const cancel = options.clock.after(lastWordsMs, late.resolve);
  await Promise.race([held.ended, late.promise]);
  cancel();
  if (!held.talk.gone) await supervisor.stop("it listened no more");
}

function refused(words: string): TurnEnd {
  return { stopped: { how: "refused", words } };
}

const count = z
  .number()
  .nonnegative()
  .nullish()
  .catch(undefined)
  .transform((it) => it ?? 0);

const PromptAnswer = z.object({
  stopReason: z.string(),
  usage: z
    .object({
      inputTokens: count,
      outputTokens: count,
      cachedReadTokens: count,
      cachedWriteTokens: count,
    })
    .transform((it) => ({
      input: it.inputTokens,
      output: it.outputTokens,
      cacheRead: it.cachedReadTokens,
      cacheWrite: it.cachedWriteTokens,
    }))
    .nullish()
    .catch(undefined),
});
