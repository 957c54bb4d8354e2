// A host for the client's tests: a real store on disk, the real runtime, the real door on a real port of loopback.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type CapabilityOptions,
  type ModelCatalogue,
  type Owner,
  openOwner,
} from "@lichen/runtime";
import { nodePlatform, openSql } from "@lichen/runtime/node";
import { type EngineScript, scriptedEngine } from "@lichen/runtime/testing";
import { listenHost } from "@lichen/server/node";
import { type ClientOptions, createClient, type HttpClient } from "../src/index.ts";

export interface TestHost extends AsyncDisposable {
  /** Of the life that is on now. */
  readonly owner: Owner;
  readonly url: string;
  readonly port: number;
  readonly token: string;
  readonly folder: string;
  /** Event streams that are open now. */
  readonly openStreams: number;
  client(options?: Partial<ClientOptions>): HttpClient;
  stop(): Promise<void>;
  /** A further life on the same store, at the same address. */
  start(): Promise<void>;
}

export interface TestHostOptions {
  readonly script?: EngineScript;
  readonly models?: ModelCatalogue;
  readonly capabilities?: CapabilityOptions;
  readonly allowedHosts?: readonly string[];
}

/** The agent is called `a`. */
export async function openTestHost(options: TestHostOptions = {}): Promise<TestHost> {
  const folder = temporaryFolder();
  const { models, capabilities } = options;
  const engine = scriptedEngine(options.script, models === undefined ? {} : { models });
  const report = (error: unknown): void => {
    throw error;
  };
  let port = 0;

  const live = async () => {
    const platform = nodePlatform({ report });
    const file = await openSql(join(folder, "host.db"));
    const owner = openOwner({ sql: file.sql, platform });
    await owner.attach({
      agent: "a",
      engine,
      ...(capabilities === undefined ? {} : { capabilities }),
    });
    const listening = await listenHost({
      owner,
      stateDir: folder,
      platform,
      log: ({ error }) => report(error),
      port,
      ...(options.allowedHosts ? { allowedHosts: options.allowedHosts } : {}),
      close: async () => {
        await owner.close({ patienceMs: 0 });
        await file.close();
      },
    });
    port = Number(new URL(listening.url).port);
    return { owner, listening };
  };

  let life = await live();
  /** Whoever stops it waits until its port and its store are free, also where another stops it already. */
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= life.listening.drain({ graceMs: 0 }));
  return {
    folder,
    get owner() {
      return life.owner;
    },
    get openStreams() {
      return life.listening.door.openStreams;
    },
    get url() {
      return life.listening.url;
    },
    get port() {
      return port;
    },
    get token() {
      return life.listening.token;
    },
    client: (given = {}) =>
      createClient({ url: life.listening.url, token: life.listening.token, ...given }),
    stop,
    start: async () => {
      life = await live();
      stopping = undefined;
    },
    [Symbol.asyncDispose]: async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), "lichen-client-"));
}
