// What a person sees of a session that they watch: all that is recorded in it, and text as it is written.
//
// Lines of the session go to stdout. On a screen a message grows there; into a pipe it goes once, whole.

import { isReadable } from "@lichen/client";
import {
  type Approval,
  approvalOf,
  type Baseline,
  type BlobRef,
  type Entry,
  type EntryData,
  known,
  type Partial,
  type Text,
  textOf,
} from "@lichen/wire";
import { describeApproval } from "./decide.ts";
import { LiveText } from "./live-text.ts";
import { oneLine, printable } from "./printable.ts";
import {
  describeCall,
  describeEnd,
  describeInnerCall,
  describeInnerOutcome,
  describeOutcome,
  describeRetry,
} from "./run-view.ts";
import type { Terminal } from "./terminal.ts";

/** Kinds that are for programs alone. */
const silent: ReadonlySet<string> = new Set([
  "command.queued",
  "call.started",
  "program.started",
  "grants.delivered",
  "run.started",
  "harness.line",
  "harness.conversation",
  "harness.process",
  "harness.stopped",
  "harness.restarted",
  "setting",
  "renamed",
]);

/** Whether a person sees something of the entry. */
export function isShown({ kind }: Entry): boolean {
  return !silent.has(kind);
}

export class WatchView {
  readonly #terminal: Terminal;
  readonly #howToAnswer: (approval: Approval) => string;
  readonly #live: LiveText;
  #isRunning = false;
  /** Up to which entry all is past, and what was asked until then and still waits. */
  #past: { readonly head: number; readonly waiting: ReadonlySet<string> } = {
    head: 0,
    waiting: new Set(),
  };
  #retry = "";

  constructor(terminal: Terminal, howToAnswer: (approval: Approval) => string) {
    this.#terminal = terminal;
    this.#howToAnswer = howToAnswer;
    this.#live = new LiveText(terminal);
  }

  /** How the session stands, before what led to it is shown: most of what was asked can be answered no more. */
  past({ head, approvals }: Pick<Baseline, "head" | "approvals">): void {
    const waiting = approvals.filter(({ state }) => state === "pending");
    this.#past = { head, waiting: new Set(waiting.map(({ approvalId }) => approvalId)) };
  }

  /** How the session stands, where what led to it is not shown. */
  begin({ running, approvals }: Baseline): void {
    this.now(running);
    for (const approval of approvals) if (approval.state === "pending") this.#asked(approval);
  }

  /** What runs now. */
  now(running: Baseline["running"]): void {
    this.#isRunning = running !== undefined;
    if (running?.partial !== undefined) this.partial(running.partial);
  }

  partial({ text, retrying }: Partial): void {
    if (text !== undefined && this.#terminal.showsLive) this.#live.show(text);
    if (retrying === undefined) return;
    const line = describeRetry(retrying);
    if (line !== this.#retry) this.#line(`! ${line}`);
    this.#retry = line;
  }

  entry(recorded: Entry): void {
    const entry = isReadable(recorded) ? known(recorded) : undefined;
    switch (entry?.kind) {
      case undefined:
        this.#line(`· ${oneLine(recorded.kind, 64)}, which this version cannot show`);
        break;
      case "command.queued":
        // One that runs at once is shown as the message it becomes.
        if (this.#isRunning) this.#line(`+ queued: ${preview(entry.data.text)}`);
        break;
      case "command.cancelled":
        if (entry.data.was === "pending")
          this.#line(`- taken back before it ran: ${preview(entry.data.text)}`);
        break;
      case "message.user":
        this.#block("> ", entry.data.text, entry.data.images);
        break;
      case "line":
        this.#block("# ", entry.data.text);
        break;
      case "message.assistant":
        this.#assistant(entry.data);
        break;
      case "message.tool":
        this.#line(describeOutcome(entry.data));
        break;
      case "run.started":
        this.#isRunning = true;
        break;
      case "run.recovered":
        this.#line("! the run goes on after a restart of its host");
        break;
      case "run.settled":
        if (entry.data.was !== "running") break;
        this.#isRunning = false;
        this.#line(`= ${describeEnd(entry.data)}`);
        break;
      case "call.started":
      case "program.started":
      case "grants.delivered":
      case "harness.line":
      case "harness.conversation":
      case "harness.process":
      case "harness.stopped":
      case "harness.restarted":
      case "setting":
      case "renamed":
        break;
      case "program.call":
        this.#line(describeInnerCall(entry.data));
        break;
      case "program.outcome":
        this.#line(describeInnerOutcome(entry.data));
        break;
      case "approval.asked":
        this.#asked(approvalOf(entry), entry.seq <= this.#past.head);
        break;
      case "approval.answered": {
        const { allow, message } = entry.data;
        const said = message === undefined ? "" : `: ${preview(message)}`;
        this.#line(`? ${allow ? "allowed" : "refused"}${said}`);
        break;
      }
      case "approval.withdrawn":
        this.#line(`? not asked any more: ${oneLine(entry.data.reason, 200)}`);
        break;
      case "approval.expired":
        this.#line("? nobody answered in time: refused");
        break;
      case "compaction":
        this.#line("~ what came before was summed up for the model");
        break;
      case "conversation.started":
        this.#line("~ a new conversation begins here");
        break;
      case "session.changed":
        this.#changed(entry.data);
        break;
    }
  }

  /** Ends a line that is being written. */
  end(): void {
    this.#live.endLine();
  }

  #assistant({ content }: EntryData["message.assistant"]): void {
    let text = "";
    for (const block of content) if (block.type === "text") text += textOf(block.text);
    if (text !== "") this.#live.show(text);
    this.#live.endLine();
    for (const block of content) if (block.type === "call") this.#line(describeCall(block));
  }

  #asked(approval: Approval, isPast = false): void {
    this.#line(`? ${describeApproval(approval).replaceAll("\n", "\n  ")}`);
    if (!isPast || this.#past.waiting.has(approval.approvalId))
      this.#line(`  ${this.#howToAnswer(approval)}`);
  }

  #changed({ title, model, reasoning }: EntryData["session.changed"]): void {
    if (title !== undefined) this.#line(`~ title: ${oneLine(title, 200)}`);
    if (model !== undefined)
      this.#line(`~ model: ${model === null ? "the engine's own" : oneLine(model, 200)}`);
    if (reasoning !== undefined) this.#line(`~ reasoning: ${reasoning}`);
  }

  #block(mark: string, text: Text, images: readonly BlobRef[] = []): void {
    const pictures = images.map(({ mimeType }) => `[${mimeType}]`);
    const said = [printable(textOf(text)).trimEnd(), ...pictures].filter((part) => part !== "");
    this.#line(`${mark}${said.join("\n").replaceAll("\n", `\n${mark}`)}`);
  }

  #line(line: string): void {
    this.#live.endLine();
    this.#terminal.answer(`${line}\n`);
  }
}

function preview(text: Text): string {
  return oneLine(textOf(text), 200);
}
