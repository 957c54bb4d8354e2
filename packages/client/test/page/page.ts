// The client in a page: what a test asks of it, by names on the window.

import { indexedDbStorage } from "../../src/host/browser/index.ts";
import { createClient, openOutbox, type OutboxItem } from "../../src/index.ts";
import { type CutOptions, followCuts } from "../follow.ts";

/** It begins as a PNG does, which is all that a host looks at. */
const picture = Uint8Array.from(
  { length: 10_000 },
  (_, at) => [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a][at] ?? at % 251,
);

const page = {
  followCuts: (options: CutOptions, bytes: number) => followCuts(options, bytes, 4),

  /** Puts, replaces and removes; answers what is kept. */
  keep: async (items: OutboxItem[]) => {
    const storage = indexedDbStorage({ name: "contract" });
    for (const item of items) await storage.put(item);
    await storage.put({ ...items[1]!, state: "restored" });
    await storage.remove(items[0]!);
    await storage.remove(items[0]!);
    const bytes = picture.slice();
    await storage.putFile("i1-0", bytes);
    bytes.fill(0);
    await storage.putFile("i2-0", bytes);
    await storage.removeFile("i2-0");
    return storage.load();
  },
  kept: async () => {
    const storage = indexedDbStorage({ name: "contract" });
    const found = await storage.getFile("i1-0");
    return {
      ...(await storage.load()),
      isWhole: found?.length === picture.length && found.every((it, at) => it === picture[at]),
      gone: (await storage.getFile("i2-0")) === undefined,
      old: await storage.filesBefore(Date.now() + 60_000),
      none: await storage.filesBefore(0),
    };
  },

  /** Adds a message that does not get out. */
  write: async (texts: string[]) => {
    const client = createClient({ url: location.origin, fetch: () => new Promise(() => {}) });
    const outbox = await openOutbox({ client, storage: indexedDbStorage() });
    for (const text of texts)
      await outbox.add({
        agent: "a",
        session: "t",
        command: { type: "prompt", text },
        images: [{ mimeType: "image/png", data: new Blob([picture]) }],
      });
    return outbox.items.map((item) => item.requestId);
  },
  /** Sends what an earlier page kept. */
  send: async (token: string) => {
    const client = createClient({ url: location.origin, token });
    const outbox = await openOutbox({ client, storage: indexedDbStorage() });
    const found = outbox.items.map((item) => item.requestId);
    const done = Promise.withResolvers<void>();
    const look = (): void => {
      if (outbox.items.length === 0) done.resolve();
    };
    outbox.subscribe(look);
    look();
    await done.promise;
    await outbox.close();
    return found;
  },
};

declare const location: { readonly origin: string };
Object.assign(globalThis, { page });
export type PageUnderTest = typeof page;
