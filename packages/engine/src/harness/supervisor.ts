// The supervisor: at most one process of a session's coding agent, started when it is needed and ended when it is not.
//
//   absent ──ensure──▶ starting ──hello──▶ ready ──idle, restart, end──▶ stopping ──gone──▶ absent
//
//   HK10  There is never a second process: a start waits until the one before is gone, also one of an earlier host.
//   HK11  After 30 minutes without use its input is closed, and 30 s later it is killed; what is busy is never idle.
//   HK12  Where it is kept running it is started again, after crashes later and later, up to ten minutes.
//   HK13  A restart kills at once, says so in the log, and starts on the same conversation.
//   HK14  `harness.stopped` stands in the log after all that the process said.

import type { EngineHost, EngineSession } from "@lichen/runtime";
import { Fault, type Json } from "@lichen/wire";
import { endingOf } from "./last-words.ts";
import type { HarnessOptions, HarnessStanding } from "./port.ts";
import type { HarnessProcess, ProcessEnding, ProcessHost } from "./process.ts";

/** What a driver tells its supervisor, and is told. */
export interface HarnessDriver {
  /** The arguments after the command, and what the environment has beside the options', for a start now. */
  start(): HarnessStart | Promise<HarnessStart>;
  /** Says hello to a process that has just begun; settles when it takes messages. A rejection ends the process. */
  greet(process: HarnessProcess): Promise<void>;
  line(value: Json): void;
  /** Settles when what the lines so far mean is in the log; never rejects. Until then little more is read. */
  taken?(): Promise<unknown>;
  /**
   * The process is gone and its last line was handed on; settles when all that follows from its lines is durable. It must
   * not wait for a new process: `ensure` waits for this.
   */
  ended(gone: Gone): Promise<void>;
  /** Whether something is in hand, or a person is waited for. */
  isBusy(): boolean;
}

export interface HarnessStart {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface Gone extends ProcessEnding {
  /** One line: why it was ended, or how it ended by itself. */
  readonly reason: string;
  /** It was ended on purpose. */
  readonly wasAsked: boolean;
}

export interface SupervisorOptions {
  readonly session: EngineSession;
  readonly host: EngineHost;
  readonly options: HarnessOptions;
  readonly processes: ProcessHost;
  readonly driver: HarnessDriver;
}

const checkMs = 15_000;
const idleCheckMs = 60_000;
const idleMs = 30 * 60_000;
const endMs = 30_000;
const greetMs = 60_000;
/** How long one that has nothing in hand may put its things away when it is ended: transcripts are written late. */
const finishMs = 2_000;
const longestBackoffMs = 10 * 60_000;

export class Supervisor {
  readonly #it: SupervisorOptions;
  #state: "absent" | "starting" | "ready" | "stopping" = "absent";
  #process: HarnessProcess | undefined;
  #starting: Promise<HarnessProcess> | undefined;
  /** Settles when the process that starts is there, greeted or not. */
  #launched = Promise.withResolvers<void>();
  /** Settles when the process is gone and the log says so. */
  #gone: Promise<void> = Promise.resolve();
  #restarting: Promise<void> | undefined;
  #former: Promise<void> | undefined;
  #whyAsked: string | undefined;
  #isClosed = false;
  #lastUsedAt: number | undefined;
  #startedAt = 0;
  #idleCheckedAt = 0;
  #crashes = 0;
  #crashedAt = 0;
  #cancelCheck: (() => void) | undefined;
  #cancelKill: (() => void) | undefined;

  constructor(it: SupervisorOptions) {
    this.#it = it;
    this.#arm();
    // What a host left that died goes on otherwise, with nobody to ask: it ends before there is anything to do.
    this.endFormer().catch((error: unknown) => it.options.report(error));
  }

  get state(): "absent" | "starting" | "ready" | "stopping" {
    return this.#state;
  }

  /** The process where it is ready for messages. */
  get process(): HarnessProcess | undefined {
    return this.#state === "ready" ? this.#process : undefined;
  }

  standing(): HarnessStanding {
    const pid = this.#process?.group.group;
    return {
      isRunning: this.#state === "starting" || this.#state === "ready",
      ...(pid === undefined ? {} : { pid }),
      ...(this.#lastUsedAt === undefined ? {} : { lastUsedAt: this.#lastUsedAt }),
    };
  }

  /** Something happened: the idle time begins anew. */
  touch(): void {
    this.#lastUsedAt = this.#it.options.clock.now();
  }

  /** The process, started where there is none. Rejects (`unavailable`) with a sentence of what is missing. */
  async ensure(): Promise<HarnessProcess> {
    for (;;) {
      this.#refuseClosed();
      if (this.#restarting) await this.#restarting.catch(() => {});
      else if (this.#state === "ready" && this.#process) return this.#process;
      else if (this.#starting) return this.#starting;
      else if (this.#state === "stopping") await this.#hurry();
      else return this.#begin();
    }
  }

  /** Whoever waits for a process that may finish in its own time waits no longer than it takes to kill it. */
  async #hurry(): Promise<void> {
    void this.#process?.kill();
    await this.#gone;
  }

  #refuseClosed(): void {
    if (this.#isClosed) throw new Fault("closed", "This coding agent's host is closing.");
  }

  /** Kills the process at once, and starts it again on the same conversation. Whether it greets is not waited for. */
  async restart(by?: string): Promise<void> {
    this.#refuseClosed();
    this.#restarting ??= this.#replace(by).finally(() => {
      this.#restarting = undefined;
    });
    await this.#restarting;
    const starting = this.ensure();
    starting.catch(() => {
      // Where it was there, the log says that it is gone; the next run starts another, and is told what is missing.
    });
    await Promise.race([starting, this.#launched.promise]);
  }

  async #replace(by: string | undefined): Promise<void> {
    const starting = this.#starting;
    await this.stop("it was restarted");
    await starting?.catch(() => {});
    await this.#it.host.record([{ kind: "harness.restarted", data: {} }], by);
    this.#crashes = 0;
  }

  /** Kills the process at once; settles when it is gone and the log says so. Nothing where there is none. */
  async stop(reason: string): Promise<void> {
    if (this.#state !== "absent") this.#whyAsked ??= reason;
    // One that has not been launched yet is killed as soon as it is.
    if (this.#state === "starting" && !this.#process) await this.#starting?.catch(() => {});
    void this.#process?.kill();
    await this.#gone;
  }

  /** Ends the process, which may put its things away where nothing is in hand. */
  async finish(reason: string): Promise<void> {
    if (this.#state === "ready" && !this.#it.driver.isBusy()) {
      this.#whyAsked = reason;
      this.#state = "stopping";
      await this.#process?.finish(finishMs);
    }
    await this.stop(reason);
  }

  /** Ends the process and starts none any more. */
  async close(why = "its host ended"): Promise<void> {
    this.#isClosed = true;
    this.#cancelCheck?.();
    await this.finish(why);
  }

  /** Settings have changed: one that is kept running is looked after from now on. */
  settingsChanged(): void {
    this.#arm();
  }

  #begin(): Promise<HarnessProcess> {
    this.#state = "starting";
    this.#whyAsked = undefined;
    this.#launched = Promise.withResolvers();
    this.touch();
    const starting = this.#start().finally(() => {
      this.#starting = undefined;
    });
    this.#starting = starting;
    return starting;
  }

  async #start(): Promise<HarnessProcess> {
    const { options, driver, processes, session } = this.#it;
    try {
      await this.#endFormer();
      const { args, env } = await driver.start();
      const started = await processes.launch({
        argv: [...options.command, ...args],
        dir: options.dir,
        env: { ...options.env, ...env },
        mark: session.epoch,
        ...(options.wall ? { wall: options.wall } : {}),
        recorded: (group) => this.#it.host.record([{ kind: "harness.process", data: group }]),
        line: (value) => driver.line(value),
        taken: async () => driver.taken?.(),
        report: options.report,
      });
      this.#process = started;
      this.#startedAt = options.clock.now();
      this.#gone = this.#watch(started);
      this.#launched.resolve();
      if (this.#whyAsked !== undefined) void started.kill();
    } catch (error) {
      this.#state = "absent";
      this.#noteCrash();
      throw error;
    }
    await this.#greet(this.#process);
    this.#state = "ready";
    this.touch();
    this.#arm();
    return this.#process;
  }

  /** Ends what an earlier host left running, where this one has started nothing yet; settles when it is gone. */
  async endFormer(): Promise<void> {
    if (this.#state === "absent") await this.#endFormer();
    else await this.#former;
  }

  #endFormer(): Promise<void> {
    this.#former ??= this.#endLeft().finally(() => {
      this.#former = undefined;
    });
    return this.#former;
  }

  async #endLeft(): Promise<void> {
    const { host, processes, session } = this.#it;
    const left = host.harness().process;
    if (!left) return;
    await processes.endGroup(left, session.epoch);
    await host.record([{ kind: "harness.stopped", data: { reason: "its host ended" } }]);
  }

  async #greet(started: HarnessProcess): Promise<void> {
    const { driver, options } = this.#it;
    const over = Promise.withResolvers<never>();
    const cancel = options.clock.after(greetMs, () =>
      over.reject(new Fault("unavailable", `${options.command[0]} did not answer in a minute.`)),
    );
    void this.#gone.then(() => over.reject(this.#notBegun()));
    try {
      await Promise.race([driver.greet(started), over.promise]);
      if (this.#state !== "starting") throw this.#notBegun();
    } catch (error) {
      await started.kill();
      const { signal } = await started.ended;
      await this.#gone;
      // It had ended by itself: that says more than the write that failed by it.
      throw signal === "SIGKILL" ? error : this.#notBegun();
    } finally {
      cancel();
    }
  }

  #notBegun(): Fault {
    const name = this.#it.options.command[0] ?? "";
    return new Fault("unavailable", `${name} ended before it took messages: ${this.#lastReason}.`);
  }

  #lastReason = "it ended";

  async #watch(watched: HarnessProcess): Promise<void> {
    const { driver, host, options } = this.#it;
    const ending = await watched.ended;
    this.#state = "stopping";
    this.#cancelKill?.();
    const wasAsked = this.#whyAsked !== undefined;
    const reason = this.#whyAsked ?? endingOf(ending, watched.stderr(), options);
    this.#lastReason = reason;
    try {
      await driver.ended({ ...ending, reason, wasAsked });
      await host.record([{ kind: "harness.stopped", data: { reason } }]);
    } catch (error) {
      if (!this.#isClosed) options.report(error);
    }
    if (!wasAsked) this.#noteCrash();
    this.#process = undefined;
    this.#state = "absent";
    this.#arm();
  }

  #noteCrash(): void {
    const now = this.#it.options.clock.now();
    if (now - this.#startedAt >= longestBackoffMs) this.#crashes = 0;
    this.#crashes++;
    this.#crashedAt = now;
  }

  /** Looks after the process from time to time, as long as there is something to look after. */
  #arm(): void {
    if (this.#isClosed || this.#cancelCheck) return;
    const { clock, settings } = this.#it.options;
    if (this.#state === "absent" && !settings().keepRunning) return;
    this.#cancelCheck = clock.after(checkMs, () => {
      this.#cancelCheck = undefined;
      this.#check();
      this.#arm();
    });
  }

  #check(): void {
    const { clock, settings, driver, options } = { ...this.#it, ...this.#it.options };
    const now = clock.now();
    if (settings().keepRunning) {
      const backoffMs = Math.min(checkMs * 2 ** Math.max(this.#crashes - 1, 0), longestBackoffMs);
      const isDue = this.#crashes === 0 || now - this.#crashedAt >= backoffMs;
      if (this.#state === "absent" && isDue) this.ensure().catch(options.report);
      return;
    }
    if (now - this.#idleCheckedAt < idleCheckMs) return;
    this.#idleCheckedAt = now;
    if (driver.isBusy()) this.touch();
    if (this.#state === "ready" && now - (this.#lastUsedAt ?? now) >= idleMs) this.#retire();
  }

  #retire(): void {
    this.#state = "stopping";
    this.#whyAsked = "nothing happened for 30 minutes";
    const retiring = this.#process;
    retiring?.closeInput();
    this.#cancelKill = this.#it.options.clock.after(endMs, () => void retiring?.kill());
  }
}
