// A machine for tests: a real store in a folder of its own, and a real door on a real port of loopback.

import { mkdtempSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Platform } from "@lichen/runtime";
import { listenHost, type Listening } from "@lichen/server/node";
import {
  type Harness,
  type Machine,
  openMachine,
  type MachineOptions,
  type MachineSessionInfo,
} from "../src/index.ts";
import { scriptedHarness } from "./scripted.ts";

export interface RigOptions {
  readonly harnesses?: readonly Harness[];
  readonly env?: Record<string, string>;
  readonly platform?: Platform;
  readonly adopt?: MachineOptions["adopt"];
  readonly wall?: MachineOptions["wall"];
  /** Where an earlier rig lived: it is opened again. */
  readonly root?: string;
}

export interface Ask {
  readonly method?: string;
  readonly json?: unknown;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly token?: string | null;
}

export class Rig implements AsyncDisposable {
  readonly root: string;
  readonly machine: Machine;
  readonly host: Listening;
  readonly reports: unknown[];
  readonly bugs: unknown[];
  #isClosed = false;

  private constructor(
    root: string,
    machine: Machine,
    host: Listening,
    told: { reports: unknown[]; bugs: unknown[] },
  ) {
    this.root = root;
    this.machine = machine;
    this.host = host;
    this.reports = told.reports;
    this.bugs = told.bugs;
  }

  static async open(options: RigOptions = {}): Promise<Rig> {
    const root = options.root ?? mkdtempSync(join(tmpdir(), "lichen-machine-"));
    const home = join(root, "home");
    mkdirSync(home, { recursive: true });
    const reports: unknown[] = [];
    const bugs: unknown[] = [];
    const machine = await openMachine({
      stateDir: join(root, "state"),
      home,
      env: { PATH: process.env["PATH"], ...options.env },
      harnesses: options.harnesses ?? [scriptedHarness()],
      report: (error) => reports.push(error),
      ...(options.platform ? { platform: options.platform } : {}),
      ...(options.adopt ? { adopt: options.adopt } : {}),
      ...(options.wall ? { wall: options.wall } : {}),
    });
    const host = await listenHost({
      owner: machine.owner,
      stateDir: machine.stateDir,
      platform: machine.platform,
      log: (bug) => bugs.push(bug),
      mounts: [machine.mount],
      port: 0,
      close: (closing) => machine.close(closing),
    });
    return new Rig(root, machine, host, { reports, bugs });
  }

  get home(): string {
    return join(this.root, "home");
  }

  ask(path: string, ask: Ask = {}): Promise<Response> {
    const { json, token = this.host.token } = ask;
    const body = json === undefined ? ask.body : JSON.stringify(json);
    return fetch(`${this.host.url}${path}`, {
      method: ask.method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...ask.headers,
      },
      ...(body === undefined ? {} : { body }),
    });
  }

  /** The status of an answer, and its body where it has one. */
  async tell(path: string, ask?: Ask): Promise<{ status: number; body: unknown }> {
    const answer = await this.ask(path, ask);
    const text = await answer.text();
    return { status: answer.status, body: text === "" ? undefined : (JSON.parse(text) as unknown) };
  }

  async make(name: string, more: object = {}): Promise<MachineSessionInfo> {
    const { status, body } = await this.tell("/v1/sessions", {
      json: { name, dir: `~/${name}`, ...more },
    });
    if (status !== 201) throw new Error(`${status}: ${JSON.stringify(body)}`);
    return body as MachineSessionInfo;
  }

  async list(query = ""): Promise<MachineSessionInfo[]> {
    const { body } = await this.tell(`/v1/sessions${query}`);
    return (body as { sessions: MachineSessionInfo[] }).sessions;
  }

  async info(name: string): Promise<MachineSessionInfo> {
    const found = (await this.list("?tail=20")).find((it) => it.name === name);
    if (!found) throw new Error(`there is no ${name}`);
    return found;
  }

  /** Waits until the session is as it should be. */
  async until(
    name: string,
    holds: (info: MachineSessionInfo) => boolean,
  ): Promise<MachineSessionInfo> {
    const deadline = Date.now() + 15_000;
    for (;;) {
      const info = await this.info(name);
      if (holds(info)) return info;
      if (Date.now() > deadline) throw new Error(`it never came about: ${JSON.stringify(info)}`);
      await new Promise((resolve) => void setImmediate(resolve));
    }
  }

  send(name: string, text: string, id?: string): Promise<{ status: number; body: unknown }> {
    return this.tell(`/v1/sessions/${name}/messages`, {
      json: { text, ...(id === undefined ? {} : { id }) },
    });
  }

  events(name: string, query = "", headers: Record<string, string> = {}): Promise<EventReader> {
    return EventReader.open(this, `/v1/sessions/${name}/events${query}`, headers);
  }

  /** Goes down as a host does; its folder stays. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.host.drain({ graceMs: 9_000 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}

export interface TestEvent {
  /** As the stream numbers it; undefined for what is live only. */
  readonly id?: number;
  readonly seq: number;
  readonly time: string;
  readonly kind: string;
  readonly by?: string;
  readonly data: Record<string, unknown>;
}

/** Reads a stream of events as a client does, and can be cut anywhere. */
export class EventReader implements AsyncDisposable {
  readonly #abort: AbortController;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly headers: Headers;
  /** All that came, as it came. */
  received = "";
  comments: string[] = [];
  readonly #decoder = new TextDecoder();
  #rest = "";
  #events: TestEvent[] = [];
  #isOver = false;

  static async open(rig: Rig, path: string, headers: Record<string, string>): Promise<EventReader> {
    const abort = new AbortController();
    const answer = await fetch(`${rig.host.url}${path}`, {
      headers: { authorization: `Bearer ${rig.host.token}`, ...headers },
      signal: abort.signal,
    });
    if (answer.status !== 200 || !answer.body)
      throw new Error(`${answer.status}: ${await answer.text()}`);
    return new EventReader(abort, answer.body.getReader(), answer.headers);
  }

  private constructor(
    abort: AbortController,
    reader: ReadableStreamDefaultReader<Uint8Array>,
    headers: Headers,
  ) {
    this.#abort = abort;
    this.#reader = reader;
    this.headers = headers;
  }

  /** The next event; undefined where the stream has ended. */
  async next(): Promise<TestEvent | undefined> {
    while (this.#events.length === 0 && !this.#isOver) await this.#read();
    return this.#events.shift();
  }

  async take(count: number): Promise<TestEvent[]> {
    const events: TestEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (!event) throw new Error(`it ended after ${events.length} events: ${this.received}`);
      events.push(event);
    }
    return events;
  }

  /** Events up to and with the first that is so. */
  async upTo(holds: (event: TestEvent) => boolean): Promise<TestEvent[]> {
    const events: TestEvent[] = [];
    for (;;) {
      const event = await this.next();
      if (!event) throw new Error(`it ended before: ${this.received}`);
      events.push(event);
      if (holds(event)) return events;
    }
  }

  async #read(): Promise<void> {
    const { done, value } = await this.#reader.read();
    if (done) {
      this.#isOver = true;
      return;
    }
    const text = this.#decoder.decode(value, { stream: true });
    this.received += text;
    const isWhole = `${this.#rest.at(-1) ?? ""}${text}`.includes("\n\n");
    this.#rest += text;
    if (!isWhole) return;
    const blocks = this.#rest.split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = eventIn(block);
      if (event) this.#events.push(event);
      else this.comments.push(block);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.#reader.cancel().catch(() => {});
  }
}

/** The event in a block of a stream; undefined for a comment. */
export function eventIn(block: string): TestEvent | undefined {
  const id = /^id: (\d+)$/m.exec(block)?.[1];
  const data = /^data: ([^\n]*)$/m.exec(block)?.[1];
  if (data === undefined) return undefined;
  const event = JSON.parse(data) as TestEvent;
  return id === undefined ? event : { ...event, id: Number(id) };
}
