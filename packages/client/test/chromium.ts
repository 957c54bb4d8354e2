// A real Chromium without a screen, driven over its own debugging protocol.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

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
  let debug: Debug;
  try {
    debug = await Debug.connect(await addressOf(child));
  } catch (error) {
    if (child.pid !== undefined) await kill();
    throw error;
  }
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

const startMs = 30_000;

function addressOf(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let told = "";
  const fail = (why: string): void =>
    reject(new Error(`Chromium did not start (${why}); is the package chromium there? ${told}`));
  const timer = setTimeout(() => fail("it is silent"), startMs);
  child.once("error", (error) => fail(String(error)));
  child.once("exit", () => fail("it ended"));
  // Read to the end, so that it never waits for a reader.
  child.stderr!.on("data", (chunk: Buffer) => {
    told = (told + chunk.toString()).slice(-10_000);
    const address = /DevTools listening on (ws:\S+)/.exec(told)?.[1];
    if (address !== undefined) resolve(address);
  });
  return promise.finally(() => clearTimeout(timer));
}

class Debug {
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  readonly #awaited = new Map<string, PromiseWithResolvers<void>>();
  #id = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#take(String(data)));
    socket.addEventListener("close", () => {
      const waiting = [...this.#asked.values(), ...this.#awaited.values()];
      for (const { reject } of waiting) reject(new Error("Chromium is gone"));
      this.#asked.clear();
      this.#awaited.clear();
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
    const awaited = Promise.withResolvers<void>();
    this.#awaited.set(`${sessionId} ${method}`, awaited);
    return awaited.promise;
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
      const name = `${event.sessionId} ${event.method}`;
      this.#awaited.get(name)?.resolve();
      this.#awaited.delete(name);
      return;
    }
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (error) asked?.reject(new Error(error.message));
    else asked?.resolve(result ?? {});
  }
}
