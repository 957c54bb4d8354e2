// A line between a client and a host that counts what passes. Clients find it by a state directory of its own, and trust
// it because it has the host's token and vouches for its own address as a host does.

import { createHmac } from "node:crypto";
import { once } from "node:events";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { URL } from "node:url";

export interface Passed {
  readonly method: string;
  readonly path: string;
  /** Of the answer's body, so far. */
  text: string;
}

export class Proxy implements AsyncDisposable {
  readonly passed: Passed[] = [];
  readonly #server: Server;

  /** Stands before the host that keeps `hostState`; `state` is where clients look for it. */
  static async before(url: string, hostState: string, state: string): Promise<Proxy> {
    const token = (await readFile(join(hostState, "token"), "utf8")).trim();
    const proxy = new Proxy(new URL(url), token);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    const { port } = proxy.#server.address() as AddressInfo;
    await mkdir(state, { recursive: true, mode: 0o700 });
    await copyFile(join(hostState, "token"), join(state, "token"));
    const file = { url: `http://127.0.0.1:${port}`, pid: process.pid };
    await writeFile(join(state, "host.json"), JSON.stringify(file), { mode: 0o600 });
    return proxy;
  }

  private constructor(target: URL, token: string) {
    this.#server = createServer((incoming, answer) => {
      const { method = "GET", url: path = "/" } = incoming;
      const passed: Passed = { method, path, text: "" };
      this.passed.push(passed);
      const headers = { ...incoming.headers, host: target.host };
      const onward = request(new URL(path, target), { method, headers }, (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        const nonce = new URL(path, target).searchParams.get("challenge");
        const vouch = createHmac("sha256", token)
          .update(`lichen vouches ${nonce} ${incoming.headers.host}`)
          .digest("hex");
        response.setEncoding("utf8").on("data", (text: string) => {
          passed.text += text;
          answer.write(nonce === null ? text : text.replace(/"vouch":"\w+"/, `"vouch":"${vouch}"`));
        });
        response.once("end", () => answer.end());
        response.once("error", () => answer.destroy());
      });
      onward.once("error", () => answer.destroy());
      answer.once("close", () => onward.destroy());
      incoming.pipe(onward);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}
