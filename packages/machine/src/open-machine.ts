// A machine: one state directory, its store, and the coding agents that are kept in it, behind a mount for a door.

import { join } from "node:path";
import type { Owner, Platform } from "@lichen/runtime";
import { nodePlatform } from "@lichen/runtime/node";
import type { Mount } from "@lichen/server/door";
import { makeStateDir, openStore } from "@lichen/server/node";
import type { Hono } from "hono";
import { type Harness, Harnesses, type Places } from "./harnesses/harness.ts";
import { ownHarnesses } from "./harnesses/own-harnesses.ts";
import type { DoorEnv } from "./routes/route.ts";
import type { Adopt } from "./routes/session-routes.ts";
import { openRooms, type Rooms } from "./rooms.ts";
import { createMachineMount } from "./routes/machine-app.ts";
import { MachineSessions } from "./sessions/machine-sessions.ts";
import type { Wall } from "./sessions/seat.ts";

export interface MachineOptions extends Places {
  readonly stateDir: string;
  /** The coding agents that it can run sessions of, in the order in which they are offered; all that Lichen drives where this is left out. */
  readonly harnesses?: readonly Harness[];
  /** Puts an agent's processes behind this machine's wall. */
  readonly wall?: Wall;
  /** Commands that run at once; 256 unless told otherwise. */
  readonly capacity?: number;
  readonly approvalTtlMs?: number;
  /** Told of faults that have no caller; the machine goes on. */
  readonly report: (error: unknown) => void;
  /** Told that nothing can be written any more: end the process. Where it is left out, `report` is told. */
  readonly lost?: (error: unknown) => void;
  readonly platform?: Platform;
  /** What continues conversations of this computer as sessions; the machine's own where it is left out. */
  readonly adopt?: (machine: Omit<Machine, "mount">) => Adopt;
  /** How long files of devices are kept; two weeks unless told otherwise, 0 for ever. */
  readonly keepUploadsMs?: number;
  /** Routers of further rooms, made when the sessions are open. */
  readonly more?: (machine: Omit<Machine, "mount">) => readonly Hono<DoorEnv>[];
}

export interface Machine {
  readonly owner: Owner;
  readonly platform: Platform;
  readonly stateDir: string;
  readonly harnesses: Harnesses;
  readonly sessions: MachineSessions;
  /** Its routes (`/v1/…`), for the door that it stands behind. */
  readonly mount: Mount;
  /** Ends every agent's process and closes the store. What was accepted goes on when the machine is opened again. */
  close(options?: { patienceMs?: number }): Promise<void>;
}

const defaultCapacity = 256;

/** Opens the machine: `unavailable` while another process owns its state. */
export async function openMachine(options: MachineOptions): Promise<Machine> {
  const { report, lost, env, home } = options;
  const platform =
    options.platform ?? nodePlatform({ report, ...(lost === undefined ? {} : { lost }) });
  const stateDir = makeStateDir(options.stateDir);
  const store = await openStore(join(stateDir, "host.db"), {
    platform,
    capacity: options.capacity ?? defaultCapacity,
    // Who did something is the device that the door names.
    meta: { identityPath: "$.by" },
    ...(options.approvalTtlMs === undefined ? {} : { approvalTtlMs: options.approvalTtlMs }),
  });
  const { owner } = store;
  const harnesses = new Harnesses(options.harnesses ?? ownHarnesses(), { env, home });
  const sessions = new MachineSessions({
    owner,
    platform,
    harnesses,
    stateDir,
    ...(options.wall === undefined ? {} : { wall: options.wall }),
  });
  let rooms: Rooms | undefined;
  const close: Machine["close"] = async (closing) => {
    sessions.close();
    await rooms?.close();
    await store.close(closing);
  };
  const machine = { owner, platform, stateDir, harnesses, sessions, close };
  try {
    await sessions.open();
    rooms = await openRooms({ ...options, ...machine });
    const more = [...rooms.routers, ...(options.more?.(machine) ?? [])];
    const adopt = options.adopt?.(machine) ?? rooms.adopt;
    return {
      ...machine,
      mount: createMachineMount({ sessions, harnesses, platform, more, adopt }),
    };
  } catch (error) {
    await close({ patienceMs: 0 });
    throw error;
  }
}
