// The line to one host: every request is sent here, with the token, within its time, and its refusals become faults.
//
// Whoever gives `fetch` decides where requests can go at all; the client adds no right of its own.

import { Fault } from "@lichen/wire";
import { type ClientPlatform, pause } from "../platform.ts";
import { lost, noHost, refusalOf } from "./refusal.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface LineOptions {
  readonly url: string;
  readonly token: string | (() => string | Promise<string>) | undefined;
  readonly fetch: Fetch;
  readonly platform: ClientPlatform;
}

export interface Ask {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** How long the answer may take. */
  readonly timeoutMs?: number;
}

const defaultTimeoutMs = 30_000;

export class Line {
  readonly platform: ClientPlatform;
  readonly #base: string;
  readonly #token: LineOptions["token"];
  readonly #fetch: Fetch;
  readonly #naps = new Set<AbortController>();

  constructor(options: LineOptions) {
    this.platform = options.platform;
    this.#base = options.url.replace(/\/+$/, "");
    this.#token = options.token;
    this.#fetch = options.fetch;
  }

  /** The answer's JSON, read by `parse`; and its status. */
  async json<T>(
    path: string,
    ask: Ask,
    parse: (value: unknown) => T,
  ): Promise<{ value: T; status: number }> {
    return this.#whole(path, ask, async (response) => {
      const text = await response.text();
      try {
        return { value: parse(JSON.parse(text)), status: response.status };
      } catch (cause) {
        throw noHost(cause);
      }
    });
  }

  bytes(path: string, ask: Ask = {}): Promise<{ bytes: Uint8Array; mimeType: string }> {
    return this.#whole(path, ask, async (response) => ({
      bytes: new Uint8Array(await response.arrayBuffer()),
      mimeType: response.headers.get("content-type") ?? "application/octet-stream",
    }));
  }

  async none(path: string, ask: Ask): Promise<void> {
    await this.#whole(path, ask, async (response) => void (await response.arrayBuffer()));
  }

  /** An answer whose body is read as it comes, by the caller; it begins within the time or never. */
  async open(path: string, ask: Ask, ears: AbortController): Promise<Response> {
    const cancel = this.platform.after(ask.timeoutMs ?? defaultTimeoutMs, () =>
      ears.abort(new Error("no answer in time")),
    );
    try {
      return await this.#send(path, ask, ears.signal);
    } finally {
      cancel();
    }
  }

  /** Waits before a further connection, at most until the signal aborts or somebody wakes the line. */
  async nap(ms: number, signal: AbortSignal): Promise<void> {
    const nap = new AbortController();
    const leave = (): void => nap.abort();
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    this.#naps.add(nap);
    await pause(this.platform, ms, nap.signal);
    this.#naps.delete(nap);
    signal.removeEventListener("abort", leave);
  }

  /** Ends every wait for a better time. */
  wake(): void {
    for (const nap of this.#naps) nap.abort();
  }

  /** Reads a whole answer. What ends it early is the caller's signal, told as it is, or a lost answer. */
  async #whole<T>(path: string, ask: Ask, read: (response: Response) => Promise<T>): Promise<T> {
    ask.signal?.throwIfAborted();
    const ears = new AbortController();
    const leave = (): void => ears.abort(ask.signal?.reason);
    ask.signal?.addEventListener("abort", leave);
    const cancel = this.platform.after(ask.timeoutMs ?? defaultTimeoutMs, () =>
      ears.abort(new Error("no answer in time")),
    );
    const gone = Promise.withResolvers<never>();
    // By the time it is told, nobody may wait for it any more.
    gone.promise.catch(() => {});
    ears.signal.addEventListener("abort", () => gone.reject(ears.signal.reason));
    try {
      // A `fetch` of the caller's own may not listen to the signal.
      return await Promise.race([this.#send(path, ask, ears.signal).then(read), gone.promise]);
    } catch (error) {
      ask.signal?.throwIfAborted();
      throw Fault.is(error) ? error : lost(error);
    } finally {
      cancel();
      ask.signal?.removeEventListener("abort", leave);
    }
  }

  async #send(path: string, ask: Ask, signal: AbortSignal): Promise<Response> {
    const token = typeof this.#token === "function" ? await this.#token() : this.#token;
    const response = await this.#fetch(`${this.#base}${path}${queryOf(ask.query)}`, {
      method: ask.method ?? "GET",
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(ask.body === undefined ? {} : { "content-type": "application/json" }),
        ...ask.headers,
      },
      ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
      redirect: "manual",
      signal,
    });
    if (response.ok) return response;
    throw await refusalOf(response);
  }
}

function queryOf(query: Ask["query"]): string {
  const given = Object.entries(query ?? {}).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}
