// The outbox: what a person sends goes here first, and from here to the host, whenever that can be reached.
//
//   N16  What `add` has answered for is sent once, across restarts and lost answers, and never lost.
//   N21  Pictures are copied in before `add` answers: what happens to the original later does not matter.

import { canonicalJson, Command, Fault, faultCodeOf, InlineImage } from "@lichen/wire";
import type { Client } from "../api.ts";
import { type ClientPlatform, webPlatform } from "../platform.ts";
import { Lane, type LaneGround, type OutboxEvent, type Place, type Recall } from "./lane.ts";
import type { OutboxImage, OutboxItem, OutboxStorage } from "./storage.ts";

export interface OutboxOptions {
  readonly client: Pick<Client, "agent">;
  readonly storage: OutboxStorage;
  readonly platform?: Partial<ClientPlatform>;
}

type Unsent<C> = C extends Command
  ? Omit<C, "requestId" | "images"> & { requestId?: string }
  : never;

export interface Outgoing {
  readonly agent: string;
  readonly session: string;
  /** Without a request id one is made. With one, adding the same again adds nothing. */
  readonly command: Unsent<Command>;
  /** For a prompt: bytes, or what reads them (a `Blob`, a `File`). */
  readonly images?: readonly Picture[];
}

export interface Picture {
  readonly mimeType: string;
  readonly data: Uint8Array | { arrayBuffer(): Promise<ArrayBuffer> };
}

export interface Draft {
  readonly command: Command;
  readonly images: { mimeType: string; data: Uint8Array }[];
}

const orphanMs = 86_400_000;
/** Refusals after which the same request id can never be accepted. */
const burnt = new Set(["conflict", "withdrawn", "closed"]);

/** Opens the outbox and goes on with what it holds. */
export async function openOutbox(options: OutboxOptions): Promise<Outbox> {
  const { items, damaged } = await options.storage.load();
  return new Outbox(options, items, damaged);
}

export class Outbox {
  /** What cannot be read, by its name in the storage; it stays there. */
  readonly damaged: readonly string[];
  readonly #client: Pick<Client, "agent">;
  readonly #ground: LaneGround;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<(event: OutboxEvent) => void>();
  readonly #lanes = new Map<string, Lane>();
  readonly #sweep: Promise<void>;
  #order = 0;

  /** @internal Opened by `openOutbox`. */
  constructor(options: OutboxOptions, items: readonly OutboxItem[], damaged: readonly string[]) {
    this.#client = options.client;
    this.damaged = damaged;
    this.#ground = {
      storage: options.storage,
      platform: { ...webPlatform, ...options.platform },
      closed: this.#closing.signal,
      tell: (event) => {
        for (const listener of this.#listeners) {
          try {
            listener(event);
          } catch (error) {
            // A bug of the listener's, for whoever watches over the program; the messages go on.
            void Promise.reject(error);
          }
        }
      },
    };
    for (const item of [...items].sort((a, b) => a.order - b.order)) {
      this.#order = Math.max(this.#order, item.order);
      const place: Place = { item, kept: Promise.resolve(), isKept: true };
      this.#laneOf(item).places.push(place);
    }
    for (const lane of this.#lanes.values()) lane.kick();
    // What cannot be swept now is swept at a later opening.
    this.#sweep = this.#sweepOrphans().catch(() => {});
  }

  /** Everything that is kept, first in first. */
  get items(): readonly OutboxItem[] {
    return this.#places()
      .map(({ item }) => item)
      .sort((a, b) => a.order - b.order);
  }

  /** Settles when the message and its pictures are kept: from then on it is sent, whatever happens. */
  async add(outgoing: Outgoing): Promise<OutboxItem> {
    this.#mustBeOpen();
    const { agent, session, images = [] } = outgoing;
    const requestId = outgoing.command.requestId ?? this.#ground.platform.randomId();
    const command = checked({ ...outgoing.command, requestId }, images);
    const known = this.#places().find(
      ({ item }) =>
        item.agent === agent && item.session === session && item.requestId === requestId,
    );
    if (known) return sameAs(known, command);

    const id = this.#ground.platform.randomId();
    const copies: OutboxImage[] = [];
    const item: OutboxItem = {
      id,
      order: ++this.#order,
      addedAt: this.#ground.platform.now(),
      agent,
      session,
      requestId,
      command,
      images: copies,
      state: "waiting",
    };
    const lane = this.#laneOf(item);
    const place: Place = { item, kept: this.#keep(item, images, copies), isKept: false };
    // It has its place from now on, so that what is added later comes later.
    lane.places.push(place);
    try {
      await place.kept;
    } catch (error) {
      lane.places.splice(lane.places.indexOf(place), 1);
      lane.kick();
      throw error;
    }
    place.isKept = true;
    this.#ground.tell({ type: "added", item });
    lane.kick();
    return item;
  }

  /** Calls a message back. While the host cannot be reached it waits: nothing is known until the host has spoken. */
  async recall(id: string): Promise<Recall> {
    this.#mustBeOpen();
    const place = this.#find(id);
    if (!place) return { status: "sent" };
    if (place.item.state === "set_aside")
      throw new Fault("conflict", `Message ${id} is set aside: try it again, or discard it.`);
    return this.#laneOf(place.item).recall(place);
  }

  /** Sends one that was set aside again, where it stood in the order; with a new request id where the old one is spent. */
  async retry(id: string): Promise<void> {
    const place = this.#find(id);
    if (place?.item.state !== "set_aside")
      throw new Fault("conflict", `Message ${id} is not set aside.`);
    const isBurnt = burnt.has(place.item.reason?.code ?? "");
    const requestId = isBurnt ? this.#ground.platform.randomId() : place.item.requestId;
    await this.#laneOf(place.item).again(place, requestId);
  }

  /** The text and pictures of a message, to be written on. */
  async draft(id: string): Promise<Draft | undefined> {
    const item = this.#find(id)?.item;
    if (!item) return undefined;
    const images: Draft["images"] = [];
    for (const { mimeType, file } of item.images) {
      const data = await this.#ground.storage.getFile(file);
      if (data) images.push({ mimeType, data });
    }
    return { command: item.command, images };
  }

  /** Forgets a message that is a draft again or was set aside. */
  async discard(id: string): Promise<void> {
    const place = this.#find(id);
    if (!place) return;
    const { item } = place;
    if (item.state !== "restored" && item.state !== "set_aside")
      throw new Fault("conflict", `Message ${id} is on its way: call it back first.`);
    await this.#laneOf(item).remove(place);
    this.#ground.tell({ type: "removed", item });
  }

  /** The network is back, as far as the caller knows: tries again now. */
  wake(): void {
    for (const lane of this.#lanes.values()) lane.wake();
  }

  /** Told of everything that happens here, until the answer is called. */
  subscribe(listener: (event: OutboxEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Stops sending; what is kept goes on at the next opening. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#lanes.values()].map((lane) => lane.close()));
    await this.#sweep;
  }

  #mustBeOpen(): void {
    if (this.#closing.signal.aborted) throw new Fault("unavailable", "The outbox is closed.");
  }

  async #keep(item: OutboxItem, images: readonly Picture[], copies: OutboxImage[]): Promise<void> {
    for (const [at, { mimeType, data }] of images.entries()) {
      const bytes = data instanceof Uint8Array ? data : new Uint8Array(await data.arrayBuffer());
      const file = `${item.id}-${at}`;
      await this.#ground.storage.putFile(file, bytes);
      copies.push({ mimeType, file, bytes: bytes.length });
    }
    await this.#ground.storage.put(item);
  }

  async #sweepOrphans(): Promise<void> {
    const { storage, platform } = this.#ground;
    const used = new Set(this.items.flatMap(({ images }) => images.map(({ file }) => file)));
    // Of messages that cannot be read, nobody knows which files are theirs.
    if (this.damaged.length > 0) return;
    for (const file of await storage.filesBefore(platform.now() - orphanMs))
      if (!used.has(file)) await storage.removeFile(file);
  }

  #places(): Place[] {
    return [...this.#lanes.values()].flatMap((lane) => lane.places);
  }

  #find(id: string): Place | undefined {
    return this.#places().find(({ item }) => item.id === id);
  }

  #laneOf({ agent, session }: Pick<OutboxItem, "agent" | "session">): Lane {
    const key = JSON.stringify([agent, session]);
    let lane = this.#lanes.get(key);
    if (!lane) {
      lane = new Lane(() => this.#client.agent(agent).session(session), this.#ground);
      this.#lanes.set(key, lane);
    }
    return lane;
  }
}

function checked(command: unknown, images: readonly Picture[]): Command {
  const parsed = Command.safeParse(command);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Fault(
      issue ? faultCodeOf(issue) : "invalid",
      issue?.message ?? "The command is not valid.",
    );
  }
  if (images.length > 0 && parsed.data.type !== "prompt")
    throw new Fault("invalid", "images: only a prompt takes them");
  for (const { mimeType } of images)
    if (!InlineImage.shape.mimeType.safeParse(mimeType).success)
      throw new Fault(
        "invalid",
        `images: ${mimeType} is none that is taken (PNG, JPEG, GIF, WebP)`,
      );
  return parsed.data;
}

async function sameAs(place: Place, command: Command): Promise<OutboxItem> {
  if (canonicalJson(place.item.command) !== canonicalJson(command))
    throw new Fault("conflict", `The request id ${command.requestId} is used by another message.`);
  await place.kept;
  return place.item;
}
