// The coding-agent sessions of one machine, by name: made, listed, renamed and removed.
//
//   MA12  A request that is refused leaves nothing: no directory, no session, no name that is taken.
//   MA13  A name is one session's at a time, also when two ask for it at once.
//   MA14  A session that is deleted leaves no process and nothing in the store; what was half made or half deleted when
//         its machine was killed is gone with the next one.
//   MA15  The list waits for nobody.

import type { KeptAgent } from "@lichen/runtime";
import { liesIn } from "@lichen/server/node";
import { Fault } from "@lichen/wire";
import type { Harness, Harnesses } from "../harnesses/harness.ts";
import { unknownHarness } from "../harnesses/unknown-harness.ts";
import type { MachineSessionInfo } from "./info.ts";
import { MadeDirectories } from "./made-directories.ts";
import { endProcessesOf } from "./left-processes.ts";
import { Seat, type SeatHouse } from "./seat.ts";
import { isDirectory, placeOf, SessionName } from "./session-name.ts";
import { type SessionSettings, settingsOf } from "./settings.ts";

export interface NewSession {
  readonly name: string;
  /** Absolute, or beginning with `~`. */
  readonly dir: string;
  /** `claude` where it is left out. */
  readonly harness?: string;
  /** The command and its arguments, of a harness that takes one. */
  readonly command?: readonly string[];
  readonly model?: string;
  /** A conversation of the harness's own that the session goes on with, in the directory where it was. */
  readonly conversation?: { readonly id: string; readonly file?: string };
  /** Its transcript as it is now. */
  readonly earlier?: NonNullable<SessionSettings["earlier"]>;
  readonly auto_approve?: boolean;
  readonly keep_running?: boolean;
}

export interface SessionsOptions extends Omit<SeatHouse, "gone"> {
  readonly stateDir: string;
}

export class MachineSessions {
  readonly #house: SeatHouse;
  readonly #stateDir: string;
  readonly #seats = new Map<string, Seat>();
  readonly #directories = new MadeDirectories();
  /** Names that are being given or given up. */
  readonly #claimed = new Set<string>();
  readonly #removing = new Map<Seat, Promise<void>>();
  readonly #followers: ((seat: Seat) => void)[] = [];

  constructor(options: SessionsOptions) {
    const { stateDir, ...house } = options;
    this.#stateDir = stateDir;
    this.#house = { ...house, gone: (seat) => this.#gone(seat) };
  }

  /** Opens every coding agent that the store keeps. One that cannot be opened is told of and left out. */
  async open(): Promise<void> {
    const { owner, platform } = this.#house;
    const opening = owner
      .kept()
      .map((kept) => this.#reopen(kept).catch((error: unknown) => platform.report(error)));
    await Promise.all(opening);
  }

  async #reopen(kept: KeptAgent): Promise<void> {
    const settings = settingsOf(kept);
    if (!settings) return;
    const { agent: id, label: name, createdAt: created } = kept;
    if (settings.isMade === false) return this.#clear(id);
    const harness = this.#harnesses.get(settings.harness) ?? unknownHarness(settings.harness);
    const seat = new Seat(this.#house, { id, name, harness, settings, created });
    try {
      await seat.open(kept.settings);
    } catch (error) {
      if (!Fault.is(error) || error.code !== "closed") throw error;
      // Its conversation was deleted, and the rest of it was to follow.
      return this.#clear(id);
    }
    this.#seats.set(name, seat);
  }

  /** Ends what a machine that was killed left of a session that is not there. */
  async #clear(id: string): Promise<void> {
    await endProcessesOf(id);
    await this.#house.owner.remove(id);
  }

  /** Calls `each` with every session that is there, and with each that is made from now on. */
  follow(each: (seat: Seat) => void): void {
    for (const seat of this.all()) each(seat);
    this.#followers.push(each);
  }

  /** All sessions, by name. With `tail`, each with its last lines. */
  list(tail?: number): MachineSessionInfo[] {
    return this.all().map((seat) => seat.info(tail));
  }

  all(): Seat[] {
    return [...this.#seats.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  find(name: string): Seat | undefined {
    return this.#seats.get(name);
  }

  /** The session; `unknown_session` where there is none of this name. */
  get(name: string): Seat {
    const seat = this.#seats.get(name);
    if (!seat) throw unknownSession(name);
    return seat;
  }

  /** Makes a session. Its process begins with the first message, or soon where it is kept running. */
  async create(wish: NewSession, by?: string): Promise<Seat> {
    const name = checkedName(wish.name);
    const harness = this.#harnessOf(wish);
    const dir = placeOf(wish.dir, this.#harnesses.places.home);
    this.#refuseHidden(dir, harness);
    return this.#claiming(name, async () => {
      const isThere = isDirectory(dir);
      if (wish.conversation && !isThere)
        throw new Fault(
          "invalid",
          `dir: the conversation ran in ${dir}, which is not on this machine: continue it where it is.`,
        );
      return this.#directories.during(dir, () => this.#make({ ...wish, name, dir }, harness, by));
    });
  }

  /** Where agents see nothing, none of their processes would begin. */
  #refuseHidden(dir: string, { name: harness }: Harness): void {
    if (liesIn(dir, this.#stateDir))
      throw new Fault(
        "invalid",
        "dir: it lies in the state of this machine: choose another place.",
      );
    const hidden = this.#house.wall?.({ id: "", dir, harness })?.hidden?.() ?? [];
    if (hidden.some((place) => liesIn(dir, place)))
      throw new Fault(
        "invalid",
        `dir: ${dir} lies where Lichen keeps what no agent is to see: choose another place.`,
      );
  }

  #harnessOf({ harness: name = "claude", command }: NewSession): Harness {
    const harness = this.#harnesses.get(name);
    if (!harness)
      throw new Fault(
        "invalid",
        `harness: there is no ${name} on this machine: choose ${this.#harnesses.names().join(", ")}.`,
      );
    if (harness.takesCommand && (command === undefined || command.length === 0))
      throw new Fault("invalid", `command: name the program that ${harness.title} is.`);
    if (!harness.takesCommand && command !== undefined)
      throw new Fault("invalid", `command: ${harness.title} has a program of its own.`);
    const { missing } = harness.find(this.#harnesses.places, command);
    if (missing !== undefined) throw new Fault("unavailable", missing, { retryable: false });
    return harness;
  }

  async #make(wish: NewSession, harness: Harness, by: string | undefined): Promise<Seat> {
    const { owner, platform } = this.#house;
    const id = platform.randomId(20);
    const settings: SessionSettings = {
      dir: wish.dir,
      harness: harness.name,
      ...(wish.command === undefined ? {} : { command: [...wish.command] }),
      auto_approve: false,
      keep_running: false,
      starred: false,
      isMade: false,
      ...(wish.earlier ? { earlier: wish.earlier } : {}),
    };
    const created = new Date(platform.now()).toISOString();
    const seat = new Seat(this.#house, { id, name: wish.name, harness, settings, created });
    try {
      await seat.open(settings, wish.model);
      if (wish.conversation) await seat.adopt(wish.conversation, by);
      const { auto_approve, keep_running } = wish;
      await seat.configure(
        {
          ...(auto_approve === undefined ? {} : { auto_approve }),
          ...(keep_running === undefined ? {} : { keep_running }),
        },
        by,
      );
      await seat.session.configure({ isMade: true }, by, { quiet: true });
    } catch (error) {
      seat.close();
      await owner.remove(id);
      throw error;
    }
    this.#seats.set(wish.name, seat);
    for (const made of this.#followers) made(seat);
    return seat;
  }

  async rename(name: string, wish: string, by?: string): Promise<Seat> {
    const seat = this.get(name);
    const to = checkedName(wish.trim());
    if (to === seat.name) return seat;
    return this.#claiming(to, async () => {
      await seat.rename(to, by);
      // It may have been deleted meanwhile, or renamed by another.
      if (!this.#drop(seat)) throw unknownSession(name);
      this.#seats.set(to, seat);
      return seat;
    });
  }

  /** Ends the session with its process; settles when nothing of it is left. */
  async delete(name: string): Promise<void> {
    await this.#remove(this.get(name));
  }

  #remove(seat: Seat): Promise<void> {
    const under = this.#removing.get(seat);
    if (under) return under;
    const removing = this.#removed(seat).finally(() => this.#removing.delete(seat));
    this.#removing.set(seat, removing);
    return removing;
  }

  async #removed(seat: Seat): Promise<void> {
    const { name } = seat;
    this.#claimed.add(name);
    try {
      await seat.remove();
      this.#drop(seat);
    } finally {
      this.#claimed.delete(name);
    }
  }

  /** Nobody finds it under any name; false where nobody did. */
  #drop(seat: Seat): boolean {
    let isFound = false;
    for (const [name, it] of this.#seats) if (it === seat) isFound = this.#seats.delete(name);
    return isFound;
  }

  #gone(seat: Seat): void {
    this.#remove(seat).catch((error: unknown) => this.#house.platform.report(error));
  }

  async #claiming<T>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.#seats.has(name) || this.#claimed.has(name))
      throw new Fault("conflict", `There is a session "${name}" already: choose another name.`);
    this.#claimed.add(name);
    try {
      return await work();
    } finally {
      this.#claimed.delete(name);
    }
  }

  close(): void {
    for (const seat of this.#seats.values()) seat.close();
  }

  get #harnesses(): Harnesses {
    return this.#house.harnesses;
  }
}

export function unknownSession(name: string): Fault {
  return new Fault("unknown_session", `There is no session "${name}" on this machine.`);
}

function checkedName(name: string): string {
  const parsed = SessionName.safeParse(name);
  if (parsed.success) return parsed.data;
  throw new Fault("invalid", parsed.error.issues[0]?.message ?? "name: not a session's name");
}
