// A coding agent for the machine's tests: it plays a script, and holds a real process as long as a harness would.

import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { HarnessEngine, HarnessOptions } from "@lichen/engine";
import type { Connection, Draft, EngineHost, Run, Work } from "@lichen/runtime";
import { type EngineScript, scriptedEngine } from "@lichen/runtime/testing";
import type { Json } from "@lichen/wire";
import type { Found, Harness, LineReading } from "../src/index.ts";

export interface ScriptedOptions {
  readonly name?: string;
  readonly title?: string;
  readonly script?: EngineScript;
  readonly folds?: boolean;
  readonly takesCommand?: boolean;
  readonly find?: () => Found;
  readonly lines?: LineReading;
  /** What a stuck driver never settles. */
  readonly hangs?: readonly ("restart" | "settingsChanged" | "newConversation" | "close")[];
  /** Lends what the machine lends a driver. */
  readonly opened?: (host: EngineHost) => void;
  readonly told?: (what: string, options: HarnessOptions) => void;
  /** Its process outlives the test that kills its machine; by itself it ends with its input, as a harness does. */
  readonly outlives?: boolean;
  /** Refuses a change of settings. */
  readonly deaf?: () => boolean;
}

/** A line of the harness, as an entry. */
export function line(value: Json): Draft {
  return { kind: "harness.line", data: { harness: "scripted", line: value } };
}

/** What Claude Code says of a message, as far as anybody here reads it. */
export function assistantLine(text: string, extra: object = {}): Draft {
  return line({
    type: "assistant",
    parent_tool_use_id: null,
    message: {
      role: "assistant",
      model: "scripted-1",
      content: [{ type: "text", text }],
      usage: {
        input_tokens: 10,
        cache_read_input_tokens: 5,
        cache_creation_input_tokens: 1,
        output_tokens: 3,
      },
    },
    ...extra,
  });
}

export function scriptedHarness(options: ScriptedOptions = {}): Harness {
  const { name = "claude", title = "Scripted", folds = true } = options;
  return {
    name,
    title,
    caps: { approve: true, takeover: true },
    can: { steer: folds, approve: true, resume: true, takeover: true, images: true, models: false },
    folds,
    ...(options.takesCommand ? { takesCommand: true } : {}),
    find: () => options.find?.() ?? { command: [process.execPath] },
    takesVariable: () => false,
    open: (given) => new ScriptedDriver(name, options, given),
    ...options.lines,
  };
}

const never = new Promise<never>(() => {});

class ScriptedDriver implements HarnessEngine {
  readonly name: string;
  readonly can;
  readonly #engine;
  readonly #options: ScriptedOptions;
  readonly #given: HarnessOptions;
  #child: ChildProcess | undefined;
  #host: EngineHost | undefined;

  constructor(name: string, options: ScriptedOptions, given: HarnessOptions) {
    this.name = name;
    this.#options = options;
    this.#given = given;
    this.#engine = scriptedEngine(options.script ?? [{ say: "ok" }], {
      name,
      can: { eager: false },
    });
    this.can = this.#engine.can;
  }

  open(...[session, host]: Parameters<HarnessEngine["open"]>): Connection {
    this.#host = host;
    this.#options.opened?.(host);
    const inner = this.#engine.open(session, host);
    const { hangs = [], told } = this.#options;
    return {
      stays: true,
      run: async (work: Work, run: Run) => {
        await this.#begin(host);
        told?.(`run ${work.text}`, this.#given);
        return inner.run(work, run);
      },
      close: async () => {
        if (hangs.includes("close")) await never;
        await this.#stop();
      },
    };
  }

  standing() {
    const pid = this.#child?.pid;
    return pid === undefined ? { isRunning: false } : { isRunning: true, pid };
  }

  async restart(by?: string): Promise<void> {
    await this.#op("restart");
    await this.#stop();
    await this.#host?.record([{ kind: "harness.restarted", data: {} }], by);
    this.#start();
  }

  async settingsChanged(): Promise<void> {
    await this.#op("settingsChanged");
    if (this.#options.deaf?.()) throw new Error("it does not listen");
  }

  async newConversation(): Promise<void> {
    await this.#op("newConversation");
    await this.#stop();
  }

  async #op(what: "restart" | "settingsChanged" | "newConversation"): Promise<void> {
    this.#options.told?.(what, this.#given);
    if (this.#options.hangs?.includes(what)) await never;
  }

  /** Names its conversation before it says anything in it, as harnesses do. */
  async #begin(host: EngineHost): Promise<void> {
    this.#start();
    if (host.harness().conversation) return;
    const data = { conversation: randomUUID() };
    await host.record([{ kind: "harness.conversation", data }]);
  }

  #start(): void {
    const { dir, env } = this.#given;
    const command = this.#options.outlives === true ? "sleep 100000" : "cat";
    this.#child ??= spawn("sh", ["-c", `exec ${command}`], {
      cwd: dir,
      env,
      stdio: ["pipe", "ignore", "ignore"],
    });
  }

  async #stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child) return;
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await gone;
  }
}
