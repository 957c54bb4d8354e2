// A machine of the tests: `lichen up` as a process of its own, with a small agent that needs no model.

import { join } from "node:path";
import { type Home, repository, type Running, type Settings } from "./process.ts";

/** The command of an agent that says back what it is told, and writes `note <text>` once a person allows it. */
export const echoAgent = join(repository, "examples/echo-agent/agent.mjs");

export class StartedMachine {
  readonly running: Running;
  readonly url: string;
  readonly token: string;

  private constructor(running: Running, url: string, token: string) {
    this.running = running;
    this.url = url;
    this.token = token;
  }

  static async start(
    home: Home,
    args: readonly string[] = [],
    settings?: Settings,
  ): Promise<StartedMachine> {
    const running = home.start(["up", "--port", "0", "--json", ...args], settings);
    const { url, token } = JSON.parse(await running.firstLine()) as { url: string; token: string };
    return new StartedMachine(running, url, token);
  }

  async ask(path: string, body?: unknown, method = body === undefined ? "GET" : "POST") {
    return fetch(new URL(path, this.url), {
      method,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Makes a session of the small agent. */
  async make(name: string, dir: string): Promise<{ id: string }> {
    const body = { name, dir, harness: "acp", command: [process.execPath, echoAgent] };
    return (await this.ask("/v1/sessions", body)).json() as Promise<{ id: string }>;
  }
}
