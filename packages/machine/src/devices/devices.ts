// The devices of a machine's owner: admitted, named, known by their keys, and sent away.
//
//   DV1  A key is random, 256 bits, told once and kept as a digest.
//   DV2  A device that is sent away is nobody at once: its streams and whatever it has under way end with it.
//   DV3  No two devices look alike by their names.

import { createHash } from "node:crypto";
import type { Platform } from "@lichen/runtime";
import type { Arrival, KnownToken, Principal } from "@lichen/server/door";
import { type Device, type DeviceKind, Fault } from "@lichen/wire";
import { checkedDeviceName, lookOf } from "./device-name.ts";
import { type DeviceRow, DeviceTable } from "./device-table.ts";

export interface DevicesOptions {
  /** `devices.db` in the machine's state. */
  readonly path: string;
  readonly platform: Pick<Platform, "now" | "randomId" | "report">;
}

interface Kept {
  row: DeviceRow;
  principal: Principal;
  /** What it has under way. */
  readonly open: Set<Arrival>;
  seen: number | null;
}

/** What an owner's request may ask of a device; `by` is the request itself, which is answered before it ends too. */
interface Sparing {
  readonly sparing?: Arrival | undefined;
}

const mostDevices = 256;
/** Of 36 kinds: more than 256 bits. */
const keyCharacters = 50;
/** When a device was seen is written down this often: each writing waits for the disk. */
const seenEveryMs = 300_000;

export class Devices {
  readonly #table: DeviceTable;
  readonly #platform: DevicesOptions["platform"];
  readonly #kept = new Map<string, Kept>();
  #keys: readonly KnownToken[] = [];

  private constructor(table: DeviceTable, platform: DevicesOptions["platform"]) {
    this.#table = table;
    this.#platform = platform;
    for (const row of table.all()) this.#keep(row);
    this.#sort();
  }

  static async open({ path, platform }: DevicesOptions): Promise<Devices> {
    const table = await DeviceTable.open(path);
    try {
      return new Devices(table, platform);
    } catch (error) {
      table.close();
      throw error;
    }
  }

  list(): Device[] {
    return [...this.#kept.values()].map(deviceOf);
  }

  get(id: string): Device {
    return deviceOf(this.#get(id));
  }

  /** The keys that are good now. */
  keys(): readonly KnownToken[] {
    return this.#keys;
  }

  /** Admits a device with a key of its own: `conflict` where its name looks like another's. */
  admit(name: string, kind: DeviceKind): { device: Device; key: string } {
    const key = `lichen_device_${this.#platform.randomId(keyCharacters)}`;
    const sha256 = createHash("sha256").update(key).digest("hex");
    return { device: this.#add({ name, kind, sha256, peer: null }), key };
  }

  /** Admits a mesh peer, by its stable key: what the mesh proves of its address is its credential. */
  enrol(peer: string, name: string, kind: DeviceKind): Device {
    const known = this.ofPeer(peer);
    if (known)
      throw new Fault(
        "conflict",
        `This peer is the device ${this.get(known).name} already: change that, or delete it first.`,
      );
    return this.#add({ name, kind, sha256: null, peer });
  }

  /** The device that a mesh peer is enrolled as. */
  ofPeer(peer: string): string | undefined {
    for (const { row } of this.#kept.values()) if (row.peer === peer) return row.id;
    return undefined;
  }

  /** Who a device is to the door; undefined where it is none any more. */
  principalOf(id: string): Principal | undefined {
    return this.#kept.get(id)?.principal;
  }

  /** Takes another name or another right; what it has under way with its old right ends. */
  change(
    id: string,
    { name, kind, sparing }: { readonly name?: string; readonly kind?: DeviceKind } & Sparing,
  ): Device {
    const kept = this.#get(id);
    const { row } = kept;
    const named = name === undefined ? row.name : this.#freeName(name, id);
    const changed = { ...row, name: named, look: lookOf(named), kind: kind ?? row.kind };
    this.#table.change(changed);
    kept.row = changed;
    kept.principal = principalOf(changed);
    this.#sort();
    if (changed.kind !== row.kind) hangUp(kept, sparing);
    return deviceOf(kept);
  }

  /** Sends a device away. */
  revoke(id: string, { sparing }: Sparing = {}): void {
    const kept = this.#get(id);
    this.#table.revoke(id, this.#platform.now());
    this.#kept.delete(id);
    this.#sort();
    hangUp(kept, sparing);
  }

  /** A request of the device begins; false where it is none any more. */
  enter(id: string, arrival: Arrival | undefined): boolean {
    const kept = this.#kept.get(id);
    if (!kept) return false;
    this.#saw(kept);
    if (arrival) {
      kept.open.add(arrival);
      arrival.ended(() => kept.open.delete(arrival));
    }
    return true;
  }

  /** Hangs up on what came by a mesh's proof that does not hold any more. */
  async recheck(holds: (peer: string, arrival: Arrival) => Promise<boolean>): Promise<void> {
    for (const { row, open } of this.#kept.values())
      if (row.peer !== null)
        for (const arrival of [...open]) if (!(await holds(row.peer, arrival))) arrival.hangUp();
  }

  close(): void {
    for (const { row, seen } of this.#kept.values())
      if (seen !== null && seen !== row.seen) this.#write(row.id, seen);
    this.#table.close();
  }

  #add(it: Pick<DeviceRow, "name" | "kind" | "sha256" | "peer">): Device {
    const name = this.#freeName(it.name);
    if (this.#kept.size >= mostDevices)
      throw new Fault(
        "capacity",
        `There are ${mostDevices} devices already: delete one that is not used any more.`,
      );
    const row: DeviceRow = {
      ...it,
      name,
      look: lookOf(name),
      id: `dev_${this.#platform.randomId(20)}`,
      created: this.#platform.now(),
      seen: null,
    };
    this.#table.add(row);
    const kept = this.#keep(row);
    this.#sort();
    return deviceOf(kept);
  }

  #keep(row: DeviceRow): Kept {
    const kept = { row, principal: principalOf(row), open: new Set<Arrival>(), seen: row.seen };
    this.#kept.set(row.id, kept);
    return kept;
  }

  #sort(): void {
    this.#keys = [...this.#kept.values()].flatMap(({ row: { id, sha256 }, principal }) =>
      sha256 === null ? [] : [{ id, sha256, principal }],
    );
  }

  /** The name as it is kept, where no other device's looks like it. */
  #freeName(given: string, own?: string): string {
    const name = checkedDeviceName(given);
    const look = lookOf(name);
    for (const { row } of this.#kept.values())
      if (row.id !== own && row.look === look)
        throw new Fault(
          "conflict",
          `name: there is a device ${row.name} already, which looks the same: choose another.`,
        );
    return name;
  }

  #get(id: string): Kept {
    const kept = this.#kept.get(id);
    if (!kept)
      throw new Fault("unknown_entry", "There is no such device: `lichen devices` lists them.");
    return kept;
  }

  #saw(kept: Kept): void {
    const now = this.#platform.now();
    const isFirst = kept.seen === null;
    kept.seen = now;
    if (isFirst || now - (kept.row.seen ?? 0) >= seenEveryMs) {
      kept.row = { ...kept.row, seen: now };
      this.#write(kept.row.id, now);
    }
  }

  /** A device is not kept out because its visit cannot be written down. */
  #write(id: string, at: number): void {
    try {
      this.#table.saw(id, at);
    } catch (error) {
      this.#platform.report(error);
    }
  }
}

function hangUp(kept: Kept, sparing: Arrival | undefined): void {
  for (const arrival of [...kept.open]) if (arrival !== sparing) arrival.hangUp();
}

function principalOf({ id, name, kind }: DeviceRow): Principal {
  return { kind, name, device: id };
}

function deviceOf({ row, seen }: Kept): Device {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind,
    created: new Date(row.created).toISOString(),
    last_seen: seen === null ? null : new Date(seen).toISOString(),
    ...(row.peer === null ? {} : { peer: row.peer }),
  };
}
