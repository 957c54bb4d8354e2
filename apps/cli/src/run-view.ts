// What a person at the terminal sees of one command: its answer as it grows, its tools, its troubles.
//
// On a screen the answer's text is shown live on stdout; into a pipe goes the settled answer alone, once.

import {
  type Entry,
  type EntryOf,
  known,
  type Partial,
  type Settlement,
  textOf,
} from "@lichen/wire";
import { oneLine, printable } from "./printable.ts";
import type { Terminal } from "./terminal.ts";

export class RunView {
  readonly #terminal: Terminal;
  #commandId: string | undefined;
  #seen = 0;
  /** Of the assistant message being written, what is on the screen. */
  #shown = "";
  /** The last whole assistant message on the screen. */
  #last: string | undefined;
  #attempt = 0;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
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
    const { attempt, maxAttempts, delayMs, reason } = retrying;
    this.#say(
      `the model call failed (${oneLine(reason, 200)}); trying again in ${seconds(delayMs)} (attempt ${attempt} of ${maxAttempts})`,
    );
  }

  entry(recorded: Entry): void {
    if (recorded.seq <= this.#seen) return;
    this.#seen = recorded.seq;
    if (recorded.commandId !== this.#commandId) return;
    const entry = known(recorded);
    if (entry?.kind === "message.assistant") this.#assistant(entry);
    if (entry?.kind === "message.tool") this.#tool(entry);
    if (entry?.kind === "run.recovered") this.#say("the run goes on after a restart of its host");
  }

  /** The answer, where it is not on the screen already. */
  settled(settlement: Settlement): void {
    const { answer, terminal, diagnostic } = settlement;
    if (!this.#terminal.showsLive) {
      if (answer !== "") this.#terminal.answer(ended(answer));
    } else if (answer !== "" && this.#last !== answer) {
      this.#show(answer);
      this.#endLine();
    }
    this.#endLine();
    if (terminal === "completed") return;
    const reason = diagnostic === undefined ? "" : `: ${oneLine(diagnostic, 1_024)}`;
    this.#say(`${endings[terminal]}${reason}`);
  }

  #assistant(entry: EntryOf<"message.assistant">): void {
    let text = "";
    for (const block of entry.data.content) if (block.type === "text") text += textOf(block.text);
    if (text !== "") {
      this.#show(text);
      this.#last = text;
    }
    this.#endLine();
    for (const block of entry.data.content) {
      if (block.type !== "call") continue;
      this.#say(`→ ${oneLine(block.name, 64)} ${oneLine(JSON.stringify(block.input), 200)}`);
    }
  }

  #tool(entry: EntryOf<"message.tool">): void {
    const { name, isError, content } = entry.data;
    const first = content.find((block) => block.type === "text");
    const text = first === undefined ? "" : oneLine(textOf(first.text), 200);
    this.#say(`${isError ? "✗" : "✓"} ${oneLine(name, 64)}${text === "" ? "" : ` ${text}`}`);
  }

  /** Shows the message so far: only what the screen lacks. */
  #show(text: string): void {
    if (!this.#terminal.showsLive) return;
    const rest = text.startsWith(this.#shown) ? text.slice(this.#shown.length) : text;
    if (rest === "") return;
    this.#terminal.answer(printable(rest));
    this.#shown = text;
  }

  #endLine(): void {
    if (this.#shown !== "" && !this.#shown.endsWith("\n")) this.#terminal.answer("\n");
    this.#shown = "";
  }

  #say(line: string): void {
    this.#endLine();
    this.#terminal.say(line);
  }
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
