// One line to a running host: requests that outlive its restarts.
//
//   A request goes only to an address that `reach` has proven to be the host; after any break it is proven again.
//   A host that is gone, starting or draining is waited for, up to a limit; a refusal is a `Fault` at once.

import { setTimeout as wait } from "node:timers/promises";
import { Fault, type FaultCode, faultStatus } from "@lichen/wire";

export interface Address {
  readonly url: string;
  readonly token: string;
}

export interface LinkOptions {
  /** How long a host that went away is waited for. */
  readonly patienceMs?: number;
  /** Told once per break, before the first wait. */
  readonly onBreak?: () => void;
}

export interface LinkRequest {
  readonly method?: "GET" | "POST" | "PATCH";
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export class HostLink {
  readonly #reach: () => Promise<Address | undefined>;
  readonly #patienceMs: number;
  readonly #onBreak: () => void;
  #address: Address | undefined;

  constructor(reach: () => Promise<Address | undefined>, options: LinkOptions = {}) {
    this.#reach = reach;
    this.#patienceMs = options.patienceMs ?? 30_000;
    this.#onBreak = options.onBreak ?? (() => undefined);
  }

  /** The response of a request that the host took. Sent again after a break, so it must be safe to repeat. */
  async request(path: string, request: LinkRequest = {}): Promise<Response> {
    const deadline = performance.now() + this.#patienceMs;
    for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
      request.signal?.throwIfAborted();
      const response = await this.#attempt(path, request);
      if (response !== undefined) return response;
      if (performance.now() > deadline) {
        throw new Fault(
          "unavailable",
          "The host went away and did not come back. What it had accepted is kept: it goes on when `lichen start` runs again.",
        );
      }
      if (pauseMs === 100) this.#onBreak();
      await wait(pauseMs, undefined, request.signal ? { signal: request.signal } : {});
    }
  }

  /** Undefined where nothing answers for the host now. */
  async #attempt(path: string, request: LinkRequest): Promise<Response | undefined> {
    this.#address ??= await this.#reach();
    if (this.#address === undefined) return undefined;
    const { url, token } = this.#address;
    let response: Response;
    try {
      response = await fetch(new URL(path, url), {
        method: request.method ?? "GET",
        redirect: "error",
        headers: {
          authorization: `Bearer ${token}`,
          ...(request.body === undefined ? {} : { "content-type": "application/json" }),
          ...request.headers,
        },
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        ...(request.signal ? { signal: request.signal } : {}),
      });
    } catch (error) {
      request.signal?.throwIfAborted();
      if (!(error instanceof TypeError)) throw error;
      this.#address = undefined;
      return undefined;
    }
    if (response.ok) return response;
    const fault = await faultOf(response);
    if (fault.code !== "unavailable") throw fault;
    this.#address = undefined;
    return undefined;
  }
}

async function faultOf(response: Response): Promise<Fault> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as { error: { code: FaultCode; message: string } };
    if (Object.hasOwn(faultStatus, error.code)) return new Fault(error.code, error.message);
  } catch {
    // Not a refusal of ours: told below as what it is.
  }
  return new Fault("internal", `The host answered ${response.status} and no reason.`);
}
