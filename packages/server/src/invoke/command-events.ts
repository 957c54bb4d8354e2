// The events of one command, out of the partials and steps of its session. Pure.
//
//   Partials hold the whole so far; what is emitted is what they add, so a partial that was skipped loses nothing and
//   one that comes twice adds nothing. A message whose partials never came is emitted whole when it is stored.
//   A partial may arrive after the message that it grew into. One that says no more than the message before it is
//   passed over: what it shows, if it is a new message after all, comes with that one's next partial or its storing.
//   Every `tool_ended` follows its own `tool_started`, also for a call that was refused before it began.

import type { AgentEvent, Json, Partial } from "@lichen/wire";
import { abortedCode, interruptedCode } from "./contract.ts";
import type { Step } from "./step.ts";

export class CommandEvents {
  /** What of the message being written was emitted. */
  #thinking = "";
  #text = "";
  /** The message before it, as it was stored. */
  #before = { thinking: "", text: "" };
  #hasSpoken = false;
  #attempt: number | undefined;
  readonly #calls = new Map<string, { id: string; args: Json; hasStarted: boolean }>();
  readonly #ids = new Map<string, number>();

  partial(partial: Omit<Partial, "commandId">): AgentEvent[] {
    const events: AgentEvent[] = [];
    const { retrying } = partial;
    if (retrying && retrying.attempt !== this.#attempt) {
      this.#attempt = retrying.attempt;
      events.push({ type: "retrying", ...retrying });
    }
    const { thinking = "", text = "" } = partial;
    const isOld =
      this.#thinking === "" &&
      this.#text === "" &&
      this.#before.thinking.startsWith(thinking) &&
      this.#before.text.startsWith(text);
    if (isOld) return events;
    if (thinking !== "") this.#think(thinking, events);
    if (text !== "") this.#speak(text, events);
    return events;
  }

  step(step: Step): AgentEvent[] {
    const events: AgentEvent[] = [];
    switch (step.type) {
      case "said":
        this.#think(step.thinking, events);
        this.#speak(step.text, events);
        this.#before = { thinking: step.thinking, text: step.text };
        this.#thinking = "";
        this.#text = "";
        this.#attempt = undefined;
        for (const call of step.calls)
          this.#calls.set(key(step.entry, call.index), {
            id: this.#newId(call.callId),
            args: call.input,
            hasStarted: false,
          });
        break;
      case "began":
        this.#start(step, step.input, events);
        break;
      case "ended": {
        const call = this.#start(step, undefined, events);
        this.#calls.delete(key(step.assistant, step.index));
        events.push({
          type: "tool_ended",
          id: call.id,
          isError: step.isError,
          content: { content: step.content, details: step.details },
        });
        break;
      }
      case "settled":
        // An engine may name an answer that stands in no message.
        if (!this.#hasSpoken && step.terminal === "completed") this.#speak(step.answer, events);
        events.push(terminalOf(step));
        break;
    }
    return events;
  }

  #think(whole: string, events: AgentEvent[]): void {
    const delta = added(this.#thinking, whole);
    if (delta === "") return;
    this.#thinking = whole;
    events.push({ type: "thinking", delta });
  }

  #speak(whole: string, events: AgentEvent[]): void {
    const delta = added(this.#text, whole);
    if (delta === "") return;
    this.#text = whole;
    this.#hasSpoken = true;
    events.push({ type: "text", delta });
  }

  #start(
    step: Extract<Step, { type: "began" | "ended" }>,
    edited: Json | undefined,
    events: AgentEvent[],
  ): { id: string } {
    const at = key(step.assistant, step.index);
    const call = this.#calls.get(at) ?? {
      id: this.#newId(step.callId),
      args: {},
      hasStarted: false,
    };
    this.#calls.set(at, call);
    if (!call.hasStarted) {
      call.hasStarted = true;
      events.push({
        type: "tool_started",
        id: call.id,
        name: step.name,
        args: edited ?? call.args,
      });
    }
    return call;
  }

  /** Providers repeat their call ids; an event's id names one call of the command. */
  #newId(callId: string): string {
    const count = (this.#ids.get(callId) ?? 0) + 1;
    this.#ids.set(callId, count);
    return count === 1 ? callId : `${callId}#${count}`;
  }
}

/** What `whole` adds to what was emitted. A text that does not continue it is another one, and is emitted whole. */
function added(emitted: string, whole: string): string {
  if (whole.startsWith(emitted)) return whole.slice(emitted.length);
  return emitted.startsWith(whole) ? "" : whole;
}

function key(assistant: string, index: number): string {
  return `${assistant}:${index}`;
}

function terminalOf(settled: Extract<Step, { type: "settled" }>): AgentEvent {
  const { terminal, diagnostic } = settled;
  const failed = (details: string, retryable: boolean, code?: string): AgentEvent => ({
    type: "failed",
    details: diagnostic ?? details,
    retryable,
    ...(code === undefined ? {} : { code }),
  });
  switch (terminal) {
    case "completed": {
      const { cost, ...tokens } = settled.usage;
      const usage = cost === undefined ? tokens : { ...tokens, cost };
      return { type: "completed", data: { usage } };
    }
    case "failed":
      return failed("The run failed and gave no reason.", settled.retryable === true);
    case "cancelled":
      return failed("The command was cancelled.", false, abortedCode);
    case "interrupted":
      return failed(
        "The host stopped during the run and the run could not be resumed.",
        true,
        interruptedCode,
      );
    case "outcome_unknown":
      return failed(
        "The host stopped during a call that may have changed something: look before you try again.",
        false,
        "outcome_unknown",
      );
  }
}
