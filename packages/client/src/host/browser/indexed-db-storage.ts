// An outbox's storage in a browser's database: a page that is closed or killed finds it again.

import { type OutboxItem, type OutboxStorage, readItem } from "../../outbox/storage.ts";

export interface IndexedDbStorageOptions {
  /** The database's name. One for each host and person. */
  readonly name?: string;
  readonly now?: () => number;
}

// What is used of IndexedDB; these packages are compiled without the types of a page.
interface Ask<T> {
  readonly result: T;
  readonly error: unknown;
  onsuccess: (() => void) | null;
  onerror: (() => void) | null;
}
interface OpenAsk extends Ask<Database> {
  onupgradeneeded: (() => void) | null;
  onblocked: (() => void) | null;
}
interface Store {
  put(value: unknown, key: string): unknown;
  delete(key: string): unknown;
  get(key: string): Ask<unknown>;
  getAll(): Ask<unknown[]>;
  getAllKeys(): Ask<unknown[]>;
}
interface Transaction {
  objectStore(name: string): Store;
  oncomplete: (() => void) | null;
  onabort: (() => void) | null;
  readonly error: unknown;
}
interface Database {
  createObjectStore(name: string): unknown;
  transaction(
    stores: string,
    mode: "readonly" | "readwrite",
    options: { durability: "strict" },
  ): Transaction;
  onversionchange: (() => void) | null;
  close(): void;
}
interface Factory {
  open(name: string, version: number): OpenAsk;
}

export function indexedDbStorage(options: IndexedDbStorageOptions = {}): OutboxStorage {
  const { name = "lichen-outbox", now = Date.now } = options;
  let opened: Promise<Database> | undefined;
  const database = (): Promise<Database> => {
    opened ??= openDatabase(name, () => (opened = undefined));
    // One that failed is tried anew by the next that asks.
    opened.catch(() => (opened = undefined));
    return opened;
  };

  const write = async (store: string, change: (store: Store) => void): Promise<void> => {
    const transaction = (await database()).transaction(store, "readwrite", {
      durability: "strict",
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("the write was aborted"));
    change(transaction.objectStore(store));
    return promise;
  };
  const read = async <T>(store: string, ask: (store: Store) => Ask<T>): Promise<T> => {
    const transaction = (await database()).transaction(store, "readonly", { durability: "strict" });
    return answerOf(ask(transaction.objectStore(store)));
  };

  return {
    load: async () => {
      const keys = await read("items", (store) => store.getAllKeys());
      const items: OutboxItem[] = [];
      const damaged: string[] = [];
      for (const key of keys.map(String)) {
        const value = await read("items", (store) => store.get(key));
        const item = readItem(value);
        if (item) items.push(item);
        else if (value !== undefined) damaged.push(key);
      }
      return { items, damaged };
    },
    put: (item) => write("items", (store) => store.put(item, item.id)),
    remove: ({ id }) => write("items", (store) => store.delete(id)),
    putFile: (file, bytes) =>
      write("files", (store) => store.put({ bytes: bytes.slice(), at: now() }, file)),
    getFile: async (file) => {
      const found = await read("files", (store) => store.get(file));
      return isFile(found) ? found.bytes : undefined;
    },
    removeFile: (file) => write("files", (store) => store.delete(file)),
    filesBefore: async (ms) => {
      const names: string[] = [];
      for (const file of (await read("files", (store) => store.getAllKeys())).map(String)) {
        const found = await read("files", (store) => store.get(file));
        if (isFile(found) && found.at < ms) names.push(file);
      }
      return names;
    },
  };
}

function isFile(value: unknown): value is { bytes: Uint8Array; at: number } {
  return (
    value !== null &&
    typeof value === "object" &&
    "bytes" in value &&
    value.bytes instanceof Uint8Array
  );
}

function openDatabase(name: string, closed: () => void): Promise<Database> {
  const factory = (globalThis as { indexedDB?: Factory }).indexedDB;
  if (!factory) return Promise.reject(new Error("this platform has no IndexedDB"));
  const ask = factory.open(name, 1);
  ask.onupgradeneeded = () => {
    for (const store of ["items", "files"]) ask.result.createObjectStore(store);
  };
  const { promise, resolve, reject } = Promise.withResolvers<Database>();
  ask.onblocked = () => reject(new Error("another page holds the outbox in an older form"));
  ask.onerror = () => reject(ask.error);
  ask.onsuccess = () => {
    const database = ask.result;
    // Whoever wants to delete it or to change its form need not wait for this page.
    database.onversionchange = () => {
      database.close();
      closed();
    };
    resolve(database);
  };
  return promise;
}

function answerOf<T>(ask: Ask<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  ask.onsuccess = () => resolve(ask.result);
  ask.onerror = () => reject(ask.error);
  return promise;
}
