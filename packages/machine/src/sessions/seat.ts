// One coding-agent session of a machine: its agent, its engine and how it stands; what can be done to it.
//
//   MA20  What its list says of auto-approve is what its process was told.
//   MA21  Nothing waits for a driver without an end.

import type { Agent, Owner, Platform, Session } from "@lichen/runtime";
import { Fault, type JsonObject } from "@lichen/wire";
import type { HarnessOptions, HarnessSettings } from "@lichen/engine";
import { requestIdOf } from "../events/event.ts";
import type { Harness, Harnesses } from "../harnesses/harness.ts";
import { LateEngine, onlySession } from "../harnesses/late-engine.ts";
import { Board } from "./board.ts";
import { laterFields, type MachineSessionInfo, stateOf } from "./info.ts";
import type { SessionSettings } from "./settings.ts";

/** Puts the processes of a session behind the machine's wall; undefined where it has none. */
export type Wall = (session: {
  readonly id: string;
  readonly dir: string;
  readonly harness: string;
}) => HarnessOptions["wall"];

/** What all seats of a machine share. */
export interface SeatHouse {
  readonly owner: Owner;
  readonly platform: Platform;
  readonly harnesses: Harnesses;
  readonly wall?: Wall;
  /** Told of a session that was deleted by another door. */
  gone(seat: Seat): void;
}

/** What a person answers to a prompt. */
export interface PromptAnswer {
  readonly allow: boolean;
  readonly message?: string;
  readonly answers?: JsonObject;
  /** The tool's input as the person edited it. */
  readonly input?: JsonObject;
  /** The rule that the harness suggests holds from now on. */
  readonly always?: boolean;
  /** With a denial: the turn is stopped too. */
  readonly interrupt?: boolean;
}

export interface SettingsPatch {
  readonly auto_approve?: boolean;
  readonly keep_running?: boolean;
  readonly starred?: boolean;
  /** null: the harness's own. */
  readonly model?: string | null;
}

/** The author of what auto-approve answers. */
const autoApprove = "auto-approve";
const longestDriverMs = 40_000;
/** From the harness's line that asks to the prompt that can be answered. */
const longestAskedMs = 2_000;

export class Seat {
  readonly id: string;
  readonly harness: Harness;
  readonly created: string;
  readonly dir: string;
  readonly engine: LateEngine;
  name: string;
  readonly #house: SeatHouse;
  /** What a process that is started now, or told now, is to be like. */
  #settings: SessionSettings;
  /** What the process was told. */
  #isAutoApproving: boolean;
  #agent: Agent | undefined;
  #board: Board | undefined;
  #changing: Promise<unknown> = Promise.resolve();

  constructor(
    house: SeatHouse,
    it: {
      readonly id: string;
      readonly name: string;
      readonly harness: Harness;
      readonly settings: SessionSettings;
      readonly created: string;
    },
  ) {
    this.id = it.id;
    this.name = it.name;
    this.harness = it.harness;
    this.created = it.created;
    this.dir = it.settings.dir;
    this.#house = house;
    this.#settings = it.settings;
    this.#isAutoApproving = it.settings.auto_approve;
    const wall = house.wall?.({ id: it.id, dir: it.settings.dir, harness: it.harness.name });
    this.engine = new LateEngine({
      id: it.id,
      harness: it.harness,
      places: house.harnesses.places,
      command: it.settings.command,
      dir: it.settings.dir,
      settings: (): HarnessSettings => ({
        autoApprove: this.#settings.auto_approve,
        keepRunning: this.#settings.keep_running,
      }),
      clock: {
        now: () => house.platform.now(),
        after: (ms, wake) => house.platform.after(ms, wake),
      },
      report: (error) => house.platform.report(error),
      ...(wall === undefined ? {} : { wall }),
    });
  }

  /** Gives the agent its engine, and goes on with what an earlier process left. `kept` is what the store keeps of it. */
  async open(kept: JsonObject, model?: string): Promise<void> {
    const { owner, platform } = this.#house;
    this.#agent = await owner.attach({
      agent: this.id,
      name: this.name,
      engine: this.engine,
      settings: kept,
    });
    await this.#agent.create({
      requestId: "machine:main",
      session: onlySession,
      events: true,
    });
    this.#board = await Board.open({
      session: this.session,
      lines: this.harness,
      report: (error) => platform.report(error),
      deleted: () => this.#house.gone(this),
    });
    await this.session.connect();
    // Not with what makes it: that is asked the same way each time the machine is opened.
    if (model !== undefined) await this.session.change({ model });
  }

  get agent(): Agent {
    if (!this.#agent) throw new Error(`session ${this.name} is not open yet`);
    return this.#agent;
  }

  get session(): Session {
    return this.agent.session(onlySession);
  }

  get board(): Board {
    if (!this.#board) throw new Error(`session ${this.name} is not open yet`);
    return this.#board;
  }

  get settings(): SessionSettings {
    return this.#settings;
  }

  /** The harness's own conversation that it is in, where that was named. */
  get conversation(): { readonly id: string; readonly file?: string } | undefined {
    return this.engine.conversation;
  }

  /** Goes on with a conversation of the harness's own: before its first message. */
  async adopt(
    { id, file }: { readonly id: string; readonly file?: string },
    by?: string,
  ): Promise<void> {
    const data = { conversation: id, ...(file === undefined ? {} : { file }) };
    await this.session.record([{ kind: "harness.conversation", data }], by);
  }

  /** Waits for nothing and nobody. */
  info(tail?: number): MachineSessionInfo {
    const { info, glance } = this.board;
    const { missing } = this.engine;
    return {
      id: this.id,
      epoch: info.epoch,
      name: this.name,
      dir: this.dir,
      state: stateOf(info),
      pending: info.approvals,
      running: this.engine.standing().isRunning,
      last_seq: info.events ?? 0,
      last_time: glance.lastTime,
      turns: info.turns,
      auto_approve: this.#isAutoApproving,
      context_used: glance.contextUsed,
      context_window: glance.contextWindow,
      preview: glance.preview,
      model: glance.model === "" ? (info.model ?? "") : glance.model,
      harness: this.harness.name,
      caps: this.harness.caps,
      starred: this.#settings.starred,
      keep_running: this.#settings.keep_running,
      created: info.createdAt,
      ...laterFields,
      ...(missing === undefined ? {} : { missing }),
      ...(tail === undefined ? {} : { tail: glance.tail.slice(-tail) }),
    };
  }

  /** Admits a message. `id` was made on the device that sends it, and makes sending again harmless. */
  async send(
    { text, id }: { readonly text: string; readonly id?: string },
    by?: string,
  ): Promise<{ readonly duplicate: boolean }> {
    if (text.trim() === "") throw new Fault("conflict", "text: say something: it is empty.");
    // Its start would fail only after the message was taken.
    this.engine.require();
    const receipt = await this.#sessionOf(by).send({
      type: "prompt",
      requestId: id === undefined ? this.#onceOnly() : requestIdOf(id),
      text,
      requireExisting: true,
      // The same every time, so that a message sent again is the same. With nothing running it is an ordinary one.
      ...(this.harness.folds ? { delivery: "steer" as const } : {}),
    });
    return { duplicate: receipt.replay === true };
  }

  /** Answers a prompt by our id of it or by the harness's; `conflict` where it waits no more. */
  async answer(id: string, given: PromptAnswer, by?: string): Promise<void> {
    const waiting = await this.board.waitingFor(id, (wake) =>
      this.#house.platform.after(longestAskedMs, wake),
    );
    const gone = new Fault(
      "conflict",
      `Prompt ${id} waits for nobody: it was answered, withdrawn, or its process ended.`,
    );
    if (!waiting) throw gone;
    const receipt = await this.#sessionOf(by).send({
      type: "answer",
      requestId: this.#onceOnly(),
      approvalId: waiting.approvalId,
      ...given,
    });
    if (receipt.status === "too_late") throw gone;
  }

  /**
   * Stops the turn in hand, also one that was only just accepted. With nothing in hand it changes nothing: `conflict`
   * where no process is up either.
   */
  async interrupt(by?: string): Promise<void> {
    const stopped = await this.#sessionOf(by).interrupt();
    if (stopped === undefined && !this.engine.standing().isRunning)
      throw new Fault("conflict", `Nothing runs in session ${this.name}.`);
  }

  /** Ends its process at once and starts it again on the same conversation. */
  restart(by?: string): Promise<void> {
    return this.#change(async () => {
      await this.#within(
        this.engine.restart(by),
        "restart",
        "its process does not end. End it on that computer, or delete the session.",
      );
    });
  }

  /** The next message begins a new conversation, under the same name and numbers; `busy` while something is in hand. */
  fresh(by?: string): Promise<void> {
    return this.#change(async () => {
      await this.#sessionOf(by)
        .restart()
        .catch((error: unknown) => this.#whileBusy(error));
      await this.#within(this.engine.newConversation(), "end its conversation");
    });
  }

  #whileBusy(error: unknown): never {
    if (!Fault.is(error) || error.code !== "busy") throw error;
    throw new Fault(
      "busy",
      `Session ${this.name} is at work or has messages waiting: interrupt it, or wait, and try again.`,
      { cause: error, retryable: true },
    );
  }

  configure(patch: SettingsPatch, by?: string): Promise<void> {
    return this.#change(() => this.#configure(patch, by));
  }

  async #configure({ model, starred, ...told }: SettingsPatch, by?: string): Promise<void> {
    if (model !== undefined) await this.#sessionOf(by).change({ model });
    if (starred !== undefined && starred !== this.#settings.starred) {
      await this.session.configure({ starred }, by, { quiet: true });
      this.#settings = { ...this.#settings, starred };
    }
    for (const name of ["auto_approve", "keep_running"] as const) {
      const value = told[name];
      if (value !== undefined && value !== this.#settings[name]) await this.#tell(name, value, by);
    }
  }

  /** A setting that its process has to know: where it cannot be told, the setting stays what it was. */
  async #tell(name: "auto_approve" | "keep_running", value: boolean, by?: string): Promise<void> {
    await this.session.configure({ [name]: value }, by);
    this.#settings = { ...this.#settings, [name]: value };
    // Answered before the process is told: those who look on see by whom.
    if (name === "auto_approve" && value) await this.#approveWaiting();
    try {
      await this.#within(this.engine.settingsChanged(), "take its settings");
    } catch (error) {
      this.#settings = { ...this.#settings, [name]: !value };
      await this.session.configure({ [name]: !value }, by);
      throw error;
    }
    if (name !== "auto_approve") return;
    this.#isAutoApproving = value;
    if (value) await this.#approveWaiting();
  }

  /** Switched on, it also answers the prompts that wait; questions are a person's. */
  async #approveWaiting(): Promise<void> {
    for (const { kind, approvalId } of this.board.waiting)
      if (kind === "tool")
        await this.#sessionOf(autoApprove).send({
          type: "answer",
          requestId: this.#onceOnly(),
          approvalId,
          allow: true,
        });
  }

  async rename(to: string, by?: string): Promise<void> {
    await this.session.rename(to, by);
    this.name = to;
  }

  /** Ends everything of it: its process, its log and what the store keeps. */
  async remove(): Promise<void> {
    this.#board?.close();
    await this.#house.owner.remove(this.id);
  }

  close(): void {
    this.#board?.close();
  }

  /** Changes come one after the other. */
  #change(work: () => Promise<void>): Promise<void> {
    const changed = this.#changing.then(work);
    this.#changing = changed.catch(() => {
      // Whoever asked for it is told.
    });
    return changed;
  }

  async #within(
    work: Promise<void>,
    wish: string,
    advice = "restart the session, or delete it.",
  ): Promise<void> {
    const late = Promise.withResolvers<never>();
    const cancel = this.#house.platform.after(longestDriverMs, () =>
      late.reject(
        new Fault(
          "unavailable",
          `${this.harness.title} did not ${wish} in ${longestDriverMs / 1000} s: ${advice}`,
        ),
      ),
    );
    work.catch(() => {
      // Told below, or too late to be told.
    });
    try {
      await Promise.race([work, late.promise]);
    } finally {
      cancel();
    }
  }

  #onceOnly(): string {
    return `once:${this.#house.platform.randomId(24)}`;
  }

  #sessionOf(by: string | undefined): Session {
    return by === undefined
      ? this.session
      : this.agent.withMeta({ by }, { stopsAll: true }).session(onlySession);
  }
}
