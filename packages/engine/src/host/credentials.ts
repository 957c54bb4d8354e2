// Credentials in one file of their owner: keys and logins by provider, readable by no other user.
//
// Every change is a read, a decision and a whole new file under a lock that the operating system frees when its holder
// dies, so two processes never refresh one token twice or lose each other's change. A file that cannot be understood is
// refused and left as it is.

import { constants } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { AuthOperationOptions, Credential, CredentialStore } from "@earendil-works/pi-ai";
import { acquireLease, isHeld, type Lease, toSystemRefusal } from "@lichen/runtime/node";
import { Fault } from "@lichen/wire";
import * as z from "zod";

const lockWaitMs = 30_000;
const lockPollMs = 25;

const Stored = z.record(
  z.string(),
  z.discriminatedUnion("type", [
    z.looseObject({
      type: z.literal("api_key"),
      key: z.string().optional(),
      env: z.record(z.string(), z.string()).optional(),
    }),
    z.looseObject({
      type: z.literal("oauth"),
      access: z.string(),
      refresh: z.string(),
      expires: z.number(),
    }),
  ]),
);
type Stored = Record<string, Credential>;

/** The credentials in the file at `path`; it is made with the first one. */
export function fileCredentials(path: string): CredentialStore {
  return new FileCredentials(path);
}

class FileCredentials implements CredentialStore {
  readonly #path: string;
  /** Changes of this process, one after another. */
  #tail: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  async read(provider: string): Promise<Credential | undefined> {
    const stored = await this.#stored();
    return Object.hasOwn(stored, provider) ? stored[provider] : undefined;
  }

  async list(): Promise<{ providerId: string; type: Credential["type"] }[]> {
    const stored = await this.#stored();
    return Object.entries(stored).map(([providerId, { type }]) => ({ providerId, type }));
  }

  modify(
    provider: string,
    change: (current: Credential | undefined) => Promise<Credential | undefined>,
    options: AuthOperationOptions = {},
  ): Promise<Credential | undefined> {
    return this.#locked(options.signal, async () => {
      const stored = await this.#stored();
      const current = Object.hasOwn(stored, provider) ? stored[provider] : undefined;
      const next = await change(current);
      if (next === undefined) return current;
      await this.#write({ ...stored, [provider]: next });
      return next;
    });
  }

  delete(provider: string, options: AuthOperationOptions = {}): Promise<void> {
    return this.#locked(options.signal, async () => {
      const { [provider]: removed, ...rest } = await this.#stored();
      if (removed) await this.#write(rest);
    });
  }

  #locked<T>(signal: AbortSignal | undefined, body: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(async () => {
      signal?.throwIfAborted();
      const lease = await this.#lock(signal);
      try {
        return await body();
      } finally {
        lease.release();
      }
    });
    this.#tail = result.catch(() => {
      // Its caller is told; the next change starts anew.
    });
    return result;
  }

  async #lock(signal: AbortSignal | undefined): Promise<Lease> {
    for (let waitedMs = 0; ; waitedMs += lockPollMs) {
      try {
        return await acquireLease(this.#path);
      } catch (error) {
        if (!isHeld(error)) throw error;
        if (waitedMs >= lockWaitMs)
          throw new Fault(
            "unavailable",
            `The credentials in ${basename(this.#path)} are being changed by another process for too long: stop it, then try again.`,
            { cause: error },
          );
      }
      await wait(lockPollMs, undefined, signal ? { signal } : {});
    }
  }

  async #stored(): Promise<Stored> {
    let text: string;
    try {
      // Without it, opening a pipe waits for whoever writes into it.
      await using file = await open(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
      const found = await file.stat();
      if (!found.isFile()) throw this.#unreadable("is no regular file");
      if ((found.mode & 0o077) !== 0) await file.chmod(0o600);
      text = await file.readFile("utf8");
    } catch (error) {
      if (Fault.is(error)) throw error;
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
      throw this.#unreadable("cannot be read", error);
    }
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch (error) {
      throw this.#unreadable("is not JSON", error);
    }
    const stored = Stored.safeParse(parsed);
    if (!stored.success) throw this.#unreadable("holds something that is no credential");
    // Checked above; the type only says that an absent field is absent.
    return stored.data as Stored;
  }

  async #write(stored: Stored): Promise<void> {
    const next = `${this.#path}.next`;
    try {
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      await rm(next, { force: true });
      const file = await open(next, "wx", 0o600);
      try {
        await file.writeFile(`${JSON.stringify(stored, undefined, 2)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(next, this.#path);
    } catch (error) {
      // Half of a credential is none; where even that cannot be removed, the next change does.
      await rm(next, { force: true }).catch(() => undefined);
      throw toSystemRefusal(error, `the credentials file ${basename(this.#path)}`);
    }
  }

  #unreadable(what: string, cause?: unknown): Fault {
    return new Fault(
      "unreadable",
      `The credentials file ${basename(this.#path)} ${what}; nothing was changed: repair it or move it away.`,
      { cause },
    );
  }
}
