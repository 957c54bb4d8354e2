// Goes on with a run whose process died: first what was missed comes into the log, then it is decided what is still to say.
//
//   CC20  A message that Claude Code has taken is never said again; one that never arrived is.
//   CC21  A turn that broke off goes on by a note; one whose end is known settles by it.
//   CC22  What the dead process asked is withdrawn, what it called ends as known, as unknown, or as not made.
//   CC40  A turn that was ended on purpose is over; what was not read of it is said to the next process.

import type { Result, Run, Work } from "@lichen/runtime";
import { type Json, textOf } from "@lichen/wire";
import type { MadeCall } from "./calls.ts";
import { type DurableLine, readLine } from "./line.ts";
import { imagesOf, type Message } from "./outgoing.ts";
import type { ClaudePlace } from "./place.ts";
import {
  askedIn,
  type Evidence,
  fateOf,
  forgottenCalls,
  type LeftCall,
  noteOf,
  unheard,
  unreadOf,
  uuidOf,
} from "./recovery.ts";
import { settlementOf } from "./settlement.ts";
import { labelOf, mayHaveEffects } from "./tools.ts";
import { isCommand, type Turn } from "./turn.ts";

export interface Plan {
  readonly says: readonly Message[];
  readonly result?: Result;
}

/** What is known after a death, once it is in the log. */
interface Known {
  readonly said: readonly Message[];
  readonly evidence: Evidence;
  /** Calls that may have changed something, for all that is known. */
  readonly unknown: readonly LeftCall[];
  /** Calls that waited for a person. */
  readonly unmade: readonly LeftCall[];
  readonly forgotten: readonly LeftCall[];
}

export class Recovering {
  readonly #work: Work;
  readonly #turn: Turn;
  readonly #place: ClaudePlace;
  readonly #conversation: () => string | undefined;
  /** Messages that Claude Code said it knows. */
  readonly #known = new Set<string>();
  /** Calls that an earlier host died with before anybody allowed them. */
  readonly #unmade = new Set<string>();
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

  /** The process died by itself: its turn goes on. */
  async plan(prompt: Message): Promise<Plan> {
    const known = await this.#learn([prompt]);
    const { said, evidence, unknown, unmade, forgotten } = known;
    const fate = fateOf(evidence);
    if (fate.is === "over") return { says: [], result: settlementOf(fate.result, this.#work.text) };
    const missing = said.filter(({ uuid }) => fate.missing.includes(uuid));
    if (missing[0] === prompt) return { says: reminded(missing, known) };
    const text = noteOf({ lostApproval: fate.lostApproval, unmade, unknown, forgotten });
    const note = { uuid: this.#freeNote(evidence), text };
    return { says: [{ ...note, images: [] }, ...missing] };
  }

  /**
   * The turn is over with its process, which was ended on purpose or did something by itself: what was not read is said
   * to the next one. Without such a message the run is over too; `otherwise` says how where nothing is unknown.
   */
  async rest(prompts: readonly Message[], otherwise: Result): Promise<Plan> {
    const inHand = this.#turn.messageInHand;
    const known = await this.#learn(prompts);
    const unread = unreadOf(known.evidence);
    const says = known.said.filter(({ uuid }) => unread.includes(uuid) && uuid !== inHand);
    if (says.length > 0) return { says: reminded(says, known) };
    const terminal = known.unknown.length > 0 ? "outcome_unknown" : otherwise.terminal;
    return { says, result: { ...otherwise, terminal } };
  }

  /** What was missed comes into the log, and what is left of the dead process ends there. */
  async #learn(prompts: readonly Message[]): Promise<Known> {
    const { run, calls } = this.#turn;
    const lines = run.lines();
    await this.withdraw("the process that asked has ended");
    await this.#adopt(lines);
    const said = [...prompts, ...this.#steers(run)];
    const evidence = await this.#evidence(said, lines);
    const missed = unheard(evidence).map(readLine).filter(isDurable);
    if (missed.length > 0) await this.#turn.take(missed);
    const open = [...calls.adopted, ...calls.all];
    const isUnmade = (callId: string): boolean =>
      this.#turn.asks.wasLost(callId) || this.#unmade.has(callId);
    const unmade = open.filter(({ callId }) => isUnmade(callId));
    const unknown = open.filter(({ callId, name }) => !isUnmade(callId) && mayHaveEffects(name));
    await calls.abandon(isUnmade);
    const forgotten = forgottenCalls(evidence).filter(({ name }) => mayHaveEffects(name));
    return { said, evidence, unknown, unmade, forgotten };
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
    const open = openCallsOf(run, ids);
    calls.adopt(open);
    const asked = askedIn(lines);
    for (const call of open)
      if (asked.has(call.callId) && !run.hasBegun(call)) this.#unmade.add(call.callId);
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

/** With what is to be known before calls are repeated. */
function reminded(says: readonly Message[], { unknown, unmade, forgotten }: Known): Message[] {
  const [first, ...others] = says;
  if (!first || unknown.length + unmade.length + forgotten.length === 0) return [...says];
  const words = noteOf({ lostApproval: false, unmade, unknown, forgotten });
  return [{ ...first, text: `${first.text}\n\n${words}` }, ...others];
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
