// A real Chromium without a screen, driven over its own debugging protocol.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface Chromium extends AsyncDisposable {
  open(url: string): Promise<Page>;
  /** Ends it as a crash would. */
  kill(): Promise<void>;
}

export interface Page {
  /** The value of an expression in the page, awaited; must be JSON. */
  evaluate<T>(expression: string): Promise<T>;
}

interface Answer {
  readonly id?: number;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

/** `profile` is a folder of its own; one that was used before is taken up again. */
export async function openChromium(profile: string): Promise<Chromium> {
  const child = spawn(
    "chromium",
    [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--no-first-run",
      `--user-data-dir=${profile}`,
      "--remote-debugging-port=0",
      "about:blank",
    ],
    // A group of its own, so that all of its processes end together.
    {
      env: { PATH: "/usr/bin:/bin", HOME: profile },
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    },
  );
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    process.kill(-child.pid!, "SIGKILL");
    await gone;
  };
  const debug = await Debug.connect(await addressOf(child));
  return {
    kill,
    open: async (url) => {
      const { targetId } = await debug.ask("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await debug.ask("Target.attachToTarget", { targetId, flatten: true });
      const session = String(sessionId);
      await debug.ask("Page.enable", {}, session);
      const loaded = debug.event("Page.loadEventFired", session);
      await debug.ask("Page.navigate", { url }, session);
      await loaded;
      return {
        evaluate: async <T>(expression: string): Promise<T> => {
          const answer = await debug.ask(
            "Runtime.evaluate",
            { expression, awaitPromise: true, returnByValue: true },
            session,
          );
          const { result, exceptionDetails } = answer as {
            result?: { value?: unknown };
            exceptionDetails?: { exception?: { description?: string }; text?: string };
          };
          if (exceptionDetails)
            throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
          return result?.value as T;
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      debug.close();
      await kill();
    },
  };
}

async function addressOf(child: ChildProcess): Promise<string> {
  const told: string[] = [];
  child.once("error", (error) => told.push(String(error)));
  for await (const line of createInterface({ input: child.stderr! })) {
    const address = /DevTools listening on (ws:\S+)/.exec(line)?.[1];
    // What it says from here on is read and dropped, so that it never waits for a reader.
    if (address !== undefined) {
      child.stderr!.resume();
      return address;
    }
    told.push(line);
  }
  throw new Error(`Chromium did not start; install the package \`chromium\`. ${told.join("\n")}`);
}

class Debug {
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  readonly #awaited = new Map<string, () => void>();
  #id = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(String(data)));
    socket.addEventListener("close", () => {
      for (const asked of this.#asked.values()) asked.reject(new Error("Chromium is gone"));
      this.#asked.clear();
    });
  }

  static async connect(address: string): Promise<Debug> {
    const socket = new WebSocket(address);
    const open = Promise.withResolvers<void>();
    socket.addEventListener("open", () => open.resolve());
    socket.addEventListener("error", () => open.reject(new Error(`no Chromium at ${address}`)));
    await open.promise;
    return new Debug(socket);
  }

  ask(method: string, params: object, sessionId?: string): Promise<Record<string, unknown>> {
    const id = ++this.#id;
    const asked = Promise.withResolvers<Record<string, unknown>>();
    this.#asked.set(id, asked);
    this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) }));
    return asked.promise;
  }

  event(method: string, sessionId: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#awaited.set(`${sessionId} ${method}`, resolve);
    return promise;
  }

  close(): void {
    this.#socket.close();
  }

  #take(text: string): void {
    const { id, result, error, ...event } = JSON.parse(text) as Answer & {
      method?: string;
      sessionId?: string;
    };
    if (id === undefined) {
      this.#awaited.get(`${event.sessionId} ${event.method}`)?.();
      return;
    }
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (error) asked?.reject(new Error(error.message));
    else asked?.resolve(result ?? {});
  }
}
