// Where an outbox keeps what is not sent yet. Three hold it: memory, a folder of files, a browser's database.

import { Command, type FaultCode } from "@lichen/wire";
import { recordOf } from "../http/refusal.ts";

/** What a person wrote and has not been answered for. */
export interface OutboxItem {
  readonly id: string;
  /** Counts up: first in, first sent. */
  readonly order: number;
  readonly addedAt: number;
  readonly agent: string;
  readonly session: string;
  /** The same for every try. */
  readonly requestId: string;
  /** The command without its images, which lie beside it. */
  readonly command: Command;
  readonly images: readonly OutboxImage[];
  /**
   * `waiting` to be sent; `withdrawing`, until the host has said what became of it; `set_aside`, since the host refused
   * it for good; `restored`, for the host has promised that it never comes: a draft again.
   */
  readonly state: "waiting" | "withdrawing" | "set_aside" | "restored";
  readonly reason?: { readonly code: FaultCode; readonly message: string };
}

export interface OutboxImage {
  readonly mimeType: string;
  readonly file: string;
  readonly bytes: number;
}

/**
 * Every write is whole or not at all, and durable when its promise settles. Two programs may use one storage: the same
 * request id keeps them from doubling a message.
 */
export interface OutboxStorage {
  /** What is kept; and the names of what cannot be read, which stays as it is. */
  load(): Promise<{ items: OutboxItem[]; damaged: string[] }>;
  /** Adds, or replaces the one of the same id. */
  put(item: OutboxItem): Promise<void>;
  /** Also settles where it is gone. */
  remove(item: OutboxItem): Promise<void>;
  putFile(name: string, bytes: Uint8Array): Promise<void>;
  getFile(name: string): Promise<Uint8Array | undefined>;
  removeFile(name: string): Promise<void>;
  /** Files that were put before `ms` since the epoch. */
  filesBefore(ms: number): Promise<string[]>;
}

const states = new Set(["waiting", "withdrawing", "set_aside", "restored"]);

/** An item out of a storage; undefined for anything else. */
export function readItem(value: unknown): OutboxItem | undefined {
  const item = recordOf(value);
  if (!item) return undefined;
  const texts = ["id", "agent", "session", "requestId"].map((name) => item[name]);
  const numbers = [item["order"], item["addedAt"]];
  const isItem =
    texts.every((it) => typeof it === "string") &&
    numbers.every((it) => typeof it === "number") &&
    Array.isArray(item["images"]) &&
    item["images"].every(isImage) &&
    states.has(String(item["state"])) &&
    Command.safeParse(item["command"]).success;
  // Each member was looked at.
  return isItem ? (value as OutboxItem) : undefined;
}

function isImage(value: unknown): boolean {
  const { mimeType, file, bytes } = recordOf(value) ?? {};
  return typeof mimeType === "string" && typeof file === "string" && typeof bytes === "number";
}
