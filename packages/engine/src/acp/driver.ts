// Drives one agent of the protocol for one session of ours: its process, and what is held for as long as that lives.

import type { Connection, EngineHost, EngineSession, Result, Run, Work } from "@lichen/runtime";
import { Fault, type Json } from "@lichen/wire";
import type { HarnessOptions } from "../harness/port.ts";
import { OwnModel } from "../harness/own-model.ts";
import type { HarnessProcess, ProcessHost } from "../harness/process.ts";
import { type Gone, type HarnessDriver, Supervisor } from "../harness/supervisor.ts";
import { Asks } from "./asks.ts";
import type { Choices } from "./choices.ts";
import { greet, programOf } from "./greeting.ts";
import { AgentFiles } from "./host/files.ts";
import { Terminals } from "./host/terminals.ts";
import { inTime } from "./in-time.ts";
import { Link } from "./link.ts";
import { unrecorded } from "./prompting.ts";
import { RequestNames } from "./request-names.ts";
import { Runs } from "./runs.ts";
import { asksPerson, serving } from "./serving.ts";
import { Talk } from "./talk.ts";

/** A process of the agent and all that goes with it. */
export interface Held {
  readonly link: Link;
  readonly talk: Talk;
  readonly terminals: Terminals;
  /** Settles when the process is gone. */
  readonly ended: Promise<unknown>;
}

export interface DriverParts {
  readonly options: HarnessOptions;
  readonly processes: ProcessHost;
  readonly choices: Choices;
}

export class AcpDriver implements HarnessDriver, Connection {
  readonly stays = true;
  readonly supervisor: Supervisor;
  readonly #session: EngineSession;
  readonly #host: EngineHost;
  readonly #options: HarnessOptions;
  readonly #choices: Choices;
  readonly #asks: Asks;
  readonly #runs: Runs;
  #held: Held | undefined;

  constructor(
    session: EngineSession,
    host: EngineHost,
    { options, processes, choices }: DriverParts,
  ) {
    this.#session = session;
    this.#host = host;
    this.#options = options;
    this.#choices = choices;
    this.#asks = new Asks(() => options.settings().autoApprove);
    this.supervisor = new Supervisor({ session, host, options, processes, driver: this });
    this.#runs = new Runs({
      ...{ options, choices, asks: this.#asks, supervisor: this.supervisor },
      ...{ own: new OwnModel(host), held: () => this.#held },
    });
  }

  start(): ReturnType<HarnessDriver["start"]> {
    return { args: [] };
  }

  async greet(process: HarnessProcess): Promise<void> {
    this.#held?.talk.forget();
    const held = this.#hold(process);
    this.#held = held;
    try {
      const greeted = await greet({
        ...{ link: held.link, host: this.#host, options: this.#options },
        isUnused: this.#runs.isUnused,
      });
      held.talk.greeted(greeted);
    } catch (error) {
      if (Fault.is(error)) throw error;
      // It listens no more: how it ended says more than that.
      await process.ended;
      const program = programOf(this.#options);
      const how = held.talk.gone?.reason ?? "it ended";
      throw new Fault("unavailable", `${program} ended before it took messages: ${how}`, {
        cause: error,
      });
    }
  }

  line(value: Json): void {
    this.#held?.link.line(value);
  }

  async taken(): Promise<void> {
    await Promise.all([this.#runs.durable(), this.#held?.talk.noted()]);
  }

  async ended(gone: Gone): Promise<void> {
    const held = this.#held;
    if (!held) return;
    held.talk.gone = gone;
    // Withdrawn first, so that it is told why.
    const withdrawn = this.#asks.withdrawAll(`the agent's process is gone: ${gone.reason}`);
    held.link.close(new Error(gone.reason));
    await Promise.all([withdrawn, held.terminals.endAll()]);
    await this.#runs.durable();
  }

  isBusy(): boolean {
    const { talk, terminals } = this.#held ?? {};
    return this.#runs.isRunning || talk?.hasStrays === true || terminals?.isBusy === true;
  }

  async settingsChanged(): Promise<void> {
    this.supervisor.settingsChanged();
    await this.#asks.settingsChanged();
  }

  async setMode(modeId: string): Promise<void> {
    await this.supervisor.ensure();
    const { link, talk } = this.#held!;
    const { clock } = this.#options;
    const { supervisor } = this;
    const asked = this.#choices.setMode(link, talk.sessionId, modeId);
    await inTime(asked, `for its mode ${modeId}`, { clock, supervisor });
  }

  run(work: Work, run: Run): Promise<Result> {
    return this.#runs.run(work, run);
  }

  close(why?: string): Promise<void> {
    return this.supervisor.close(why);
  }

  #hold(process: HarnessProcess): Held {
    const { clock, report } = this.#options;
    const talk = new Talk({
      ...{ host: this.#host, asks: this.#asks, choices: this.#choices, report },
      unwritable: () => void this.supervisor.stop(unrecorded),
      touch: () => this.supervisor.touch(),
      now: () => clock.now(),
      after: (ms, wake) => clock.after(ms, wake),
    });
    const files = new AgentFiles(this.#options);
    const terminals = new Terminals(this.#options, files, this.#session.epoch);
    const names = new RequestNames(process.group);
    const answering = serving({
      ...{ asks: this.#asks, files, terminals },
      isOwn: (sessionId) => talk.isOwn(sessionId),
      turn: () => talk.turnNow(),
      durable: async () => talk.turn?.recorder.durable(),
      names,
    });
    const link = new Link((line) => process.write(line), answering, {
      update: (params, line) => talk.hear(params, line),
      message: (line, what) =>
        asksPerson(what.asks) ? names.came(line) : talk.message(line, what),
      answering: (id) => {
        const line = names.answered(id);
        if (line !== undefined) talk.keep(line);
      },
      report,
    });
    return { link, talk, terminals, ended: process.ended };
  }
}
