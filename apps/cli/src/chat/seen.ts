// How far a person has read each session, kept for the next chat. What was there before the first chat counts as read.

import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { SessionInfo } from "@lichen/wire";

interface Marks {
  /** RFC 3339: sessions that were last active before this are read. */
  readonly since: string;
  readonly heads: Record<string, number>;
}

/** Marks beyond this are forgotten, the oldest first. */
const most = 2_000;

export class Seen {
  readonly #path: string;
  readonly #marks: Marks;
  #saving: Promise<void> | undefined;
  #isStale = false;

  private constructor(path: string, marks: Marks) {
    this.#path = path;
    this.#marks = marks;
  }

  /** A file that is missing or damaged is begun anew. */
  static async open(path: string, now: Date): Promise<Seen> {
    const found = await read(path);
    const seen = new Seen(path, found ?? { since: now.toISOString(), heads: {} });
    if (found === undefined) seen.#save();
    return seen;
  }

  isUnread({ session, head, lastAt }: SessionInfo): boolean {
    const mark = this.#marks.heads[session];
    return mark === undefined ? lastAt > this.#marks.since : head > mark;
  }

  mark(session: string, head: number): void {
    if ((this.#marks.heads[session] ?? -1) >= head) return;
    delete this.#marks.heads[session];
    this.#marks.heads[session] = head;
    this.#save();
  }

  forget(session: string): void {
    delete this.#marks.heads[session];
    this.#save();
  }

  /** Settles when what was marked is kept, or cannot be: marks are a help, and their loss no fault. */
  async saved(): Promise<void> {
    await this.#saving;
  }

  #save(): void {
    this.#isStale = true;
    this.#saving ??= this.#write().finally(() => {
      this.#saving = undefined;
    });
  }

  async #write(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      // Another chat may have read further meanwhile.
      const others = await read(this.#path);
      for (const [session, head] of Object.entries(others?.heads ?? {}))
        if (head > (this.#marks.heads[session] ?? -1)) this.#marks.heads[session] = head;
      const names = Object.keys(this.#marks.heads);
      for (const name of names.slice(0, Math.max(0, names.length - most)))
        delete this.#marks.heads[name];
      const making = `${this.#path}.${randomUUID()}.new`;
      try {
        await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
        await writeFile(making, JSON.stringify(this.#marks), { mode: 0o600 });
        await rename(making, this.#path);
      } catch {
        return;
      }
    }
  }
}

async function read(path: string): Promise<Marks | undefined> {
  try {
    return marksOf(JSON.parse(await readFile(path, "utf8")));
  } catch {
    return undefined;
  }
}

function marksOf(value: unknown): Marks | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (!("since" in value) || typeof value.since !== "string") return undefined;
  if (!("heads" in value) || typeof value.heads !== "object" || value.heads === null)
    return undefined;
  const heads = Object.entries(value.heads).filter(
    (entry): entry is [string, number] => typeof entry[1] === "number",
  );
  return { since: value.since, heads: Object.fromEntries(heads) };
}
