// The connection to one Claude Code: its process, its lines, and the run that they belong to.
//
//   CC3  Whatever it says belongs to the run in hand; what it begins by itself opens one, and nothing waits unheard.
//   CC4  A message is written once it is durable that it may be, and never twice in a process that knows it.

import type { Connection, EngineHost, EngineSession, Result, Run, Work } from "@lichen/runtime";
import { Fault, type JsonObject } from "@lichen/wire";
import type { HarnessOptions } from "../harness/port.ts";
import type { HarnessProcess } from "../harness/process.ts";
import { isUnwritable } from "../harness/stopping.ts";
import { type Gone, type HarnessStart, Supervisor } from "../harness/supervisor.ts";
import { ClaudeRun, type Refusal, type RunHouse } from "./claude-run.ts";
import { Control } from "./control.ts";
import { Cost } from "./cost.ts";
import { type Greeting, greetingOf, modelOf, noGreeting } from "./greeting.ts";
import { type ClaudeLine, type DurableLine, type PermissionRequest, readLine } from "./line.ts";
import { argumentsOf, unknownLine } from "./outgoing.ts";
import type { ClaudePlace } from "./place.ts";
import { Streamed } from "./streamed.ts";
import { lineDraft, Turn } from "./turn.ts";

const againMs = 50;
/** How late Claude Code writes a turn down that has ended: its 2.1.197 a tenth of a second, on a busy computer more. */
const writesLateMs = 500;

export class ClaudeConnection implements Connection {
  readonly stays = true;
  readonly supervisor: Supervisor;
  readonly #options: HarnessOptions;
  readonly #place: ClaudePlace;
  readonly #host: EngineHost;
  readonly #control: Control;
  #greeting: Greeting = noGreeting;
  #turn: Turn | undefined;
  #lines: DurableLine[] = [];
  readonly #streamed = new Streamed();
  /** What a run that has ended asked and nobody has decided: the next one asks it. */
  #left: PermissionRequest[] = [];
  /** The process that is or was greeted: it is answered from then on. */
  #greeted: HarnessProcess | undefined;
  #pumping: Promise<void> | undefined;
  #isOutsideAsked = false;
  #isInTurn = false;
  /** Of the process: whether it may skip permissions, and whether it does so now. */
  #skips = { may: false, does: false };
  #model = "default";
  #isTrusted = false;
  #isLost = false;
  #restarts = 0;
  #turnEndedAt = -Infinity;
  readonly #cost = new Cost();

  constructor(
    session: EngineSession,
    host: EngineHost,
    options: HarnessOptions,
    place: ClaudePlace,
  ) {
    this.#options = options;
    this.#place = place;
    this.#host = host;
    this.#control = new Control(options.clock);
    this.supervisor = new Supervisor({
      ...{ session, host, options, processes: place.processes },
      driver: {
        start: () => this.#start(),
        greet: (process) => this.#greet(process),
        line: (value) => this.#hear(readLine(value)),
        taken: async () => this.#pumping,
        ended: (gone) => this.#ended(gone),
        isBusy: () => this.#turn !== undefined || this.#isInTurn || this.#hasNews,
      },
    });
  }

  get #house(): RunHouse {
    return {
      place: this.#place,
      supervisor: this.supervisor,
      control: this.#control,
      clock: this.#options.clock,
      report: this.#options.report,
      conversation: () => this.#conversation(),
      ready: (run) => this.#ready(run),
      hasNews: () => this.#hasNews,
      isInTurn: () => this.#isInTurn,
      deliver: () => this.#pump(),
      heard: () => this.#heard(),
      takeOver: () => {
        this.#isOutsideAsked = false;
      },
    };
  }

  get #hasNews(): boolean {
    return this.#lines.length > 0 || this.#left.length > 0;
  }

  async #heard(): Promise<void> {
    while (this.#pumping) await this.#pumping;
  }

  get greeting(): Greeting {
    return this.#greeting;
  }

  async close(why?: string): Promise<void> {
    await this.supervisor.close(why);
  }

  async run(work: Work, run: Run): Promise<Result> {
    const turn = new Turn(run, {
      write: (line) => this.#write(line),
      isAutoApproving: () => this.#options.settings().autoApprove,
      isTrusted: () => this.#isTrusted,
      after: (ms, wake) => this.#options.clock.after(ms, wake),
      report: this.#options.report,
      costOf: (result) => this.#cost.riseTo(result),
    });
    this.#turn = turn;
    try {
      return await new ClaudeRun(work, turn, this.#house).execute();
    } finally {
      if (isUnwritable(run.signal)) await this.supervisor.stop("its log cannot be written");
      await turn.calls.settled();
      // Lines that are on their way into the run's log come there before it settles.
      await this.#heard();
      this.#left.push(...(await this.#leave(turn)));
      turn.close();
      this.#turn = undefined;
      this.supervisor.touch();
      // A command that waits comes first, and takes over what is left.
      if (this.#left.length > 0) this.#options.clock.after(againMs, () => this.#pump());
      else this.#pump();
    }
  }

  /** What the run has asked and nobody decided, where the process that asked still waits for it. */
  async #leave(turn: Turn): Promise<readonly PermissionRequest[]> {
    const { process } = this.supervisor;
    const left = await turn.asks.leave(
      process ? "its turn is over: it is asked again" : "the process that asked has ended",
      { isAskedAgain: process !== undefined },
    );
    return process && process === this.supervisor.process ? left : [];
  }

  /** Settings have changed: the process does as they say before this settles. */
  async settingsChanged(): Promise<void> {
    this.supervisor.settingsChanged();
    const { autoApprove } = this.#options.settings();
    if (autoApprove) this.#turn?.asks.approveWaiting();
    // One that starts was told of what held before.
    if (this.supervisor.state === "starting") await this.supervisor.ensure().catch(() => {});
    const { process } = this.supervisor;
    if (!process || !this.#skips.may || this.#skips.does === autoApprove) return;
    try {
      await this.#setMode(process, autoApprove);
    } catch (error) {
      this.#options.report(error);
      // Allowing is done from here too; what still allows by itself may not go on.
      if (!autoApprove) await this.#replace().catch(this.#options.report);
    }
  }

  /** Ends the process, whatever it does, and starts it again on the same conversation. */
  async restart(by?: string): Promise<void> {
    await this.#untilRemembered();
    await this.#replace(by);
  }

  async #replace(by?: string): Promise<void> {
    this.#restarts++;
    await this.supervisor.restart(by);
  }

  /** A process that is killed before it has written its last turn down goes on as if there had been none. */
  async #untilRemembered(): Promise<void> {
    const { clock } = this.#options;
    const left = this.#turnEndedAt + writesLateMs - clock.now();
    if (left <= 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    clock.after(left, resolve);
    await promise;
  }

  /** A process that has the session's model; or why there is none. */
  async #ready(run: Run): Promise<HarnessProcess | Refusal> {
    const restarts = this.#restarts;
    try {
      const process = await this.#ensure();
      const model = modelOf(run.settings().model);
      if (model !== this.#model) {
        await this.#control.ask(process, { subtype: "set_model", model });
        this.#model = model;
      }
      return process;
    } catch (error) {
      // One that was restarted before it took anything has a successor.
      if (this.#restarts !== restarts && !run.signal.aborted) return this.#ready(run);
      const diagnostic = error instanceof Error ? error.message : String(error);
      return { terminal: "failed", diagnostic, retryable: Fault.is(error) && error.retryable };
    }
  }

  async #ensure(): Promise<HarnessProcess> {
    // A new conversation has begun, which the process in hand knows nothing of.
    if (this.#conversation() === undefined)
      await this.supervisor.finish("a new conversation began");
    try {
      return await this.supervisor.ensure();
    } catch (error) {
      if (!this.#isLost) throw error;
      throw new Fault(
        "unavailable",
        `Claude Code does not find conversation ${this.#conversation()} in ${this.#options.dir}: it belongs to another folder, or its transcript is gone. Begin a new conversation, or adopt it in its own folder.`,
        { cause: error, retryable: false },
      );
    }
  }

  #conversation(): string | undefined {
    return this.#host.harness().conversation?.id;
  }

  async #name(conversation: string): Promise<void> {
    await this.#host.record([{ kind: "harness.conversation", data: { conversation } }]);
  }

  async #start(): Promise<HarnessStart> {
    const { autoApprove } = this.#options.settings();
    const known = this.#conversation();
    const state = known === undefined ? "begun" : await this.#place.stateOf(known);
    // Durable before anything is said under it.
    if (state === "begun") await this.#name(this.#place.randomUuid());
    const conversation = this.#conversation() ?? "";
    const isNew = state !== "said";
    this.#isTrusted = await this.#place.isTrusted();
    this.#skips = { may: autoApprove, does: autoApprove };
    this.#model = "default";
    this.#isInTurn = false;
    this.#isLost = false;
    this.#left = [];
    this.#cost.begin(isNew);
    const args = argumentsOf({ autoApprove, conversation, isNew });
    return this.#place.isRoot ? { args, env: { IS_SANDBOX: "1" } } : { args };
  }

  async #greet(process: HarnessProcess): Promise<void> {
    this.#greeted = process;
    process.onStderr((line) => {
      if (line.includes("No conversation found")) this.#isLost = true;
    });
    const [greeting] = await Promise.all([
      this.#control.ask(process, { subtype: "initialize" }),
      this.#cost.isKnown ? undefined : this.#learnCost(process),
    ]);
    this.#greeting = greetingOf(greeting);
    const { autoApprove } = this.#options.settings();
    if (this.#skips.does && !autoApprove) await this.#setMode(process, false);
  }

  async #learnCost(process: HarnessProcess): Promise<void> {
    try {
      this.#cost.told(await this.#control.ask(process, { subtype: "get_session_cost" }));
    } catch {
      // One that is gone fails its greeting; one that does not know the question has its own way to count.
    }
  }

  async #setMode(process: HarnessProcess, skips: boolean): Promise<void> {
    const mode = skips ? "bypassPermissions" : "default";
    await this.#control.ask(process, { subtype: "set_permission_mode", mode });
    this.#skips = { ...this.#skips, does: skips };
  }

  async #write(line: JsonObject): Promise<void> {
    // What it asks while it is greeted it may wait for before it answers.
    const process = this.supervisor.state === "starting" ? this.#greeted : this.supervisor.process;
    if (!process) throw new Fault("unavailable", "Claude Code's process is gone.");
    this.supervisor.touch();
    await process.write(line);
  }

  #hear(line: ClaudeLine): void {
    if (line.is === "noise") return;
    if (line.is === "block") return this.#streamed.clear();
    if (line.is === "delta") {
      this.#streamed.add(line.what, line.text);
      return this.#show();
    }
    if (line.is === "reply") return this.#control.reply(line);
    if (endsStream(line)) this.#streamed.clear();
    if (line.is === "init") {
      this.#isInTurn = true;
      this.#turn?.noteBegun();
    }
    if (line.is === "result") {
      this.#isInTurn = false;
      this.#turnEndedAt = this.#options.clock.now();
    }
    if (this.#turn) this.supervisor.touch();
    this.#lines.push(line);
    this.#pump();
  }

  /** Shows what it writes, once all that it said before is in the log: also what it began where no run was yet. */
  #show(): void {
    const { now } = this.#streamed;
    if (now && !this.#pumping) this.#turn?.run.partial(now);
  }

  #pump(): void {
    this.#pumping ??= this.#deliver()
      .catch((error: unknown) => {
        // A session that was deleted takes nothing more.
        const isGone = Fault.is(error) && error.code === "closed";
        if (!isGone && !this.#turn?.run.signal.aborted) this.#options.report(error);
        // A host that goes refuses with a fault of its own; what cannot be written may not go on unseen. Its end pumps too.
        if (!this.#turn && !Fault.is(error))
          void this.supervisor.stop("what it does cannot be recorded");
      })
      .finally(() => {
        this.#pumping = undefined;
        this.#show();
      });
  }

  async #deliver(): Promise<void> {
    while (this.#hasNews) {
      const turn = this.#turn;
      if (!turn && (this.#left.length > 0 || this.#lines.some(isWork))) {
        if (this.#isOutsideAsked) return;
        if (!(await this.#openOutside())) return;
        continue;
      }
      for (const request of this.#left.splice(0)) turn?.asks.ask(request);
      const lines = this.#lines.splice(0);
      await this.#named(lines);
      if (turn) await turn.take(lines);
      else await this.#keep(lines);
    }
  }

  /** Opens a run for what it began by itself; false where one is about to be live, which takes that, or was a moment ago. */
  async #openOutside(): Promise<boolean> {
    this.#isOutsideAsked = true;
    try {
      await this.#host.outside({ source: "claude", text: "" });
      return true;
    } catch (error) {
      this.#isOutsideAsked = false;
      if (!Fault.is(error) || error.code !== "busy") throw error;
      this.#options.clock.after(againMs, () => this.#pump());
      return false;
    }
  }

  /** Lines that belong to no run. */
  async #keep(lines: readonly DurableLine[]): Promise<void> {
    await this.#host.record(lines.map(({ raw }) => lineDraft(raw)));
    for (const line of lines)
      if (line.is === "requests")
        await this.#write(unknownLine(line.id, line.subtype)).catch(() => {});
  }

  /** Claude Code goes on under another id: after a command of its own that clears the conversation. */
  async #named(lines: readonly DurableLine[]): Promise<void> {
    const init = lines.findLast((line) => line.is === "init");
    const known = this.#conversation();
    // Without one a new conversation has begun: what the former process still says belongs to none.
    if (init?.is !== "init" || known === undefined || init.conversation === known) return;
    await this.#name(init.conversation);
  }

  /** All that it said is durable before its end is told. */
  async #ended(gone: Gone): Promise<void> {
    this.#isInTurn = false;
    this.#greeted = undefined;
    this.#left = [];
    this.#streamed.clear();
    this.#control.over(gone.reason);
    // What it began by itself and nobody has taken over is kept as lines.
    if (!this.#turn && this.#lines.some(isWork)) {
      const lines = this.#lines.splice(0);
      await this.#host.record(lines.map(({ raw }) => lineDraft(raw)));
    }
    while (this.#lines.length > 0) {
      this.#pump();
      await this.#pumping;
      if (this.#turn?.run.signal.aborted) break;
    }
    this.#turn?.gone(gone);
  }
}

/** What it began by itself, where no run is in hand. A message of ours that comes back is none. */
function isWork({ is }: DurableLine): boolean {
  return is === "assistant" || is === "results" || is === "user" || is === "woken" || is === "asks";
}

/** What was written is in this line, or is given up with its turn. */
function endsStream({ is }: DurableLine): boolean {
  return is === "assistant" || is === "init" || is === "result";
}
