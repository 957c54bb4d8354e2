// What a run has to say to pi, as its log has it: its prompt, and what joined it.

import type { Run, Steer, TranscriptEntry, Work } from "@lichen/runtime";
import { textOf } from "@lichen/wire";

/** Of an operator, above one prompt. */
const mostLines = 100;

export class Words {
  readonly #work: Work;
  readonly #run: Run;

  constructor(work: Work, run: Run) {
    this.#work = work;
    this.#run = run;
  }

  /** The prompt as pi reads it: below what an operator recorded since the last one. A command has to stand alone. */
  get prompt(): string {
    const { text } = this.#work;
    if (text.startsWith("/")) return text;
    const transcript = this.#run.transcript(mostLines);
    const at = this.#placeOfPrompt(transcript);
    const before = transcript.slice(0, Math.max(at, 0));
    const lines = before.slice(before.findLastIndex(({ kind }) => kind !== "line") + 1);
    return [...lines.flatMap(textIn), text].join("\n\n");
  }

  /** Messages and lines that joined this run, in order. */
  get steers(): Steer[] {
    const { commandId } = this.#run;
    const transcript = this.#run.transcript();
    return transcript
      .slice(this.#placeOfPrompt(transcript) + 1)
      .filter((entry): entry is Steer =>
        entry.kind === "message.user" ? entry.data.steers === commandId : entry.kind === "line",
      );
  }

  #placeOfPrompt(transcript: readonly TranscriptEntry[]): number {
    const { commandId } = this.#run;
    return transcript.findIndex(
      (entry) => entry.kind === "message.user" && entry.commandId === commandId,
    );
  }
}

function textIn(entry: TranscriptEntry): string[] {
  return entry.kind === "line" ? [textOf(entry.data.text)] : [];
}
