// An outbox's storage that lives as long as the program.

import type { OutboxItem, OutboxStorage } from "./storage.ts";

export function memoryStorage(now: () => number = Date.now): OutboxStorage {
  const items = new Map<string, OutboxItem>();
  const files = new Map<string, { bytes: Uint8Array; at: number }>();
  return {
    load: () => Promise.resolve({ items: [...items.values()], damaged: [] }),
    put: (item) => {
      items.set(item.id, item);
      return Promise.resolve();
    },
    remove: ({ id }) => {
      items.delete(id);
      return Promise.resolve();
    },
    putFile: (name, bytes) => {
      files.set(name, { bytes: bytes.slice(), at: now() });
      return Promise.resolve();
    },
    getFile: (name) => Promise.resolve(files.get(name)?.bytes),
    removeFile: (name) => {
      files.delete(name);
      return Promise.resolve();
    },
    filesBefore: (ms) =>
      Promise.resolve([...files].filter(([, { at }]) => at < ms).map(([name]) => name)),
  };
}
