// Somebody in between: a listener that passes on to the true host what it is asked, and keeps what it was told.

import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import {
  type AddressInfo,
  connect,
  createServer as createLine,
  type Server as Line,
} from "node:net";
import { URL } from "node:url";
import type { Running } from "./process.ts";

export class Relay implements AsyncDisposable {
  /** The path of every request, and the credential that came with it. */
  readonly heard: { readonly path: string; readonly credential: string | undefined }[] = [];
  url = "";
  readonly #server: Server;
  #changed = Promise.withResolvers<void>();

  /** `host` is the name under which it asks the true host: that host's own, unless told otherwise. */
  static async before(
    target: string,
    at: { address?: string; port?: number; host?: string } = {},
  ): Promise<Relay> {
    const relay = new Relay(new URL(target), at.host);
    const { address = "127.0.0.1", port = 0 } = at;
    relay.#server.listen(port, address);
    await once(relay.#server, "listening");
    const listening = relay.#server.address() as AddressInfo;
    relay.url = `http://${address.includes(":") ? `[${address}]` : address}:${listening.port}`;
    return relay;
  }

  private constructor(target: URL, host = target.host) {
    this.#server = createServer((incoming, answer) => {
      const { url: path = "/", method, headers } = incoming;
      this.heard.push({ path, credential: headers.authorization ?? headers.cookie });
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
      const onward = request(
        new URL(path, target),
        { method, headers: { ...headers, host } },
        (response) => {
          answer.writeHead(response.statusCode ?? 502, response.headers);
          response.pipe(answer);
        },
      );
      onward.once("error", () => answer.destroy());
      answer.once("close", () => onward.destroy());
      incoming.pipe(onward);
    });
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** What else than challenges it was asked, and every credential: nothing, where nobody fell for it. */
  get stolen(): unknown[] {
    return this.heard.filter(
      ({ path, credential }) => credential !== undefined || !path.startsWith("/health?challenge="),
    );
  }

  /** Settles once a process has gone on after the answer to a challenge: with the next one, or by its end. */
  async outwaits(running: Running): Promise<void> {
    const before = this.heard.length;
    const ended = running.ended.then(() => true);
    while (this.heard.length < before + 3) {
      if (await Promise.race([ended, this.#changed.promise.then(() => false)])) break;
    }
    if (this.heard.length === before) throw new Error(`it was not asked\n${running.stderr}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

/** A line as `ssh -L` lays one: bytes, from a port of this computer to wherever it leads. */
export class Tunnel implements AsyncDisposable {
  /** The port of the host that it leads to. */
  leadsTo = 0;
  readonly #server: Line;
  readonly #ends = new Set<{ destroy(): unknown }>();

  static async open(): Promise<Tunnel> {
    const tunnel = new Tunnel();
    tunnel.#server.listen(0, "127.0.0.1");
    await once(tunnel.#server, "listening");
    return tunnel;
  }

  private constructor() {
    this.#server = createLine((near) => {
      const far = connect(this.leadsTo, "127.0.0.1");
      for (const [end, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#ends.add(end);
        end.on("error", () => other.destroy());
        end.on("close", () => other.destroy());
        end.pipe(other);
      }
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const end of this.#ends) end.destroy();
    await once(this.#server, "close");
  }
}
