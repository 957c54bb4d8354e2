// What a person at the terminal sees of one command: its answer as it grows, its tools, its troubles.
//
// On a screen the answer's text is shown live on stdout; into a pipe goes the settled answer alone, once.

import { isReadable } from "@lichen/client";
import {
  type CallBlock,
  type Entry,
  type EntryData,
  type EntryOf,
  known,
  type Partial,
  type Settlement,
  textOf,
} from "@lichen/wire";
import { LiveText } from "./live-text.ts";
import { oneLine } from "./printable.ts";
import type { Terminal } from "./terminal.ts";

export class RunView {
  readonly #terminal: Terminal;
  /** The assistant message being written. */
  readonly #live: LiveText;
  #commandId: string | undefined;
  #seen = 0;
  /** The last whole assistant message on the screen. */
  #last: string | undefined;
  #attempt = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#live = new LiveText(terminal);
  }

  follow(commandId: string): void {
    this.#commandId = commandId;
  }

  partial(partial: Partial): void {
    if (partial.commandId !== this.#commandId) return;
    if (partial.text !== undefined) this.#show(partial.text);
    const { retrying } = partial;
    if (retrying === undefined || retrying.attempt === this.#attempt) return;
    this.#attempt = retrying.attempt;
    this.#say(describeRetry(retrying));
  }

  entry(recorded: Entry): void {
    if (recorded.seq <= this.#seen) return;
    this.#seen = recorded.seq;
    if (recorded.commandId !== this.#commandId) return;
    const entry = isReadable(recorded) ? known(recorded) : undefined;
    if (entry?.kind === "message.assistant") this.#assistant(entry);
    if (entry?.kind === "message.tool") this.#say(describeOutcome(entry.data));
    if (entry?.kind === "program.call") this.#say(describeInnerCall(entry.data));
    if (entry?.kind === "program.outcome") this.#say(describeInnerOutcome(entry.data));
    if (entry?.kind === "run.recovered") this.#say("the run goes on after a restart of its host");
  }

  /** A sentence about the run, for the person who follows it. */
  tell(sentence: string): void {
    this.#say(sentence);
  }

  /** The answer, where it is not on the screen already. */
  settled(settlement: Settlement): void {
    const { answer } = settlement;
    if (!this.#terminal.showsLive) {
      if (answer !== "") this.#terminal.answer(ended(answer));
    } else if (answer !== "" && this.#last !== answer) {
      this.#show(answer);
      this.#live.endLine();
    }
    this.#live.endLine();
    if (settlement.terminal !== "completed") this.#say(describeEnd(settlement));
  }

  #assistant(entry: EntryOf<"message.assistant">): void {
    let text = "";
    for (const block of entry.data.content) if (block.type === "text") text += textOf(block.text);
    if (text !== "") {
      this.#show(text);
      this.#last = text;
    }
    this.#live.endLine();
    for (const block of entry.data.content) {
      if (block.type !== "call") continue;
      this.#say(describeCall(block));
    }
  }

  #show(text: string): void {
    if (this.#terminal.showsLive) this.#live.show(text);
  }

  #say(line: string): void {
    this.#live.endLine();
    this.#terminal.say(line);
  }
}

/** Why a model is asked again, and when. */
export function describeRetry(retrying: NonNullable<Partial["retrying"]>): string {
  const { attempt, maxAttempts, delayMs, reason } = retrying;
  return `the model call failed (${oneLine(reason, 200)}); trying again in ${seconds(delayMs)} (attempt ${attempt} of ${maxAttempts})`;
}

/** A tool call, on one line. */
export function describeCall({ name, input }: CallBlock): string {
  return `→ ${oneLine(name, 64)} ${oneLine(JSON.stringify(input), 200)}`;
}

/** What came of a tool call, on one line. */
export function describeOutcome({ name, isError, content }: EntryData["message.tool"]): string {
  const first = content.find((block) => block.type === "text");
  const text = first === undefined ? "" : oneLine(textOf(first.text), 200);
  return `${isError ? "✗" : "✓"} ${oneLine(name, 64)}${text === "" ? "" : ` ${text}`}`;
}

/** A call that a program makes, on one line. */
export function describeInnerCall({ operation, input }: EntryData["program.call"]): string {
  return `  → ${oneLine(operation, 132)} ${oneLine(JSON.stringify(input), 200)}`;
}

/** What came of it, on one line. */
export function describeInnerOutcome({
  operation,
  ok,
  value,
  code = "",
  message,
}: EntryData["program.outcome"]): string {
  const said = ok ? JSON.stringify(value ?? "") : message === undefined ? code : textOf(message);
  const shown = ok && value === undefined ? "" : ` ${oneLine(said, 200)}`;
  return `  ${ok ? "✓" : "✗"} ${oneLine(operation, 132)}${shown}`;
}

/** How a run ended, on one line. */
export function describeEnd({
  terminal,
  diagnostic,
}: Pick<Settlement, "terminal"> & { readonly diagnostic?: string | undefined }): string {
  const reason = diagnostic === undefined ? "" : `: ${oneLine(diagnostic, 1_024)}`;
  return `${endings[terminal]}${reason}`;
}

const endings: Readonly<Record<Settlement["terminal"], string>> = {
  completed: "the run is done",
  failed: "the run failed",
  cancelled: "the run was cancelled",
  interrupted: "the run was interrupted",
  outcome_unknown: "the run was interrupted, and nobody knows whether its last write happened",
};

function seconds(ms: number): string {
  return `${Number((ms / 1_000).toPrecision(2))} s`;
}

function ended(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
