// A session's pi: its process, whose lines go to the run that is live, or open one.
//
//   PI2  The conversation is known by its file from the process's first answer on, and every later process goes on in it.
//   PI25 What pi begins by itself and no run can be opened for ends with its process.
//   PI11 A conversation of another folder is refused before anything of it begins.

import type { Connection, EngineHost, EngineSession, Result, Run, Work } from "@lichen/runtime";
import { type EntryData, Fault, type Json, type JsonObject } from "@lichen/wire";
import { OwnModel } from "../harness/own-model.ts";
import type { HarnessOptions } from "../harness/port.ts";
import type { HarnessProcess, ProcessHost } from "../harness/process.ts";
import { type Gone, type HarnessDriver, Supervisor } from "../harness/supervisor.ts";
import { eventOf, textAt } from "./codec.ts";
import { Feed } from "./feed.ts";
import { Meter } from "./meter.ts";
import { Catalogue } from "./models.ts";
import { PiRun } from "./pi-run.ts";
import { harness } from "./recorder.ts";
import { Requests } from "./requests.ts";
import type { SessionFiles } from "./session-file.ts";
import { type Stray, Strays } from "./strays.ts";

interface PiParts {
  readonly options: HarnessOptions & { readonly args?: readonly string[] };
  readonly processes: ProcessHost;
  readonly files: SessionFiles;
}

const againMs = 50;

/** The turn that takes the lines of the process. */
interface Live {
  readonly feed: Feed;
  readonly driven: Promise<unknown>;
  /** It is a prompt's: what pi did by itself a moment before is part of it. */
  readonly takesStrays: boolean;
}

export class PiConnection implements Connection, HarnessDriver {
  readonly stays = true;
  readonly supervisor: Supervisor;
  readonly catalogue: Catalogue;
  readonly meter = new Meter();
  readonly requests: Requests;
  readonly parts: PiParts;
  readonly host: EngineHost;
  readonly #strays = new Strays();
  saysSettled: boolean | undefined;
  /** Takes the lines of the process. */
  #live: Live | undefined;
  #isAnnouncing = false;
  #isClosed = false;

  constructor(session: EngineSession, host: EngineHost, parts: PiParts) {
    this.parts = parts;
    this.host = host;
    const { options, processes } = parts;
    this.requests = new Requests(options.clock);
    this.catalogue = new Catalogue(this.requests, new OwnModel(host));
    this.supervisor = new Supervisor({ session, host, options, processes, driver: this });
  }

  start(): { args: readonly string[] } {
    const { options, files } = this.parts;
    const { conversation } = this.host.harness();
    const args = ["--mode", "rpc", ...(options.args ?? [])];
    if (!conversation) return { args };
    const folder = conversation.file && files.folder(conversation.file);
    if (folder && !files.isSameFolder(folder, options.dir))
      throw new Fault(
        "invalid",
        "This pi conversation belongs to another folder, where pi must run to go on with it: make a session in that folder, or begin a new conversation here.",
      );
    return { args: [...args, "--session", conversation.file ?? conversation.id] };
  }

  async greet(process: HarnessProcess): Promise<void> {
    this.requests.begin(process);
    const state = await this.requests.ask({ type: "get_state" });
    if (!state.success) throw new Fault("unavailable", `pi cannot begin: ${state.error}.`);
    const { data } = state;
    await this.#keepConversation(textAt(data, "sessionId"), textAt(data, "sessionFile"), {
      type: "response",
      command: "get_state",
      success: true,
      data,
    });
    this.catalogue.begin(data);
    const stats = await this.requests.ask({ type: "get_session_stats" });
    if (stats.success) this.meter.begin(stats.data);
  }

  async #keepConversation(id: string, file: string, line: JsonObject): Promise<void> {
    const known = this.host.harness().conversation;
    const isKnown = known?.id === id && (known.file ?? "") === file;
    const data = this.#named(id, file);
    await this.host.record([
      ...(isKnown || id === "" ? [] : [{ kind: "harness.conversation", data } as const]),
      { kind: "harness.line", data: { harness, line } },
    ]);
  }

  line(line: Json): void {
    const event = eventOf(line);
    if (event.type === "response" && this.requests.answered(event)) return;
    if (event.type === "level") this.catalogue.level = event.level;
    if (this.isBusy()) this.supervisor.touch();
    if (this.#live) return this.#live.feed.push({ type: "line", line, event });
    this.#strays.take(line, event);
    this.#announce();
  }

  async taken(): Promise<void> {
    await this.#live?.feed.empty();
  }

  async ended(gone: Gone): Promise<void> {
    this.requests.end(gone.reason);
    this.catalogue.end();
    const happening = { type: "gone", gone } as const;
    this.#strays.end(happening);
    const live = this.#live;
    live?.feed.push(happening);
    await live?.driven;
    this.#announce();
  }

  isBusy(): boolean {
    return this.#live !== undefined || !this.#strays.isEmpty;
  }

  async run(work: Work, run: Run): Promise<Result> {
    if (work.type !== "outside") return new PiRun(this, work, run).execute();
    const stray = this.#strays.claim(work.source, work.text);
    if (stray) return new PiRun(this, work, run).follow(stray.feed);
    return {
      terminal: "interrupted",
      diagnostic:
        "pi did this by itself, and its process or its host ended before it was recorded: it stands in pi's own transcript",
    };
  }

  /** Gives the lines of the process to `feed` as long as `drive` takes them; what it leaves opens a run of its own. */
  async during<T>(
    { feed, takesStrays }: Pick<Live, "feed" | "takesStrays">,
    drive: () => Promise<T>,
  ): Promise<T> {
    const over = Promise.withResolvers<void>();
    const live = { feed, driven: over.promise, takesStrays };
    this.#live = live;
    this.#merge();
    this.supervisor.touch();
    try {
      return await drive();
    } finally {
      // A run that was given up may end long after the next has begun.
      if (this.#live === live) this.#live = undefined;
      this.supervisor.touch();
      over.resolve();
      for (const left of feed.drain())
        if (left.type === "line") this.#strays.take(left.line, left.event);
      this.#announce();
    }
  }

  /** What began before a prompt's run was live, and has no run of its own, is part of it. */
  #merge(): void {
    if (!this.#live?.takesStrays) return;
    const strays = this.#strays.takeOver();
    this.#live.feed.unshift(
      strays.flatMap(({ feed }) => feed.drain().filter(({ type }) => type === "line")),
    );
  }

  /** Asks for runs of what pi does by itself, one after the other. */
  #announce(): void {
    const stray = this.#strays.unasked();
    if (!stray || this.#isAnnouncing || this.#isClosed) return;
    this.#isAnnouncing = true;
    stray.standing = "asked";
    const { source, text } = stray;
    this.host.outside({ source, text }).then(
      () => {
        stray.standing = "opened";
        this.#isAnnouncing = false;
        this.#announce();
      },
      (error: unknown) => {
        stray.standing = "new";
        this.#refused(stray, error);
      },
    );
  }

  /** A run is live in the session, or was a moment ago. */
  #refused(stray: Stray, error: unknown): void {
    const goOn = (): void => {
      this.#isAnnouncing = false;
      this.#announce();
    };
    if (Fault.is(error) && error.code === "busy") {
      this.#merge();
      this.parts.options.clock.after(againMs, goOn);
      return;
    }
    this.#strays.remove(stray);
    if (!this.#isClosed) {
      const { report } = this.parts.options;
      report(error);
      // What it goes on to do would be recorded nowhere, and what it asks would reach nobody.
      const asks = stray.feed.waits((one) => one.type === "line" && one.event.type === "dialog");
      if (!stray.isOver || asks)
        this.supervisor.stop("what it does by itself cannot be recorded").catch(report);
    }
    goOn();
  }

  /** What pi says of its session at the end of a turn, where it has moved to another. */
  movedTo(stats: JsonObject): EntryData["harness.conversation"] | undefined {
    const [id, file] = [textAt(stats, "sessionId"), textAt(stats, "sessionFile")];
    const known = this.host.harness().conversation;
    if (id === "" || (known?.id === id && (known.file ?? "") === file)) return undefined;
    return this.#named(id, file);
  }

  #named(conversation: string, file: string): EntryData["harness.conversation"] {
    const { ownModel } = this.host.harness().conversation ?? {};
    return {
      conversation,
      ...(file === "" ? {} : { file }),
      ...(ownModel === undefined ? {} : { ownModel }),
    };
  }

  async close(why?: string): Promise<void> {
    this.#isClosed = true;
    await this.supervisor.close(why);
  }
}
