// The sockets of session processes: one for each coding agent that has a process, in a folder of its own.
//
//   DV20  Whatever comes over a socket comes from a process of that one agent, whatever else it says.
//   DV21  A socket is there before its process and gone after it; a folder that a crash left is taken away.
//   DV35  However many connections processes open there, other agents and devices have theirs.
//
// The folders lie in the machine's state, which every wall hides; only its own is shown to an agent. Where their path
// would be longer than a socket's may be, they lie in a private folder among temporary files, and a wall has to hide it.

import { createHash } from "node:crypto";
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDoorServer, type DoorFetch } from "@lichen/server/node";
import { Fault, faultBody, faultStatus } from "@lichen/wire";
import { onlySession } from "../harnesses/late-engine.ts";

export interface SessionSocketsOptions {
  readonly stateDir: string;
  readonly report: (error: unknown) => void;
}

/** One process's use of its agent's socket. */
export interface SessionSocket {
  /** What `LICHEN_SOCKET` says to it. */
  readonly path: string;
  /** The folder that a wall shows to it. */
  readonly folder: string;
  /** The process has ended: safe to call twice. */
  release(): void;
}

interface Open {
  readonly server: Server;
  readonly folder: string;
  holders: number;
}

/** The variable by which a process of an agent knows its socket. */
export const socketVariable = "LICHEN_SOCKET";
/** The longest path of a socket that every system takes. */
const longestPath = 103;
/** An agent has few processes that ask something, each with a stream or two. */
const mostConnections = 32;
const restLength = "/run/0123456789/0123456789ab/s".length;

export class SessionSockets {
  /** Hidden from every process of an agent but for its own folder in it. */
  readonly folder: string;
  readonly #runs: string;
  readonly #report: (error: unknown) => void;
  readonly #open = new Map<string, Open>();
  #fetch: DoorFetch = starting;

  constructor({ stateDir, report }: SessionSocketsOptions) {
    this.#report = report;
    const isShort = Buffer.byteLength(stateDir) + restLength <= longestPath;
    this.#runs = join(stateDir, "run");
    if (isShort) mkdirSync(this.#runs, { recursive: true, mode: 0o700 });
    this.folder = mkdtempSync(isShort ? join(this.#runs, "s") : join(tmpdir(), "lichen-s"));
    chmodSync(this.folder, 0o700);
  }

  /** From now on requests are answered by this door; and what an earlier process left is taken away. */
  serve(fetch: DoorFetch): void {
    this.#fetch = fetch;
    try {
      const left = lstatSync(this.#runs, { throwIfNoEntry: false })?.isDirectory()
        ? readdirSync(this.#runs).map((name) => join(this.#runs, name))
        : [];
      for (const folder of left)
        if (folder !== this.folder) rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      // It harms nobody: nothing listens there.
      this.#report(error);
    }
  }

  /** Where the socket of an agent is, while it is there. Two agents never share a place. */
  pathOf(agent: string): string {
    return join(this.#folderOf(agent), "s");
  }

  /** Opens the agent's socket for one process more; it is there when this returns. */
  open(agent: string): SessionSocket {
    const path = this.pathOf(agent);
    const open = this.#open.get(agent) ?? this.#listen(agent, path);
    open.holders++;
    let isHeld = true;
    return {
      path,
      folder: open.folder,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        if (--open.holders === 0) this.#close(agent, open);
      },
    };
  }

  /** Ends every socket and takes away their folder. */
  close(): void {
    for (const [agent, open] of this.#open) this.#close(agent, open);
    rmSync(this.folder, { recursive: true, force: true });
  }

  #listen(agent: string, path: string): Open {
    const folder = this.#folderOf(agent);
    mkdirSync(folder, { mode: 0o700 });
    const server = createDoorServer((request, bindings) => this.#fetch(request, bindings), {
      kind: "session",
      agent,
      session: onlySession,
    });
    // What says nothing, or too slowly, is hung up on by the door's own time-outs.
    server.maxConnections = mostConnections;
    server.on("error", this.#report);
    server.listen({ path });
    // A socket of this computer listens at once, or not at all.
    if (!server.listening) {
      rmSync(folder, { recursive: true, force: true });
      throw new Fault("unavailable", "The socket of this agent's processes cannot be made.");
    }
    chmodSync(path, 0o600);
    server.unref();
    const open: Open = { server, folder, holders: 0 };
    this.#open.set(agent, open);
    return open;
  }

  #close(agent: string, { server, folder }: Open): void {
    this.#open.delete(agent);
    server.close();
    server.closeAllConnections();
    rmSync(folder, { recursive: true, force: true });
  }

  #folderOf(agent: string): string {
    return join(this.folder, createHash("sha256").update(agent).digest("hex").slice(0, 12));
  }
}

function starting(): Response {
  const fault = new Fault("unavailable", "The machine is starting: try again in a moment.");
  return Response.json(faultBody(fault), { status: faultStatus.unavailable });
}
