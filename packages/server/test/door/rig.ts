// A host for the door's tests: a real door on a real port of loopback, with its state in a folder of its own.

import { mkdtempSync, rmSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDoor, type Door, type DoorOptions } from "../../src/door/door.ts";
import { type Served, serveHost } from "../../src/host/serve.ts";
import { HostTokens } from "../../src/host/token.ts";

/** Time that moves when a test says so. */
export class HandClock {
  ms = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<{ at: number; wake: () => void }>();

  now = (): number => this.ms;

  after = (ms: number, wake: () => void): (() => void) => {
    const timer = { at: this.ms + ms, wake };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  };

  /** How many timers are set. */
  get waiting(): number {
    return this.#timers.size;
  }

  advance(ms: number): void {
    this.ms += ms;
    for (const timer of [...this.#timers])
      if (timer.at <= this.ms && this.#timers.delete(timer)) timer.wake();
  }
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  text: string;
  json(): unknown;
}

export interface Ask {
  method?: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Sent as JSON with its content type. */
  json?: unknown;
  /** Whose token goes along; the owner's unless told otherwise. */
  token?: string | null;
}

export interface Rig extends AsyncDisposable {
  readonly door: Door;
  readonly served: Served;
  readonly tokens: HostTokens;
  readonly clock: HandClock;
  readonly stateDir: string;
  /** What was told to the host beside answers. */
  readonly reports: unknown[];
  readonly bugs: { id: string; error: unknown; method: string; path: string }[];
  ask(path: string, ask?: Ask): Promise<Answer>;
  /** Sends exactly these bytes and gives all that comes back until the other side closes. */
  raw(text: string | Buffer): Promise<string>;
}

export type RigOptions = Partial<DoorOptions>;

export async function openRig(options: RigOptions = {}): Promise<Rig> {
  const stateDir = temporaryDir();
  const clock = new HandClock();
  const tokens = new HostTokens(stateDir, clock.now);
  const bugs: Rig["bugs"] = [];
  let names: ReadonlySet<string> = new Set();
  let addresses: ReadonlySet<string> = new Set();
  const door = createDoor({
    owner: () => undefined,
    tokens,
    features: [],
    platform: clock,
    log: (bug) => bugs.push(bug),
    listensAs: () => names,
    boundTo: () => addresses,
    ...options,
  });
  const served = await serveHost({ fetch: door.app.fetch, port: 0 });
  names = served.listensAs;
  addresses = served.boundTo;
  return {
    door,
    served,
    tokens,
    clock,
    stateDir,
    reports: [],
    bugs,
    ask: (path, ask = {}) => sendRequest(served.port, path, { token: tokens.owner, ...ask }),
    raw: (text) => sendRaw(served.port, text),
    [Symbol.asyncDispose]: async () => {
      door.drain();
      await served.close({ graceMs: 0 });
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

export function temporaryDir(): string {
  return mkdtempSync(join(tmpdir(), "lichen-door-"));
}

export function sendRequest(port: number, path: string, ask: Ask): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const body = ask.json === undefined ? ask.body : JSON.stringify(ask.json);
  const outgoing = httpRequest(
    {
      host: "127.0.0.1",
      port,
      path,
      method: ask.method ?? (body === undefined ? "GET" : "POST"),
      agent: false,
      headers: headersOf(ask),
    },
    (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const whole = Buffer.concat(chunks);
        resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          body: whole,
          text: whole.toString(),
          json: () => JSON.parse(whole.toString()) as unknown,
        });
      });
    },
  );
  outgoing.on("error", reject);
  outgoing.end(body);
  return promise;
}

/** An open answer that is read as it comes. */
export interface OpenStream extends AsyncDisposable {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** What came up to and with the next `mark`; rejects when the stream ends before. */
  until(mark: string): Promise<string>;
  /** All that comes until the other side ends. */
  rest(): Promise<string>;
  /** Leaves what comes on the wire, as a reader that is busy. */
  pause(): void;
  resume(): void;
}

export function openStream(port: number, path: string, ask: Ask = {}): Promise<OpenStream> {
  const { promise, resolve, reject } = Promise.withResolvers<OpenStream>();
  const body = ask.json === undefined ? ask.body : JSON.stringify(ask.json);
  const outgoing = httpRequest(
    {
      host: "127.0.0.1",
      port,
      path,
      method: ask.method ?? (body === undefined ? "GET" : "POST"),
      agent: false,
      headers: headersOf(ask),
    },
    (incoming) => {
      let received = "";
      let isOver = false;
      let changed = Promise.withResolvers<void>();
      const tell = () => {
        changed.resolve();
        changed = Promise.withResolvers<void>();
      };
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk: string) => {
        received += chunk;
        tell();
      });
      const over = () => {
        isOver = true;
        tell();
      };
      incoming.on("error", over);
      incoming.on("close", over);
      resolve({
        status: incoming.statusCode ?? 0,
        headers: incoming.headers,
        until: async (mark) => {
          for (;;) {
            const at = received.indexOf(mark);
            if (at >= 0) {
              const part = received.slice(0, at + mark.length);
              received = received.slice(at + mark.length);
              return part;
            }
            if (isOver) throw new Error(`The stream ended before ${JSON.stringify(mark)}.`);
            await changed.promise;
          }
        },
        pause: () => void incoming.pause(),
        resume: () => void incoming.resume(),
        rest: async () => {
          while (!isOver) await changed.promise;
          return received;
        },
        [Symbol.asyncDispose]: async () => {
          outgoing.destroy();
          while (!isOver) await changed.promise;
        },
      });
    },
  );
  outgoing.on("error", reject);
  outgoing.end(body);
  return promise;
}

function headersOf(ask: Ask): Record<string, string> {
  return {
    ...(ask.json === undefined ? {} : { "content-type": "application/json" }),
    ...(ask.token ? { authorization: `Bearer ${ask.token}` } : {}),
    ...ask.headers,
  };
}

export function sendRaw(port: number, text: string | Buffer): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = "";
  const socket: Socket = connect(port, "127.0.0.1", () => socket.write(text));
  socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
  socket.on("error", () => resolve(received));
  socket.on("close", () => resolve(received));
  return promise;
}

/** The refusal's code and message, or what came instead. */
export function refused(answer: Answer): { status: number; code: string; message: string } {
  const { error } = answer.json() as { error: { code: string; message: string } };
  return { status: answer.status, code: error.code, message: error.message };
}
