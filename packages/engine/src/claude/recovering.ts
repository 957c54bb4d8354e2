// Goes on with a run whose process died: first what was missed comes into the log, then it is decided what is still to say.
//
//   CC20  A message that Claude Code has taken is never said again; one that never arrived is.
//   CC21  A turn that broke off goes on by a note; one whose end is known settles by it.
//   CC22  What the dead process asked is withdrawn, what it called ends as known or as unknown.

import type { Result, Run, Work } from "@lichen/runtime";
import { type Json, textOf } from "@lichen/wire";
import type { MadeCall } from "./calls.ts";
import { type DurableLine, readLine } from "./line.ts";
import { imagesOf, type Message } from "./outgoing.ts";
import type { ClaudePlace } from "./place.ts";
import { type Evidence, fateOf, forgottenCalls, noteOf, unheard, uuidOf } from "./recovery.ts";
import { settlementOf } from "./settlement.ts";
import { labelOf, mayHaveEffects } from "./tools.ts";
import { isCommand, type Turn } from "./turn.ts";

export interface Plan {
  readonly says: readonly Message[];
  readonly result?: Result;
}

export class Recovering {
  readonly #work: Work;
  readonly #turn: Turn;
  readonly #place: ClaudePlace;
  readonly #conversation: () => string | undefined;
  /** Messages that Claude Code said it knows. */
  readonly #known = new Set<string>();
  #isFirst = true;

  constructor(work: Work, turn: Turn, place: ClaudePlace, conversation: () => string | undefined) {
    this.#work = work;
    this.#turn = turn;
    this.#place = place;
    this.#conversation = conversation;
  }

  noteKnown(uuid: string): void {
    this.#known.add(uuid);
  }

  async plan(prompt: Message): Promise<Plan> {
    const { run } = this.#turn;
    const lines = run.lines();
    await this.withdraw("the process that asked has ended");
    await this.#adopt(lines);
    const said = [prompt, ...this.#steers(run)];
    const evidence = await this.#evidence(said, lines);
    const missed = unheard(evidence).map(readLine).filter(isDurable);
    if (missed.length > 0) await this.#turn.take(missed);
    const { asks, calls } = this.#turn;
    const open = [...calls.adopted, ...calls.all].filter(({ callId }) => !asks.wasLost(callId));
    const unknown = open.filter(({ name }) => mayHaveEffects(name));
    await calls.abandon((callId) => asks.wasLost(callId));
    const fate = fateOf(evidence);
    if (fate.is === "over") return { says: [], result: settlementOf(fate.result, this.#work.text) };
    const missing = said.filter(({ uuid }) => fate.missing.includes(uuid));
    const forgotten = forgottenCalls(evidence).filter(({ name }) => mayHaveEffects(name));
    const words = noteOf({ lostApproval: fate.lostApproval, unknown, forgotten });
    if (missing[0] === prompt && unknown.length + forgotten.length > 0)
      return { says: [{ ...prompt, text: `${prompt.text}\n\n${words}` }, ...missing.slice(1)] };
    if (missing[0] === prompt) return { says: missing };
    const note = { uuid: this.#freeNote(evidence), text: words };
    return { says: [{ ...note, images: [] }, ...missing] };
  }

  /** Nobody is there any more to be answered. */
  async withdraw(reason: string): Promise<void> {
    await this.#turn.asks.withdrawAll(reason);
    if (!this.#work.resumed || !this.#isFirst) return;
    await this.#turn.asks.withdrawLeft(reason);
  }

  /** Calls that an earlier host left open: what is known of them ends them. */
  async #adopt(lines: readonly Json[]): Promise<void> {
    if (!this.#work.resumed || !this.#isFirst) return;
    this.#isFirst = false;
    const heard = lines.map(readLine);
    const ids = new Set(
      heard.flatMap((line) =>
        line.is === "assistant"
          ? line.blocks.flatMap((block) => (block.type === "call" ? [block.id] : []))
          : [],
      ),
    );
    const { calls, run } = this.#turn;
    calls.adopt(openCallsOf(run, ids));
    const results = heard.flatMap((line) => (line.is === "results" ? line.results : []));
    const drafts = calls.unmade(results);
    if (drafts.length > 0) await run.append(drafts);
  }

  /** Steers of this run; those that were never taken are said again. */
  #steers(run: Run): Message[] {
    return run.transcript().flatMap((entry) => {
      if (entry.kind !== "message.user" || entry.data.steers !== run.commandId) return [];
      const images = imagesOf(run, entry.data.images ?? [], (bytes) => this.#place.toBase64(bytes));
      return [{ uuid: this.#place.messageUuid(entry.id), text: textOf(entry.data.text), images }];
    });
  }

  async #evidence(said: readonly Message[], lines: readonly Json[]): Promise<Evidence> {
    const conversation = this.#conversation();
    const first = said[0]?.uuid ?? "";
    const transcript =
      conversation === undefined ? [] : await this.#place.transcriptFrom(conversation, first);
    const taken = new Set(transcript.map(uuidOf));
    const notes = this.#notesIn(taken);
    return {
      ...{ lines, transcript, known: this.#known },
      messages: [...said.map(({ uuid }) => uuid), ...notes],
      isCommand: isCommand(this.#work.text) || this.#work.type === "compact",
    };
  }

  #notesIn(taken: ReadonlySet<string | undefined>): string[] {
    const notes: string[] = [];
    for (let uuid = this.#note(0); taken.has(uuid); uuid = this.#note(notes.length))
      notes.push(uuid);
    return notes;
  }

  /** A note that the conversation does not hold yet. */
  #freeNote({ transcript }: Evidence): string {
    const taken = new Set(transcript.map(uuidOf));
    let count = this.#notesIn(taken).length;
    while (this.#known.has(this.#note(count))) count++;
    return this.#note(count);
  }

  #note(count: number): string {
    return this.#place.messageUuid(`${this.#work.commandId}/note/${count}`);
  }
}

function isDurable(line: ReturnType<typeof readLine>): line is DurableLine {
  return "raw" in line;
}

function openCallsOf(run: Run, ids: ReadonlySet<string>): MadeCall[] {
  const transcript = run.transcript();
  const done = new Set(
    transcript.flatMap((entry) =>
      entry.kind === "message.tool" ? [`${entry.data.assistant}/${entry.data.index}`] : [],
    ),
  );
  return transcript.flatMap((entry) => {
    if (entry.kind !== "message.assistant") return [];
    return entry.data.content.flatMap((block) => {
      if (block.type !== "call" || !ids.has(block.callId)) return [];
      if (done.has(`${entry.id}/${block.index}`)) return [];
      const { index, callId, name, input } = block;
      const given = typeof input === "object" && input && !Array.isArray(input) ? input : {};
      return [{ assistant: entry.id, index, callId, name, input: given, label: labelOf(name) }];
    });
  });
}
