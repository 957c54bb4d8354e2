// A started host, spoken to over HTTP as any client would.

import type { Home, Running, Settings } from "./process.ts";

export class StartedHost {
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
    dir: string,
    args: readonly string[] = [],
    settings?: Settings,
  ): Promise<StartedHost> {
    const running = home.start(["start", dir, "--port", "0", "--json", ...args], settings);
    const { url, token } = JSON.parse(await running.firstLine()) as { url: string; token: string };
    return new StartedHost(running, url, token);
  }

  async ask(path: string, body?: unknown): Promise<Response> {
    return fetch(new URL(path, this.url), {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  async agent(): Promise<string> {
    const { agents } = (await (await this.ask("/agents")).json()) as {
      agents: { agent: string }[];
    };
    return agents[0]?.agent ?? "none";
  }

  async entries(session: string): Promise<{ kind: string; data: Record<string, unknown> }[]> {
    const response = await this.ask(`/agents/${await this.agent()}/sessions/${session}`);
    return ((await response.json()) as { entries: { kind: string; data: never }[] }).entries;
  }
}

export function kindsOf(entries: readonly { kind: string }[]): string[] {
  return entries.map(({ kind }) => kind);
}
