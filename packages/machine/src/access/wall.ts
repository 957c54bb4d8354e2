// The wall around the processes of a machine's coding agents: each sees its own socket, and nothing else of the machine's
// state.
//
//   DV22  A process of an agent reaches neither the owner's token, nor keys of devices, nor the store, nor the socket of
//         another agent, wherever bubblewrap works.
//   DV36  Nor does it change what the host runs of agents of folders that it serves.
//   DV34  It changes nothing that this user's computer runs outside of walls, as far as that is known.

import type { HarnessWall } from "@lichen/engine";
import { realpathSync } from "node:fs";
import { openSandbox, type SandboxOptions } from "@lichen/engine/node";
import { guardedPlaces, makeGuardedPlaces, realPlaceOf } from "@lichen/server/node";
import type { Places } from "../harnesses/harness.ts";
import { type SessionSockets, socketVariable } from "./session-sockets.ts";

export interface WallOptions extends Pick<SandboxOptions, "mode" | "hide" | "program"> {
  /** The machine's state, and further folders that no agent is to see. */
  readonly mask: readonly string[];
  readonly sockets: SessionSockets;
  /** Whose computer it is: what it runs outside is read-only. */
  readonly places: Places;
  /**
   * What the host runs of agents of folders that it serves too, for who works in `cwd` (a real path): absolute paths, there
   * or not yet.
   */
  readonly folders?: (cwd: string) => readonly string[];
  /** Folders of the machine's state that the processes of an agent may read, by the agent's id. */
  readonly shown?: (id: string) => readonly string[];
}

export interface MachineWall {
  readonly kind: "bubblewrap" | "none";
  /** Why there is none: the sockets still tell the agents apart, but nothing hides them from each other. */
  readonly reason?: string;
  /** What puts each process of one agent, which works in `dir`, behind the wall and gives it its socket. */
  around(agent: { readonly id: string; readonly dir: string }): HarnessWall;
}

export async function openWall(given: WallOptions): Promise<MachineWall> {
  const { mask, sockets, places, folders, shown: shownTo, ...options } = given;
  const masked = [...mask, sockets.folder];
  const hidden = [...masked, ...(options.hide ?? [])];
  const sandbox = await openSandbox({
    ...options,
    mask: masked,
    // Where an agent works is checked with each of its processes.
    cwd: "/",
  });
  const { kind, reason } = sandbox;
  if (kind === "bubblewrap") makeGuardedPlaces(places);
  /** What an agent that works in `dir` may not change: what is there, and what it could make or put a link's place in. */
  const kept = (dir: string) => {
    const cwd = realpathSync(dir);
    const served = folders?.(cwd) ?? [];
    const isThere = (path: string): boolean => realPlaceOf(path) === path;
    return {
      guarded: [...guardedPlaces(places, cwd), ...served.filter(isThere)],
      readOnly: served.filter((path) => !isThere(path)),
    };
  };
  return {
    kind,
    ...(reason === undefined ? {} : { reason }),
    around: ({ id, dir }) => {
      const behind = (argv: readonly string[]) => {
        const socket = sockets.open(id);
        try {
          const told = ["/usr/bin/env", `${socketVariable}=${socket.path}`, ...argv];
          const shown = [socket.folder, ...(shownTo?.(id) ?? [])];
          const { guarded, readOnly } = kept(dir);
          const walled = sandbox.wrap(told, { cwd: dir, shown, guarded, readOnly, isThere: true });
          const release = () => {
            walled.release();
            socket.release();
          };
          return { argv: walled.argv, release };
        } catch (error) {
          socket.release();
          throw error;
        }
      };
      return Object.assign(behind, {
        hidden: () => hidden,
        readOnly: () => Object.values(kept(dir)).flat(),
      });
    },
  };
}
