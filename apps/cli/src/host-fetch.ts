// The way of a client to one host of this computer, through the host's restarts: a `fetch` that knows where it is now.
//
//   A request, and the token with it, goes only to an address that has just proven to be the host: whoever takes the
//   address over is told nothing. That costs each request a challenge.
//   A host that is gone, starting or going down is waited for, for as long as the patience lasts from the break on; an
//   answer that was cut off is asked for again. So all requests must be safe to repeat; a client's are.
//   Without patience a request fails at once, and the client is woken when the host is back.

import { setTimeout as wait } from "node:timers/promises";
import type { Fetch } from "@lichen/client";
import type { Connection } from "@lichen/server/node";
import { Fault } from "@lichen/wire";

type Address = Extract<Connection, { found: "host" }>;

export interface HostFetchOptions {
  /** Finds the host and has it prove itself. */
  readonly reach: () => Promise<Connection>;
  readonly patienceMs: number;
  /** Told once per break, where it is waited for. */
  readonly onBreak: () => void;
  /** Told that a host which a request did not find is there. */
  readonly onReturn: () => void;
}

const firstPauseMs = 100;
const longestPauseMs = 2_000;
const lookoutMs = 500;

export class HostFetch {
  /** What a client takes as its host's address; requests to it go to wherever that is. */
  readonly url = "http://host.invalid";
  readonly #options: HostFetchOptions;
  readonly #closed = new AbortController();
  #goneSince: number | undefined;
  #isLookingOut = false;

  constructor(options: HostFetchOptions) {
    this.#options = options;
  }

  /** Ends what goes on beside the requests. */
  close(): void {
    this.#closed.abort();
  }

  readonly fetch: Fetch = async (url, init) => {
    const signal = init.signal ?? undefined;
    const path = url.slice(this.url.length);
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
      signal?.throwIfAborted();
      const answer = await this.#attempt(path, init);
      if (answer !== undefined) {
        this.#goneSince = undefined;
        return answer;
      }
      const leftMs = this.#patienceLeft();
      if (leftMs <= 0) throw this.#givenUp();
      await wait(Math.min(pauseMs, leftMs), undefined, signal ? { signal } : {});
    }
  };

  /** Undefined where no host answers now. */
  async #attempt(path: string, init: RequestInit): Promise<Response | undefined> {
    for (let isSecond = false; ; isSecond = true) {
      const address = await this.#proven();
      if (address === undefined) return undefined;
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${address.token}`);
      try {
        const response = await whole(await fetch(`${address.url}${path}`, { ...init, headers }));
        // A host that is well refuses for another reason than its coming or going.
        if (response.status !== 503 || this.#options.patienceMs === 0 || isSecond) return response;
      } catch (error) {
        init.signal?.throwIfAborted();
        if (!(error instanceof TypeError)) throw error;
        return undefined;
      }
    }
  }

  async #proven(): Promise<Address | undefined> {
    const connection = await this.#options.reach();
    if (connection.found !== "host") return undefined;
    if (connection.status !== "ok" && this.#options.patienceMs > 0) return undefined;
    return connection;
  }

  /** How much longer the host is waited for. */
  #patienceLeft(): number {
    const { patienceMs, onBreak } = this.#options;
    if (this.#goneSince === undefined) {
      this.#goneSince = performance.now();
      if (patienceMs > 0) onBreak();
    }
    return this.#goneSince + patienceMs - performance.now();
  }

  #givenUp(): Fault {
    void this.#lookOut();
    if (this.#options.patienceMs === 0)
      return new Fault("unavailable", "No host answers now: try the same again.");
    return new Fault(
      "unavailable",
      "The host went away and did not come back. What it had accepted is kept: it goes on when `lichen start` runs again.",
      { retryable: false },
    );
  }

  /** Waits for the host to be back, beside all requests. */
  async #lookOut(): Promise<void> {
    const { signal } = this.#closed;
    if (this.#isLookingOut || signal.aborted) return;
    this.#isLookingOut = true;
    try {
      for (;;) {
        await wait(lookoutMs, undefined, { signal, ref: false });
        const connection = await this.#options.reach().catch(() => undefined);
        if (connection?.found === "host" && connection.status === "ok") break;
      }
      this.#isLookingOut = false;
      if (!signal.aborted) this.#options.onReturn();
    } catch {
      // It was closed: nobody waits any more.
    }
  }
}

/** An answer comes whole or not at all; a stream's comes as it is read. */
async function whole(response: Response): Promise<Response> {
  const { status, headers } = response;
  if (/^text\/event-stream\b/.test(headers.get("content-type") ?? "")) return response;
  // Redirects are the client's to refuse, and what has no body can be given none.
  if (response.body === null) return response;
  return new Response(await response.arrayBuffer(), { status, headers });
}
