// A machine that listens, with its devices and meshes: real store, real door, real sockets. Machines of a mesh are
// addresses of loopback beside 127.0.0.1, which any process may come from.

import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodePlatform } from "@lichen/runtime/node";
import type { Listening } from "@lichen/server/node";
import type { Device, Peer } from "@lichen/wire";
import {
  Access,
  listenMachine,
  type MeshProvider,
  openStaticProvider,
} from "../../src/access/index.ts";
import { type Harness, type Machine, openMachine } from "../../src/index.ts";
import { scriptedHarness, type ScriptedOptions } from "../scripted.ts";

export interface Ask {
  readonly method?: string;
  readonly json?: unknown;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  /** Whose credential goes along; the owner's token unless told otherwise. */
  readonly token?: string | null;
  /** The address that it comes from, and the one that it goes to. */
  readonly from?: string;
  readonly to?: string;
  /** The socket that it goes over. */
  readonly socket?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Body;
}

/** What these tests read of any answer. */
export interface Body {
  readonly error: string;
  readonly id: string;
  readonly code: string;
  readonly url: string;
  readonly key: string;
  readonly expires_at: string;
  readonly device: Device;
  readonly devices: readonly Device[];
  readonly peers: readonly Peer[];
  readonly sessions: readonly { readonly id: string; readonly name: string }[];
  readonly entries: readonly { readonly kind: string; readonly by?: string }[];
  readonly approvals: readonly { readonly approvalId: string }[];
}

export interface AccessRigOptions {
  readonly script?: ScriptedOptions["script"];
  /** In the place of the scripted one. */
  readonly harnesses?: readonly Harness[];
  readonly env?: Record<string, string>;
  readonly meshes?: object;
  readonly only?: readonly string[];
  /** Where an earlier rig lived. */
  readonly root?: string;
  readonly more?: readonly MeshProvider[];
  readonly port?: number;
  readonly bind?: string;
}

export class AccessRig implements AsyncDisposable {
  readonly root: string;
  readonly stateDir: string;
  readonly machine: Machine;
  readonly access: Access;
  readonly host: Listening;
  readonly reports: unknown[];
  #isClosed = false;

  private constructor(it: Pick<AccessRig, "root" | "machine" | "access" | "host" | "reports">) {
    this.root = it.root;
    this.stateDir = it.machine.stateDir;
    this.machine = it.machine;
    this.access = it.access;
    this.host = it.host;
    this.reports = it.reports;
  }

  static async open(options: AccessRigOptions = {}): Promise<AccessRig> {
    const root = options.root ?? mkdtempSync(join(tmpdir(), "lichen-access-"));
    const stateDir = join(root, "data", "machine");
    const home = join(root, "home");
    for (const dir of [stateDir, home]) mkdirSync(dir, { recursive: true, mode: 0o700 });
    if (options.meshes !== undefined) writeMeshes(stateDir, options.meshes);
    const reports: unknown[] = [];
    const platform = nodePlatform({ report: (error) => reports.push(error) });
    const access = await Access.open({
      stateDir,
      platform,
      providers: [await openStaticProvider(stateDir, platform), ...(options.more ?? [])],
      ...(options.only === undefined ? {} : { only: options.only }),
    });
    const machine = await openMachine({
      stateDir,
      home,
      platform,
      env: { PATH: process.env["PATH"], ...options.env },
      harnesses: options.harnesses ?? [
        scriptedHarness(options.script === undefined ? {} : { script: options.script }),
      ],
      report: (error) => reports.push(error),
    });
    const host = await listenMachine({
      machine,
      access,
      log: (bug) => reports.push(bug),
      port: options.port ?? 0,
      ...(options.bind === undefined ? {} : { bind: options.bind }),
    });
    return new AccessRig({ root, machine, access, host, reports });
  }

  get port(): number {
    return Number(new URL(this.host.url).port);
  }

  async ask(path: string, ask: Ask = {}): Promise<Answer> {
    const incoming = await this.stream(path, ask);
    let text = "";
    incoming.setEncoding("utf8");
    for await (const chunk of incoming) text += String(chunk);
    const isJson = incoming.headers["content-type"]?.startsWith("application/json") === true;
    return {
      status: incoming.statusCode ?? 0,
      headers: incoming.headers,
      text,
      body: (isJson && text !== "" ? JSON.parse(text) : {}) as Body,
    };
  }

  /** The beginning of an answer, whose body is read as it comes. */
  stream(path: string, ask: Ask = {}): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const body = ask.json === undefined ? ask.body : JSON.stringify(ask.json);
    const { token = this.host.token } = ask;
    const outgoing = httpRequest(
      {
        ...(ask.socket === undefined
          ? { host: ask.to ?? "127.0.0.1", port: this.port }
          : { socketPath: ask.socket }),
        ...(ask.from === undefined ? {} : { localAddress: ask.from }),
        path,
        method: ask.method ?? (body === undefined ? "GET" : "POST"),
        agent: false,
        headers: {
          ...(ask.socket === undefined ? {} : { host: "localhost" }),
          ...(token === null ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) }),
          ...(ask.json === undefined ? {} : { "content-type": "application/json" }),
          ...ask.headers,
        },
      },
      resolve,
    );
    outgoing.on("error", reject);
    outgoing.end(body);
    return promise;
  }

  async make(name: string): Promise<{ readonly id: string }> {
    const { status, body, text } = await this.ask("/v1/sessions", {
      json: { name, dir: `~/${name}` },
    });
    if (status !== 201) throw new Error(text);
    return body;
  }

  /** Pairs a device; its key. */
  async pair(name: string, kind = "owner"): Promise<{ id: string; key: string }> {
    const { body: offer } = await this.ask("/v1/pair", { json: { kind } });
    const { status, body, text } = await this.ask("/v1/pair/claim", {
      json: { code: offer.code, name },
      token: null,
    });
    if (status !== 201) throw new Error(text);
    return { id: body.device.id, key: body.key };
  }

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

/** Replaces the file as a careful program does. */
export function writeMeshes(stateDir: string, meshes: unknown): void {
  const path = join(stateDir, "meshes.json");
  writeFileSync(`${path}.new`, typeof meshes === "string" ? meshes : JSON.stringify(meshes), {
    mode: 0o600,
  });
  renameSync(`${path}.new`, path);
}

/** The body of a stream that is cut counts as ended. */
export async function rest(incoming: IncomingMessage): Promise<string> {
  let text = "";
  incoming.setEncoding("utf8");
  try {
    for await (const chunk of incoming) text += String(chunk);
  } catch {
    // It was cut.
  }
  return text;
}

/** A clock that moves when a test says so. */
export class HandClock {
  ms = Date.UTC(2026, 0, 1);
  readonly #timers = new Set<{ at: number; wake: () => void }>();

  now = (): number => this.ms;

  after = (ms: number, wake: () => void): (() => void) => {
    const timer = { at: this.ms + ms, wake };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  };

  advance(ms: number): void {
    this.ms += ms;
    for (const timer of [...this.#timers])
      if (timer.at <= this.ms && this.#timers.delete(timer)) timer.wake();
  }
}
