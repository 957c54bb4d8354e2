// A host of the kit's tests: it keeps what is recorded, and has a folder and a clock of its own.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EngineHost, HarnessDraft, HarnessState } from "@lichen/runtime";
import type { HarnessOptions, HarnessSettings } from "../../src/harness/port.ts";
import { Clock } from "../../../runtime/test/clock.ts";

export class StandIn {
  readonly folder: string;
  readonly clock = new Clock();
  readonly recorded: HarnessDraft[] = [];
  readonly reports: unknown[] = [];
  settings: HarnessSettings = { autoApprove: false, keepRunning: false };
  state: HarnessState = {};
  readonly #waiting: { holds: () => boolean; resolve: () => void }[] = [];

  static async open(): Promise<StandIn> {
    return new StandIn(await mkdtemp(join(tmpdir(), "lichen-harness-")));
  }

  private constructor(folder: string) {
    this.folder = folder;
  }

  options(command: readonly string[]): HarnessOptions {
    return {
      dir: this.folder,
      command,
      env: { PATH: process.env["PATH"] ?? "", HOME: this.folder },
      settings: () => this.settings,
      clock: this.clock,
      report: (error) => this.reports.push(error),
    };
  }

  readonly host: EngineHost = {
    outside: () => Promise.reject(new Error("Nothing is opened here.")),
    record: async (drafts) => {
      this.recorded.push(...drafts);
      for (const { kind, data } of drafts) {
        if (kind === "harness.process") this.state = { ...this.state, process: data };
        if (kind === "harness.stopped") {
          const { process: _gone, ...rest } = this.state;
          this.state = rest;
        }
      }
      for (const one of this.#waiting) if (one.holds()) one.resolve();
    },
    harness: () => this.state,
  };

  get kinds(): string[] {
    return this.recorded.map(({ kind }) => kind.replace("harness.", ""));
  }

  reasons(): string[] {
    return this.recorded.flatMap((draft) =>
      draft.kind === "harness.stopped" ? [draft.data.reason] : [],
    );
  }

  /** Settles once so many entries of the kind are recorded. */
  async untilRecorded(kind: HarnessDraft["kind"], count = 1): Promise<void> {
    const holds = () => this.recorded.filter((draft) => draft.kind === kind).length >= count;
    if (holds()) return;
    await new Promise<void>((resolve) => void this.#waiting.push({ holds, resolve }));
  }

  close(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}
